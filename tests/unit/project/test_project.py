import json
from pathlib import Path

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
        "gate.max_dorp": "unknown key; did you mean 'max_drop'?",
        "systems.words.fields.name": "must be a number, not text",
        "systems.words.k2": "unknown key; did you mean 'k1'?",
        "systems.odd.use": "no kind of system is called 'bm52'; did you mean 'bm25'?",
        "systems.a b": "the name may hold letters, digits, '.', '_' and '-' only",
        "corpus": "there is no file 'corpus.jsonl'; did you mean 'c.jsonl' or 'q.jsonl'?",
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
        ('qrels = "r.tsv"', 'qrels = "r.tsv"\ndepth = 0', "depth", "not from 1"),
    ],
)
def test_what_makes_no_sense_is_told(
    tmp_path: Path, old: str, new: str, key: str, message: str
) -> None:
    found = problems(tmp_path, GOOD.replace(old, new))
    assert message in found[key]


def test_a_pattern_that_is_no_regular_expression_is_told(tmp_path: Path) -> None:
    text = GOOD.replace(
        'of = ["words"]', 'of = ["words"]\nconstraints = [{pattern = "(", field = "name"}]'
    )
    assert list(problems(tmp_path, text)) == ["systems.both.constraints[0]"]


def test_the_schema_accepts_the_examples_and_refuses_wrong_ones(repository: Path) -> None:
    import tomllib

    schema = json.loads(json.dumps(project_schema()))
    jsonschema.Draft202012Validator.check_schema(schema)
    examples = sorted(repository.glob("examples/*/searchmark.toml"))
    assert len(examples) >= 3
    for path in examples:
        jsonschema.validate(tomllib.loads(path.read_text(encoding="utf-8")), schema)
    wrong = tomllib.loads(GOOD)
    wrong["systems"]["words"]["k2"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)
