import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from searchmark.errors import InputError, ProjectError
from searchmark.project import Project, project_schema, read_project

GOOD = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.tsv"
measures = ["nDCG@10", "RR"]

[systems.words]
use = "bm25"
fields = {name = 3, text = 1}

[systems.both]
use = "hybrid"
of = ["words"]

[gate]
system = "both"
"""


def write(folder: Path, text: str) -> Path:
    for name in ("c.jsonl", "q.jsonl", "r.tsv"):
        (folder / name).write_text("")
    path = folder / "searchmark.toml"
    path.write_text(text, encoding="utf-8")
    return path


def problems(folder: Path, text: str) -> dict[str, str]:
    with pytest.raises(ProjectError) as caught:
        read_project(write(folder, text))
    return {p.key: p.message for p in caught.value.problems}


def test_a_good_file_has_its_defaults(tmp_path: Path) -> None:
    project = read_project(write(tmp_path, GOOD))
    assert isinstance(project, Project)
    assert project.file.depth == 100
    assert project.file.profile == "graded"
    assert project.gate.max_drop == 0.02
    assert project.systems["words"].config.fields == {"name": 3.0, "text": 1.0}  # type: ignore[attr-defined]
    assert project.corpus == tmp_path / "c.jsonl"


def test_a_folder_means_the_file_in_it(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    assert read_project(tmp_path).path == tmp_path / "searchmark.toml"


def test_a_missing_file_tells_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="searchmark init"):
        read_project(tmp_path)


def test_broken_toml_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"searchmark\.toml:2: not valid TOML"):
        read_project(write(tmp_path, 'corpus = "c"\nqueries = \n'))


def test_every_problem_is_told_at_once_with_its_key(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        """
corpus = "corpus.jsonl"
querys = "q.jsonl"
qrels = 3
measures = ["nDGC@10", "P", "R@2000"]
depth = "deep"
profile = "grade"

[systems.words]
use = "bm25"
fields = {name = "three"}
k2 = 1.2

[systems.odd]
use = "bm52"

[systems."a b"]
use = "run"
path = "x"

[gate]
system = "both"
max_dorp = 0.1
""",
    )
    assert found == {
        "querys": "unknown key; did you mean 'queries' or 'qrels'?",
        "queries": "is missing",
        "qrels": "must be text, not a whole number",
        "depth": "must be a whole number, not text",
        "profile": "cannot be 'grade'; did you mean 'graded'?",
        "gate.max_dorp": "unknown key; did you mean 'max_drop' or 'category_max_drop'?",
        "systems.words.fields.name": "must be a number, not text",
        "systems.words.k2": "unknown key; did you mean 'k1'?",
        "systems.odd.use": "no kind of system is called 'bm52'; did you mean 'bm25' or 'bm25s'?",
        "systems.a b": (
            "the name may hold letters, digits, '.', '_' and '-' only, at most 64, no sign first"
        ),
        "corpus": "there is no file 'corpus.jsonl'; did you mean 'c.jsonl' or 'q.jsonl'?",
        "gate.system": "no system 'both'; known: a b, odd, words",
        "measures[0]": found["measures[0]"],
        "measures[1]": found["measures[1]"],
    }
    assert "did you mean 'nDCG'" in found["measures[0]"]
    assert "needs a cutoff" in found["measures[1]"]


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ('of = ["words"]', 'of = ["wrds"]', "systems.both.of[0]", "did you mean 'words'"),
        ('of = ["words"]', 'of = ["both"]', "systems.both.of[0]", "circle"),
        ('of = ["words"]', "of = []", "systems.both.of", "names no system"),
        ('use = "bm25"', 'use = "bm25"\nb = 1.5', "systems.words.b", "not from 0 to 1"),
        ('system = "both"', 'system = "bth"', "gate.system", "did you mean 'both'"),
        ('system = "both"', 'system = "both"\nmax_drop = -1', "gate.max_drop", "not 0 or more"),
        (
            'system = "both"',
            'system = "both"\nfloors = {"nDCG@5" = 0.5}',
            "gate.floors.nDCG@5",
            "not among the project's measures",
        ),
        (
            'system = "both"',
            'system = "both"\nallow_changed = ["qrels"]',
            "gate.allow_changed[0]",
            "may never change",
        ),
        ('"RR"', '"R@101"', "measures[1]", "deeper than depth"),
        ('"RR"', '"nDCG@10"', "measures", "twice"),
        ('"nDCG@10", "RR"', "", "measures", "names no measure"),
        ('qrels = "r.tsv"', 'qrels = "r.tsv"\ndepth = 0', "depth", "not from 1"),
        ('qrels = "r.tsv"', 'qrels = "r.tsv"\ndepth = 10001', "depth", "not from 1 to 10,000"),
        ('corpus = "c.jsonl"', 'corpus = "."', "corpus", "is a folder"),
        ('corpus = "c.jsonl"', 'corpus = "no/c.jsonl"', "corpus", "its folder does not exist"),
        ('corpus = "c.jsonl"', f'corpus = "{"c" * 300}"', "corpus", "cannot be looked for"),
        ('use = "bm25"', "", "systems.words.use", "must name a kind of system: bm25, bm25s, "),
        ("systems.both", f"systems.{'s' * 65}", f"systems.{'s' * 65}", "at most 64"),
    ],
)
def test_what_makes_no_sense_is_told(
    tmp_path: Path, old: str, new: str, key: str, message: str
) -> None:
    found = problems(tmp_path, GOOD.replace(old, new))
    assert message in found[key]


def test_a_mistake_hides_no_other_mistake(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        """
corpus = "c.jsonl"
qrels = "r.tsv"
measures = ["RR"]

[systems.words]
use = "bm25"
b = "much"
k1 = -1

[systems.both]
use = "hybrid"
of = ["words", "wrds"]
k = -2

[systems.rest]
use = "hybrid"

[gate]
system = "bth"
max_drop = "some"
floors = {AP = 0.5}
""",
    )
    assert found == {
        "queries": "is missing",
        "systems.words.b": "must be a number, not text",
        "systems.words.k1": "-1 is not 0 or more",
        # words is wrong but it is there, so only the other name is unknown
        "systems.both.of[1]": "no system 'wrds'; did you mean 'words' or 'rest'?",
        "systems.both.k": "-2 is not 0 or more",
        "systems.rest.of": "is missing",
        "gate.max_drop": "'some' is neither a number nor a share such as \"2%\"",
        "gate.system": "no system 'bth'; did you mean 'both'?",
        "gate.floors.AP": "'AP' is not among the project's measures; known: RR",
    }


def test_a_wrong_value_is_not_judged_by_its_default(tmp_path: Path) -> None:
    text = GOOD.replace('"RR"]', '"R@500"]\ndepth = "1000"')
    assert problems(tmp_path, text) == {"depth": "must be a whole number, not text"}


def test_a_value_of_the_wrong_type_is_not_missing_too(tmp_path: Path) -> None:
    tables = """
[systems.api]
use = "http"
preset = "solr"
base = 5
index = "shop"
fields = "title"

[systems.tool]
use = "command"
argv = ["echo", "{query}"]
ids = ["a"]
"""
    with pytest.raises(ProjectError) as caught:
        read_project(write(tmp_path, GOOD + tables))
    assert [(p.key, p.message) for p in caught.value.problems] == [
        ("systems.api.base", "must be text, not a whole number"),
        ("systems.api.fields", "must be a list, not text"),
        ("systems.tool.ids", "must be text, not a list"),
    ]


@pytest.mark.parametrize("systems", ["systems = {}", "systems = 3", "systems.a = 3"])
def test_systems_that_are_no_tables_are_told_once(tmp_path: Path, systems: str) -> None:
    head = GOOD.partition("[systems.words]")[0]
    (key, message), *others = problems(tmp_path, f"{head}\n{systems}\n").items()
    assert not others
    assert key in ("systems", "systems.a")
    assert message in (
        "there is no system; add a table [systems.NAME]",
        "must be a table, not a whole number",
    )


def test_a_folder_with_many_files_is_not_listed(tmp_path: Path) -> None:
    for i in range(20):
        (tmp_path / f"{i:04}.bin").write_text("")
    found = problems(tmp_path, GOOD.replace("c.jsonl", "zzz"))
    # 20 files, the three data files and the project file
    assert found == {
        "corpus": "there is no file 'zzz'; none of the 24 files there has a name like it"
    }


def test_a_file_that_is_not_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    path.write_bytes(b"# first\n# caf\xe9\n")
    with pytest.raises(InputError, match=r"searchmark\.toml:2: the project file is not UTF-8"):
        read_project(path)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert list(read_project(path).systems) == ["words", "both"]


def test_the_examples_hold_together(repository: Path, shared: Path) -> None:
    assert shared.is_dir()
    for path in sorted(repository.glob("examples/*/searchmark.toml")):
        assert read_project(path).systems


def test_a_pattern_that_is_no_regular_expression_is_told(tmp_path: Path) -> None:
    text = GOOD.replace(
        'of = ["words"]', 'of = ["words"]\nconstraints = [{pattern = "(", field = "name"}]'
    )
    assert list(problems(tmp_path, text)) == ["systems.both.constraints[0]"]


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads(json.dumps(project_schema()))


def test_the_schema_accepts_every_project_file_here(repository: Path, schema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    files = [
        *sorted(repository.glob("examples/*/searchmark.toml")),
        repository / "src" / "searchmark" / "demo" / "searchmark.toml",
    ]
    assert len(files) >= 4
    for path in files:
        jsonschema.validate(tomllib.loads(path.read_text(encoding="utf-8")), schema)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('use = "bm25"', 'use = "bm25"\nk2 = 1'),
        ('use = "bm25"', 'use = "bm52"'),
        ('use = "bm25"', ""),
        ('of = ["words"]', ""),
        ('of = ["words"]', 'of = ["words"]\nconstraints = [{pattern = "x"}]'),
        ('"c.jsonl"', "3"),
        ('corpus = "c.jsonl"', ""),
        ('"c.jsonl"', '"c.jsonl"\ndepth = 0'),
        ('"nDCG@10", "RR"', ""),
        ("[systems.words]", '[systems."no blanks"]'),
        ('system = "both"', 'system = "both"\nmax_dorp = 1'),
        ('system = "both"', ""),
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(
    tmp_path: Path, schema: Any, old: str, new: str
) -> None:
    jsonschema.validate(tomllib.loads(GOOD), schema)
    assert old in GOOD
    text = GOOD.replace(old, new)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), schema)
    assert problems(tmp_path, text)


def test_the_project_stays_where_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, GOOD)
    monkeypatch.chdir(tmp_path)
    project = read_project(Path())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert (project.path, project.folder) == (path, tmp_path)
    with pytest.raises(InputError, match=rf"^{tmp_path}/searchmark.toml: no system is called"):
        project.choose(["nobody"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^searchmark\.toml: no system is called"):
        project.choose(["nobody"])
