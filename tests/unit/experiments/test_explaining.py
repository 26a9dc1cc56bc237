"""Explanations are asked for within the limits of a system's calls, and tell no secret."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from searchmark.errors import SystemFailedError
from searchmark.experiments.explaining import explain
from searchmark.project import read_project
from searchmark.systems import SYSTEMS
from searchmark.systems.explanation import Explanation
from searchmark.systems.protocol import Answer, Context, Kind, Query, System

PROJECT = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = ["RR"]
[systems.mine]
use = "explaining-kind"
retries = 1
"""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No keys."""


class Explaining:
    """Explains at the second attempt; of the document "bad" it tells a secret."""

    name = "mine"
    tags: frozenset[str] = frozenset()
    identity: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.n_asked = 0

    def search(self, query: Query, k: int) -> Answer:
        return Answer(())

    def explain(self, query: Query, doc_id: str, k: int = 100) -> Explanation:
        self.n_asked += 1
        if doc_id == "bad":
            raise ValueError("no hunter2-secret")
        if self.n_asked == 1:
            raise ConnectionResetError("gone")
        return Explanation(doc_id, k)


@contextmanager
def open_explaining(name: str, config: Config, context: Context) -> Iterator[System]:
    yield Explaining()


KIND = Kind(Config, open_explaining)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MY_API_KEY", "hunter2-secret")
    monkeypatch.setattr(SYSTEMS, "_found", {})
    monkeypatch.setattr(
        SYSTEMS, "builtin", {**SYSTEMS.builtin, "explaining-kind": f"{__name__}:KIND"}
    )
    monkeypatch.setattr("searchmark.systems.pacing.FIRST_BACKOFF_S", 0.0)
    (tmp_path / "c.jsonl").write_text('{"doc_id": "d", "text": "red"}\n')
    (tmp_path / "q.jsonl").write_text('{"query_id": "1", "text": "red"}\n')
    (tmp_path / "r.qrels").write_text("1 0 d 1\n")
    (tmp_path / "searchmark.toml").write_text(PROJECT)
    return tmp_path


def test_a_lost_connection_is_tried_again(folder: Path) -> None:
    found = explain(read_project(folder / "searchmark.toml"), "mine", Query("1", "red"), "d", k=3)
    assert found == Explanation("d", 3)


def test_an_error_is_told_without_secrets(folder: Path) -> None:
    project = read_project(folder / "searchmark.toml")
    with pytest.raises(SystemFailedError, match=r"ValueError: no \$\{MY_API_KEY\}"):
        explain(project, "mine", Query("1", "red"), "bad")
