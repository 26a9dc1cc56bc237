"""What of the kind postgres needs no server: the SQL file and the configuration."""

import sys
from pathlib import Path

import pytest

from searchmark.data.corpus import Corpus
from searchmark.errors import InputError
from searchmark.systems.postgres.adapter import POSTGRES, find_problems
from searchmark.systems.postgres.config import Config
from searchmark.systems.postgres.statement import read_statement
from searchmark.systems.protocol import Context, System


def statement(folder: Path, sql: str | bytes) -> tuple[str, tuple[str, ...]]:
    path = folder / "s.sql"
    path.write_bytes(sql if isinstance(sql, bytes) else sql.encode())
    read = read_statement(path)
    return read.sql, read.names


@pytest.mark.parametrize(
    ("sql", "expected", "names"),
    [
        ("SELECT %(query)s LIMIT %(k)s", "SELECT $1 LIMIT $2", ("query", "k")),
        ("%(k)s %(query)s %(k)s", "$1 $2 $1", ("k", "query")),
        ("%(query)s LIKE '%%x%%' AND a %% b", "$1 LIKE '%x%' AND a % b", ("query",)),
        ("-- 50% of %(k)s\n%(query)s", "-- 50% of %(k)s\n$1", ("query",)),
        ("/* 5% \n %s */ %(query)s", "/* 5% \n %s */ $1", ("query",)),
        ("%(query)s, '-- no comment' %(k)s", "$1, '-- no comment' $2", ("query", "k")),
        ("'it''s' %(query)s", "'it''s' $1", ("query",)),
        ("E'it\\'s' %(query)s", "E'it\\'s' $1", ("query",)),
        ("$f$ $1 'a $f$ %(query)s", "$f$ $1 'a $f$ $1", ("query",)),
        ("'$1' = %(query)s", "'$1' = $1", ("query",)),
        ('"odd $1 ""name" %(query)s', '"odd $1 ""name" $1', ("query",)),
        ("%(embedding)s::vector", "$1::vector", ("embedding",)),
        ("%(query_id)s", "$1", ("query_id",)),
        (b"\xef\xbb\xbfSELECT %(query)s", "SELECT $1", ("query",)),
    ],
)
def test_parameters_become_numbers(
    tmp_path: Path, sql: str | bytes, expected: str, names: tuple[str, ...]
) -> None:
    assert statement(tmp_path, sql) == (expected, names)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT 1\nWHERE t LIKE '%x%' AND %(query)s", r"s\.sql:2: .*write %% for a percent sign"),
        ("SELECT %(query)s\n\nWHERE a % b", r"s\.sql:3: .*write %% for a percent sign"),
        ("SELECT %s", r"s\.sql:1: '%s' is no parameter here; write %% .*%\(query\)s"),
        ("SELECT %(query)", r"s\.sql:1: '%\(query\)' is no parameter"),
        ("SELECT %(qurey)s", r"there is no parameter %\(qurey\)s; did you mean 'query'"),
        ("SELECT '\n%(query)s'", r"s\.sql:2: .*stands in quotes.*without quotes"),
        ("SELECT $1, %(query)s", r"'\$1' is no parameter here; write %\(query\)s"),
        ("SELECT 1", "does not use the query"),
        ("-- %(query)s", "holds no statement"),
        ("", "holds no statement"),
        (b"SELECT\n'\xff' %(query)s", r"s\.sql:2: is not UTF-8"),
        ("SELECT %(query)s \0", "NUL"),
    ],
)
def test_what_is_no_parameter_is_told_with_its_line(
    tmp_path: Path, sql: str | bytes, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        statement(tmp_path, sql)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_statement(tmp_path / "none.sql")


def test_a_place_in_the_statement_is_a_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.sql"
    path.write_text("SELECT %(query)s,\n%(k)s,\nnope")
    read = read_statement(path)
    assert read.sql.index("nope") == 15  # "SELECT $1,\n" is 11 long and "$2,\n" 4
    assert read.line(read.sql.index("nope") + 1) == 3
    assert read.line(1) == 1


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:hunter2hunter@db/search",
        "host=db password=hunter2hunter",
        "host=db password = 'hunter2 hunter'",
        "postgresql://db/search?user=me&password=hunter2hunter",
    ],
)
def test_a_password_written_out_is_a_problem(dsn: str) -> None:
    found = find_problems(Config(sql="s.sql", dsn=dsn), "pg", {})
    assert {problem.key for problem in found} == {"dsn"}
    assert not any("hunter2" in problem.message for problem in found)


@pytest.mark.parametrize(
    "dsn",
    [
        "",
        "service=search",
        "${DATABASE_URL}",
        "postgresql://me:${PASSWORD}@db/search",
        "host=db user=me password=${PASSWORD}",
        "postgresql://me@db/search?sslmode=verify-full",
    ],
)
def test_a_reference_is_none(dsn: str) -> None:
    assert find_problems(Config(sql="s.sql", dsn=dsn), "pg", {}) == []


def test_empty_keys_are_problems() -> None:
    config = Config(sql="", id="", setup=["SET a = 1", " ; "])
    assert [p.key for p in find_problems(config, "pg", {})] == ["sql", "id", "setup[1]"]


def test_a_missing_library_is_told_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str) -> System:
        raise AssertionError(name)

    monkeypatch.setitem(sys.modules, "searchmark.systems.postgres.connections", None)
    context = Context(Corpus.__new__(Corpus), tmp_path, tmp_path, nothing)
    with (
        pytest.raises(InputError, match=r"needs psycopg.*searchmark\[postgres\]"),
        POSTGRES.open("pg", Config(sql="s.sql"), context),
    ):
        pass
