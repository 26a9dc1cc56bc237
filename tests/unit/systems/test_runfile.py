"""Run files and logs as systems."""

import json
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.data.judged import prepare
from searchmark.data.logs import LogColumns
from searchmark.data.qrels import Qrels
from searchmark.data.reading import hits_in_file
from searchmark.errors import InputError
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Answer, Entry, Hit, Query
from searchmark.systems.runfile import Config, RunSystem, find_problems

CORPUS = Corpus(pl.DataFrame({"doc_id": ["x", "y"], "text": ["red", "green"]}))

LOG = [
    {"q": 'say "hi" {k}', "d": "x", "r": 1, "t": "2026-03-01", "n": 12},
    {"q": 'say "hi" {k}', "d": "y", "r": 2, "t": "2026-03-01", "n": None},
    {"q": 'say "hi" {k}', "d": "y", "r": 1, "t": "2026-03-02", "n": 7},
]


TIMED = {"doc_id": "d", "query": "q", "time": "t"}


def ask(tmp_path: Path, config: Config, query: Query, k: int = 5) -> Answer:
    entry = Entry("seen", "run", config)
    with Pool({"seen": entry}, CORPUS, folder=tmp_path, cache=tmp_path) as pool:
        return pool.open("seen").search(query, k)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LOG))
    return tmp_path


BY_TEXT = LogColumns(query="q", doc_id="d", rank="r", time="t", tokens="n")


def config(**keys: Any) -> Config:
    return Config(path="log.jsonl", columns=BY_TEXT, **keys)


def test_a_log_answers_by_the_text_of_the_query(log: Path) -> None:
    asked = Query("any id", 'say "hi" {k}')
    assert ask(log, config(), asked).hits == (Hit("y", None, 7.0),)
    assert ask(log, config(until="2026-03-02"), asked).hits == (Hit("x", None, 12.0), Hit("y"))
    # x stands at 1 and, just past the second list, at 2; y at 2 and 1: 3/2 each, by id
    mean = ask(log, config(showing="mean"), asked)
    assert mean.hits == (Hit("x", -1.5, 12.0), Hit("y", -1.5, 7.0))
    assert ask(log, config(showing="mean"), asked, k=1).hits == (Hit("x", -1.5, 12.0),)


def test_a_log_is_told_apart_from_the_queries_by_what_they_are_matched_by(log: Path) -> None:
    entry = Entry("seen", "run", config(match="folded"))
    with Pool({"seen": entry}, CORPUS, folder=log, cache=log) as pool:
        system = pool.open("seen").inner
        assert isinstance(system, RunSystem)
        assert system.contrast(Query("q7", "Blue\n SHOES")) == (
            "the file begins with 'say \"hi\" {k}', the query set with 'blue shoes'"
        )


def test_a_time_in_which_nothing_was_shown_is_no_empty_answer(log: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"log\.jsonl: no list of the log was shown in the time asked for: its times are "
        r"from 2026-03-01T00:00:00Z to 2026-03-02T00:00:00Z .*; check 'since' and 'until'$",
    ):
        ask(log, config(since="2026-03-03"), Query("any", "x"))


def test_a_log_with_gaps_in_every_list_is_no_empty_answer(tmp_path: Path) -> None:
    rows = [{"q": "a", "d": "x", "r": rank, "t": f"2026-03-0{rank}"} for rank in (1, 3)]
    (tmp_path / "log.jsonl").write_text(json.dumps(rows[1]) + "\n")
    columns = LogColumns(query="q", doc_id="d", rank="r", time="t")
    gaps = Config(path="log.jsonl", columns=columns)
    with pytest.raises(InputError, match=r"ranks are left out in every one .*; set showing ="):
        ask(tmp_path, gaps, Query("any", "a"))
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ask(tmp_path, gaps, Query("any", "a")).hits == (Hit("x"),)  # the first list is whole


def test_texts_are_the_same_to_the_letter_unless_folded(log: Path) -> None:
    other = Query("id", ' SAY  "Hi" {K}')
    assert not ask(log, config(), other).is_given
    assert ask(log, config(match="folded"), other).hits == (Hit("y", None, 7.0),)


def test_a_log_may_name_the_querys_id(log: Path) -> None:
    by_id = Config(
        path="log.jsonl", columns=LogColumns(query_id="q", doc_id="d", rank="r", time="t")
    )
    assert ask(log, by_id, Query('say "hi" {k}', "other")).hits == (Hit("y"),)
    assert not ask(log, by_id, Query("other", 'say "hi" {k}')).is_given


def test_a_query_for_which_nothing_was_found_was_answered(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"q": "a", "d": []}\n{"q": "b", "d": ["x"]}\n')
    found = Config(path="log.jsonl", columns=LogColumns(query="q", doc_id="d"))
    answer = ask(tmp_path, found, Query("1", "a"))
    assert (answer.hits, answer.is_given) == ((), True)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "parquet"])
def test_tokens_of_a_run_are_read(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame(
        {
            "query_id": ["q", "q", "p"],
            "doc_id": ["x", "y", "x"],
            "score": [1, 2, 3],
            "tokens": [30, 7, None],
        }
    )
    path = tmp_path / f"run.{kind}"
    if kind == "jsonl":
        frame.write_ndjson(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if kind == "tsv" else ",")
    answer = ask(tmp_path, Config(path=path.name), Query("q", ""))
    assert answer.hits == (Hit("y", 2.0, 7.0), Hit("x", 1.0, 30.0))
    assert ask(tmp_path, Config(path=path.name), Query("p", "")).hits == (Hit("x", 3.0, None),)


@pytest.mark.parametrize("tokens", ["-1", "many", "nan", "inf", "1_0", "\u0661"])
def test_tokens_that_are_none_are_told_with_their_line(tmp_path: Path, tokens: str) -> None:
    (tmp_path / "run.csv").write_text(f"query_id,doc_id,score,tokens\nq,x,1,5\nq,y,1,{tokens}\n")
    with pytest.raises(InputError, match=rf"run.csv:3: the tokens '{tokens}' are no number"):
        ask(tmp_path, Config(path="run.csv"), Query("q", ""))


@pytest.mark.parametrize(
    "column", [[5.0, -1.0], [5.0, float("nan")], [5.0, float("inf")], ["5", "6"]]
)
def test_tokens_of_a_typed_table(tmp_path: Path, column: list[Any]) -> None:
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["x", "y"], "score": [1.0, 2.0]})
    frame.with_columns(tokens=pl.Series(column)).write_parquet(tmp_path / "run.parquet")
    row = 1 if column[0] == "5" else 2
    with pytest.raises(InputError, match=rf"of row {row} are no number from 0 on"):
        ask(tmp_path, Config(path="run.parquet"), Query("q", ""))


@pytest.mark.parametrize(
    ("keys", "problems"),
    [
        ({}, []),
        ({"where": {"a": "b"}, "since": "2026-01-01"}, ["where", "since"]),
        ({"showing": "mean", "match": "folded"}, ["showing", "match"]),
        ({"columns": {"doc_id": "d"}}, ["columns"]),
        ({"columns": {"doc_id": "d", "query": "q", "query_id": "i"}}, ["columns"]),
        ({"columns": {"doc_id": "d", "query_id": "i"}, "match": "folded"}, ["match"]),
        ({"columns": {"doc_id": "d", "query": "q"}, "since": "2026-01-01"}, ["since"]),
        ({"columns": {"doc_id": "d", "query": "q", "time": "t"}, "until": "noon"}, ["until"]),
        ({"columns": {"doc_id": "d", "query": "q", "time": "t"}, "until": "2026-01-01"}, []),
        ({"path": "\0"}, ["path"]),
        ({"columns": TIMED, "since": "2026-01-02", "until": "2026-01-03"}, []),
        ({"columns": TIMED, "since": "2026-01-02", "until": "2026-01-02T00:00:00Z"}, ["until"]),
        ({"columns": TIMED, "since": "2026-01-02", "until": "2026-01-01"}, ["until"]),
    ],
)
def test_keys_that_do_not_go_together(keys: dict[str, Any], problems: list[str]) -> None:
    found = msgspec.convert({"path": "x", **keys}, Config)
    assert [p.key for p in find_problems(found, "seen", {})] == problems


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_measures_of_a_file_see_its_tokens(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame(
        {
            "query_id": ["q", "q", "p"],
            "doc_id": ["x", "y", "x"],
            "score": [1.0, 2.0, 3.0],
            "tokens": [30, 7, 5],
        }
    )
    path = tmp_path / f"run.{kind}"
    frame.write_csv(path) if kind == "csv" else frame.write_parquet(path)
    judged = prepare(Qrels.from_dict({"q": {"x": 1}, "p": {"x": 1}}))
    _, hits = hits_in_file(path, judged)
    assert hits.tokens is not None
    # q: y stands first with 7, then x with 30; p: x with 5
    assert hits.tokens.tolist() == [7.0, 30.0, 5.0]
