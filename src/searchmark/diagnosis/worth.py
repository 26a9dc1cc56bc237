"""What answers are worth: values side by side, and those of rankings put otherwise."""

from collections.abc import Sequence
from math import fsum, log2
from statistics import fmean
from typing import NamedTuple

from searchmark.diagnosis.evidence import Evidence, QueryEvidence, Ranking
from searchmark.diagnosis.limits import is_below
from searchmark.diagnosis.wording import listed


class Valued(NamedTuple):
    """A ranking with its nDCG@k."""

    ranking: Ranking
    value: float

    @property
    def name(self) -> str:
        """The system's name."""
        return self.ranking.name


def can_be_answered(query: QueryEvidence, setup: Evidence) -> bool:
    """Tell whether the corpus holds a document that earns a gain.

    Where it holds none, no system can answer the query, and its values tell nothing of any.
    """
    return query.has_answer and any(
        gain > 0 and doc_id in setup.documents for doc_id, gain in query.gains.items()
    )


def answers_of(query: QueryEvidence) -> tuple[Valued, ...]:
    """Return the rankings that can be compared.

    An error, a time-out, an answer without a part of the system or a query that a run file lacks
    says nothing about how well a system ranks; other rules report those.
    """
    return tuple(Valued(r, r.value) for r in query.rankings if r.value is not None and r.is_ranked)


def best_of(answers: Sequence[Valued]) -> tuple[Valued, ...]:
    """Return the answers with the best value: all of them where several share it."""
    best = max((a.value for a in answers), default=0.0)
    return tuple(a for a in answers if not is_below(a.value, best))


def usual_value(system: str, setup: Evidence) -> float:
    """Return a system's mean over the queries that can be answered and that it does not fail."""
    fail = setup.limits.fail
    asked = (q for q in setup.queries if can_be_answered(q, setup))
    answers = (a for q in asked for a in answers_of(q) if a.name == system)
    found = [a.value for a in answers if not is_below(a.value, fail)]
    return fmean(found) if found else setup.limits.succeed


def gains_of(ranking: Ranking, depth: int) -> list[float]:
    """Return what each document down to a rank earns, in the order of ranks."""
    return [d.gain for d in ranking.within(depth)]


def value_with(answer: Valued, gains: Sequence[float], query: QueryEvidence) -> float:
    """Return nDCG@k with other gains at the ranks, never below the present value, at most 1.

    The difference is added to the present value, so that this also holds where the project's
    conventions reckon a little differently, as for tied scores.
    """
    before = _dcg(gains_of(answer.ranking, query.k), query.k)
    more = (_dcg(gains, query.k) - before) / query.ideal
    return min(1.0, max(answer.value, answer.value + more))


def _dcg(gains: Sequence[float], k: int) -> float:
    return fsum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:k], 1))


def shown(answers: Sequence[Valued]) -> str:
    """Return systems with their values: bm25 0.120 and dense 0.250."""
    return listed([f"{a.name} {a.value:.3f}" for a in answers])


def named(answers: Sequence[Valued]) -> str:
    """Return the systems' names as a sentence has them."""
    return listed([a.name for a in answers])
