"""Rankings of a query or two, written as short as the cases are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from searchmark.data.hits import Hits
from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import Qrels
from searchmark.data.run import Run
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import values

Judgments = Mapping[str, Mapping[str, int]]
Rankings = Mapping[str, Sequence[str]]
MakeHits = Callable[..., Hits]
Score = Callable[..., float]


@pytest.fixture
def make_hits() -> MakeHits:
    """Return hits of rankings given as lists of ids, best first, without ties."""

    def make(
        judgments: Judgments,
        rankings: Rankings,
        *,
        flags: Mapping[str, set[str]] | None = None,
        complete: bool = False,
    ) -> Hits:
        judged = prepare(Qrels.from_dict(judgments), complete=complete)
        marks = {
            name: np.array([d in docs for d in judged.doc_ids])
            for name, docs in (flags or {}).items()
        }
        run = Run.from_dict(
            {q: {d: float(-r) for r, d in enumerate(ids)} for q, ids in rankings.items()}
        )
        return find_hits(run, replace(judged, flags=marks))

    return make


@pytest.fixture
def score(make_hits: MakeHits) -> Score:
    """Return a function from measure, judgments and ranking to the value of that one query."""

    def score_one(
        measure: str,
        judgments: Mapping[str, int],
        ranking: Sequence[str],
        profile: str = "graded",
        flags: Mapping[str, set[str]] | None = None,
    ) -> float:
        hits = make_hits({"q": judgments}, {"q": ranking}, flags=flags)
        return float(values(hits, parse_measure(measure, profile))[0])

    return score_one
