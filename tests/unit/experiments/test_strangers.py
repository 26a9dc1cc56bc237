"""Ids that are in no corpus are shown so that a note stays one short line without secrets."""

from types import SimpleNamespace

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.experiments.outcome import stranger_notes

CORPUS = Corpus(pl.DataFrame({"doc_id": ["known"], "text": ["a"]}))


def note(*ids: str) -> str:
    call = SimpleNamespace(doc_ids=("known", *ids))
    (found,) = stranger_notes(CORPUS, [SimpleNamespace(system="api", calls=[call])])  # type: ignore[list-item]
    return found


def test_a_plain_id_is_shown_as_it_is() -> None:
    assert note("b-12", "c") == "api: results that are not in the corpus: 2, 'b-12' first."


@pytest.mark.parametrize(
    ("strange", "shown"),
    [
        ("x" * 200_000, "x" * 79 + "…"),
        ("a\nb\r\nc\td", "a b c d"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("a\u202eb\0", r"a\u202eb"),
    ],
)
def test_a_strange_one_gives_no_orders_and_is_cut(strange: str, shown: str) -> None:
    assert note(strange) == f"api: results that are not in the corpus: 1, '{shown}' first."


def test_a_secret_in_an_id_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_TOKEN", "Zq8-Wv3-Kd6-Yt9")
    assert "'doc ${ENGINE_TOKEN}/1'" in note("doc Zq8-Wv3-Kd6-Yt9/1")
    # what stands at the cut is hidden too
    assert "Zq8" not in note("x" * 70 + "Zq8-Wv3-Kd6-Yt9")


def test_nothing_is_told_where_all_are_known() -> None:
    call = SimpleNamespace(doc_ids=("known",))
    outcomes = [SimpleNamespace(system="api", calls=[call])]
    assert list(stranger_notes(CORPUS, outcomes)) == []  # type: ignore[arg-type]
