"""Whose queue a worker is for: what a project and options say of it together."""

from pathlib import Path
from typing import Any

import pytest

from searchmark.cli.queues import Place, find_place
from searchmark.errors import InputError
from searchmark.systems.secrets import Secrets

PROJECT = 'corpus = "c.jsonl"\nqueries = "q.jsonl"\nqrels = "r.tsv"\nmeasures = ["RR"]\n'
NOTHING = dict.fromkeys(("system", "dsn", "schema", "model", "precision"))
ENDPOINT = 'endpoint = {url = "http://127.0.0.1:1/v1", model = "m", key = "${EMBED_KEY}"}'


def catalog(name: str, *keys: str) -> str:
    return "\n".join([f"[systems.{name}]", 'use = "catalog-postgres"', *keys, ""])


def write(folder: Path, *systems: str) -> Path:
    (folder / "c.jsonl").write_text('{"_id": "d1", "text": "rain"}')
    (folder / "q.jsonl").write_text('{"_id": "q1", "text": "rain"}')
    (folder / "r.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (folder / "searchmark.toml").write_text(PROJECT + "".join(systems))
    return folder


def found(project: Path | None, **given: Any) -> Place:
    secrets = Secrets({"HERE": "host=here", "THERE": "host=there"})
    return find_place(project, {**NOTHING, **given}, secrets)


def refused(project: Path | None, **given: Any) -> str:
    with pytest.raises(InputError) as caught:
        found(project, **given)
    return str(caught.value)


BM25 = '[systems.words]\nuse = "bm25"\n'


def test_a_project_says_which_catalog_and_which_model(tmp_path: Path) -> None:
    keys = ('dsn = "${HERE}"', 'schema = "kept"', ENDPOINT)
    words = catalog("keyword", 'mode = "bm25"', 'dsn = "${THERE}"')
    place = found(write(tmp_path, BM25, words, catalog("fused", *keys)))
    assert (place.name, place.dsn, place.schema) == ("fused", "host=here", "kept")
    assert place.config.endpoint is not None and place.config.endpoint.model == "m"
    assert place.context.folder == tmp_path
    # options stand before it, as with `serve`
    place = found(tmp_path, dsn="${THERE}", schema="other")
    assert (place.dsn, place.schema) == ("host=there", "other")
    place = found(write(tmp_path, catalog("fused", 'dsn = "${HERE}"', 'model = "wordllama"')))
    assert (place.schema, place.config.model) == ("searchmark", "wordllama")


def test_several_systems_of_one_catalog_are_one(tmp_path: Path) -> None:
    same = ('dsn = "${HERE}"', 'schema = "kept"')
    write(tmp_path, catalog("a", *same, 'mode = "dense"'), catalog("b", *same))
    assert found(tmp_path).name == "a"
    write(tmp_path, catalog("a", *same), catalog("b", same[0], 'schema = "another"'))
    told = refused(tmp_path)
    assert told.endswith(
        "searchmark.toml: these systems have different catalogs or models: 'a', 'b'; name one with "
        "--system"
    )
    assert found(tmp_path, system="b").schema == "another"
    assert found(tmp_path, schema="third").name == "a"  # then it is one again


def test_what_has_no_queue_is_refused(tmp_path: Path) -> None:
    write(tmp_path, BM25, catalog("keyword", 'mode = "bm25"'))
    fix = 'that takes use = "catalog-postgres", and a mode other than "bm25"'
    told = refused(tmp_path)
    assert told.endswith(f"searchmark.toml: no system here embeds anything in PostgreSQL; {fix}")
    for name in ("words", "keyword"):
        told = refused(tmp_path, system=name)
        assert told.endswith(f"toml: system '{name}' embeds nothing in PostgreSQL; {fix}")
    assert "no system is called 'word'; did you mean 'words'" in refused(tmp_path, system="word")


@pytest.mark.parametrize(("option", "value"), [("model", "wordllama"), ("precision", "int8")])
def test_a_model_beside_a_project_is_refused(tmp_path: Path, option: str, value: str) -> None:
    told = refused(write(tmp_path, catalog("fused", ENDPOINT)), **{option: value})
    assert told.endswith(
        f"searchmark.toml: --{option} has no use beside a project: system 'fused' names the model; "
        "change it there, or leave PROJECT out"
    )


def test_a_project_that_cannot_be_read_is_told_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, "[systems.a\n")
    assert "searchmark.toml:5: not valid TOML" in refused(tmp_path)
    assert "no project file here" in refused(tmp_path / "nowhere.toml")


def test_without_a_project_options_say_all(monkeypatch: pytest.MonkeyPatch) -> None:
    place = found(None, dsn="${HERE}")
    assert (place.dsn, place.schema) == ("host=here", "searchmark")
    assert (place.config.model, place.config.precision) == ("all-MiniLM-L6-v2", "fp32")
    place = found(None, dsn="${HERE}", schema="s", model="m", precision="int8")
    assert (place.schema, place.config.model, place.config.precision) == ("s", "m", "int8")
    assert "--system names a system of a project, and no project is given" in refused(
        None, system="a"
    )
    told = refused(None, dsn="postgresql://u:hunter2@h/db")
    assert told.startswith("--dsn: ") and "hunter2" not in told
    assert refused(None, dsn="${NOWHERE}").startswith("--dsn needs the environment variable")
