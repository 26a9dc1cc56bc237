"""Whole setups from a table of values: for what is summed up over queries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.diagnosis.capabilities import Capability
from searchmark.diagnosis.documents import Documents
from searchmark.diagnosis.evidence import Evidence, Kind, Part, Placed, QueryEvidence, Ranking
from searchmark.diagnosis.limits import Limits

Values = Mapping[str, Sequence[float | None]]
SetupOf = Callable[..., Evidence]

KINDS: Mapping[str, Kind] = {"words": "lexical", "meaning": "vector", "both": "hybrid"}


def _ranking(part: Part, value: float | None, documents: Sequence[str]) -> Ranking:
    placed = tuple(
        Placed(doc_id, rank, None, None if doc_id.startswith("new") else int("good" in doc_id))
        for rank, doc_id in enumerate(documents, 1)
    )
    return Ranking(part, value, placed, "ok" if placed else "empty")


def _setup_of(
    values: Values,
    *,
    capabilities: Sequence[str] = (),
    documents: Mapping[str, Sequence[Sequence[str]]] | None = None,
    no_answer: Sequence[int] = (),
    arms: Mapping[str, tuple[str, ...]] | None = None,
    n_unjudged_queries: int = 0,
    **limits: Any,
) -> Evidence:
    """Build a setup: system -> nDCG@5 of q1, q2, ...; `words` is lexical, `meaning` vector.

    `documents` maps systems to what they return for each query; documents called good... are
    relevant, new... unjudged, others not relevant. A system that is not in it returns one document
    that is not relevant.
    """
    parts = {s: Part(s, KINDS.get(s, ""), (arms or {}).get(s, ())) for s in values}
    given = documents or {}
    n = max(map(len, values.values()), default=0)
    queries = tuple(
        QueryEvidence(
            query_id=f"q{i + 1}",
            text=f"query {i + 1}",
            capability=Capability(capabilities[i] if capabilities else "semantic", "by hand"),
            k=5,
            judged={"good1": 1, "good2": 1},
            gains={"good1": 1.0, "good2": 1.0},
            ideal=0.0 if i in no_answer else 1.0,
            rankings=tuple(
                _ranking(part, values[s][i], given[s][i] if s in given else ["bad1"])
                for s, part in parts.items()
            ),
        )
        for i in range(n)
    )
    corpus = Corpus(pl.DataFrame({"doc_id": ["good1", "bad1"], "title": ["Good", "Bad"]}))
    return Evidence(
        queries=queries,
        systems=tuple(parts.values()),
        documents=Documents(corpus),
        limits=Limits(**limits),
        k=5,
        measure="nDCG@5",
        n_unjudged_queries=n_unjudged_queries,
    )


@pytest.fixture
def setup_of() -> SetupOf:
    return _setup_of
