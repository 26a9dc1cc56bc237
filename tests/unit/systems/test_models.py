"""Models that the project file names: from its folder, and asked for a query as for one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import Problem
from searchmark.project.entries import decode_systems
from searchmark.systems.models import open_encoder
from searchmark.systems.pool import Pool
from searchmark.systems.postgres.system import PostgresSystem

CORPUS = Corpus(pl.DataFrame({"doc_id": ["d"], "text": ["red"]}))

TABLES: dict[str, dict[str, Any]] = {
    "http": {
        "url": "http://127.0.0.1:9/",
        "body": {"v": "{embedding}"},
        "ids": "[]",
        "model": "sentence-transformers:models/mine",
    },
    "opensearch": {
        "hosts": "http://127.0.0.1:9",
        "index": "i",
        "template": {"knn": {"v": "{embedding}"}},
        "model": "sentence-transformers:models/mine",
    },
    "elasticsearch": {
        "hosts": "http://127.0.0.1:9",
        "index": "i",
        "template": {"knn": {"v": "{embedding}"}},
        "model": "sentence-transformers:models/mine",
    },
}


class Prompted:
    """A model that puts one prompt before documents and another before queries."""

    class generation:  # noqa: N801 - stands for a value
        key = "prompted"

    def encode(self, texts: Sequence[str]) -> Any:
        return np.array([[1.0, 0.0]] * len(texts), np.float32)

    def encode_queries(self, texts: Sequence[str]) -> Any:
        return np.array([[0.0, 0.5]] * len(texts), np.float32)


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def load(name: str, *, precision: str = "fp32") -> Prompted:
        names.append(f"{name} {precision}")
        return Prompted()

    monkeypatch.setattr("searchmark.retrieval.encoders.load_encoder", load)
    (tmp_path / "models" / "mine").mkdir(parents=True)
    return names


@pytest.mark.parametrize("use", TABLES)
def test_a_query_is_embedded_as_one_by_a_model_of_the_projects_folder(
    use: str, tmp_path: Path, loaded: list[str]
) -> None:
    problems = list[Problem]()
    entries = decode_systems({"s": {"use": use, **TABLES[use]}}, problems)
    assert problems == []
    with Pool(entries, CORPUS, folder=tmp_path, cache=tmp_path) as pool:
        inner: Any = pool.open("s").inner
        embed = inner.embed if use == "http" else inner.template.embed
        assert embed("red") == [0.0, 0.5]
        assert inner.identity["model"] == "prompted"
    assert loaded == [f"sentence-transformers:{tmp_path / 'models' / 'mine'} fp32"]


def test_so_it_is_for_postgres() -> None:
    nothing = cast("Any", None)
    system = PostgresSystem("s", nothing, nothing, nothing, cast("Any", Prompted()))
    assert system._embedding("red") == b"[0.0,0.5]"


def test_names_of_models_are_passed_on_and_folders_found_beside_the_project(
    tmp_path: Path, loaded: list[str]
) -> None:
    for name in ("all-MiniLM-L6-v2", "models/mine", "sentence-transformers:a/b"):
        open_encoder(name, tmp_path, precision="int8")
    assert loaded == [
        "all-MiniLM-L6-v2 int8",
        f"{tmp_path / 'models' / 'mine'} int8",
        "sentence-transformers:a/b int8",
    ]
