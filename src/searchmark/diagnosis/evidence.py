"""What rules see: each query, its judgments, what every system returned and what that is worth."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log2
from statistics import mean
from typing import TYPE_CHECKING, Literal, NamedTuple

from searchmark.diagnosis.capabilities import Capability

if TYPE_CHECKING:
    from searchmark.data.filters import Filter
    from searchmark.diagnosis.cutoff import Cutoffs
    from searchmark.diagnosis.documents import Documents
    from searchmark.diagnosis.limits import Limits

Kind = Literal["lexical", "vector", "hybrid", ""]
"""What a system is tagged as; "" where nobody said."""


class Part(NamedTuple):
    """One system of the setup: its kind, its arms where it is a hybrid, the fields it reads.

    `fields` is None where that is not known (an engine of the user's own, a run file). `is_scored`
    says that a score means the same from query to query (a cosine), so that a cut-off makes sense;
    that of a fusion by rank does not. `is_strict` says that it returns nothing where no document
    has every word of the query; None where that is not known. `is_partial` says that it never gave
    a whole answer, so that what it gave is what there is to look at.
    """

    name: str
    kind: Kind = ""
    arms: tuple[str, ...] = ()
    fields: tuple[str, ...] | None = None
    is_scored: bool = False
    is_strict: bool | None = None
    is_partial: bool = False


class Placed(NamedTuple):
    """One returned document: its rank from 1, its grade (None: nobody judged it).

    `gain` is what its grade earns and `part` what it adds to the DCG at its rank.
    """

    doc_id: str
    rank: int
    score: float | None
    grade: int | None
    gain: float = 0.0
    part: float = 0.0


@dataclass(frozen=True)  # without slots: what is derived is kept
class Ranking:
    """What one system did with one query.

    `documents` are all it returned, down to the project's depth; `value` is nDCG@k under the
    project's conventions, 0 to 1: where the query has no answer it is what they give whatever is
    returned, or None where they leave the query out. `status` is ok, empty, error, timeout,
    unasked (the run was given up) or missing. `latency_ms` is None for calls of the warm-up.
    """

    system: Part
    value: float | None
    documents: tuple[Placed, ...] = ()
    status: str = "ok"
    partial: bool = False
    error: str | None = None
    latency_ms: float | None = None
    broken_filters: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The system's name."""
        return self.system.name

    def within(self, k: int) -> tuple[Placed, ...]:
        """Return the documents down to rank k."""
        return self.documents[:k]

    @cached_property
    def rank_of(self) -> Mapping[str, int]:
        """Document -> its rank."""
        return {d.doc_id: d.rank for d in self.documents}

    @property
    def is_failure(self) -> bool:
        """Whether the asking ended in an error or a time-out, or never began."""
        return self.status in ("error", "timeout", "unasked")

    @property
    def is_ranked(self) -> bool:
        """Whether it shows how the system ranks: it answered, and as wholly as it ever does."""
        is_whole = not self.partial or self.system.is_partial
        return is_whole and not self.is_failure and self.status != "missing"


@dataclass(frozen=True)
class QueryEvidence:
    """One judged query; all that a query's rules look at.

    `judged` maps documents to grades, `gains` to what they earn, `ideal` is the best DCG@k (0: the
    query has no answer). `absent` are judged documents that the corpus does not hold.
    """

    query_id: str
    text: str
    capability: Capability
    k: int
    judged: Mapping[str, int]
    gains: Mapping[str, float]
    ideal: float
    rankings: tuple[Ranking, ...]
    category: str | None = None
    cluster: str | None = None
    filters: "tuple[Filter, ...]" = ()
    absent: tuple[str, ...] = ()
    complete: bool = False

    @property
    def has_answer(self) -> bool:
        """Whether any document earns a gain."""
        return self.ideal > 0

    @property
    def is_unanswerable(self) -> bool:
        """Whether it is known that no document earns a gain: somebody judged, and found none."""
        return not self.has_answer and (self.complete or bool(self.judged))

    @cached_property
    def ideal_parts(self) -> tuple[float, ...]:
        """What each place of the best ranking adds to the DCG, down to k."""
        best = sorted((g for g in self.gains.values() if g > 0), reverse=True)[: self.k]
        return tuple(gain / log2(rank + 1) for rank, gain in enumerate(best, 1))

    @cached_property
    def best_grade(self) -> int:
        """The highest grade judged; 0 where nothing was."""
        return max(self.judged.values(), default=0)

    def ranking(self, system: str) -> Ranking:
        """Return what the system called `system` returned."""
        return next(r for r in self.rankings if r.name == system)

    def singles(self) -> tuple[Ranking, ...]:
        """Return the rankings of systems that are no hybrids."""
        return tuple(r for r in self.rankings if r.system.kind != "hybrid")


@dataclass(frozen=True)
class Evidence:
    """The whole setup: every judged query, the systems, the documents, the thresholds.

    `made` tells of the systems that were not asked when their stored answers were given, `invalid`
    of those whose run is no measurement why that is so.
    """

    queries: tuple[QueryEvidence, ...]
    systems: tuple[Part, ...]
    documents: "Documents"
    limits: "Limits"
    k: int
    measure: str
    n_unjudged_queries: int = 0
    digests: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    invalid: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def counted(self) -> "Evidence":
        """The same without the systems whose run is no measurement."""
        systems = tuple(s for s in self.systems if s.name not in self.invalid)
        if len(systems) == len(self.systems):
            return self
        queries = tuple(
            replace(q, rankings=tuple(r for r in q.rankings if r.name not in self.invalid))
            for q in self.queries
        )
        return replace(self, systems=systems, queries=queries)

    @cached_property
    def by_id(self) -> Mapping[str, QueryEvidence]:
        """Query id -> its evidence."""
        return {q.query_id: q for q in self.queries}

    def values(self, system: str) -> dict[str, float]:
        """Return query id -> nDCG@k of the queries that the conventions count."""
        pairs = ((q.query_id, q.ranking(system).value) for q in self.queries)
        return {q: v for q, v in pairs if v is not None}

    def mean(self, system: str) -> float | None:
        """Return the mean nDCG@k, the one that `run` shows; None where no query counts."""
        found = self.values(system)
        return mean(found.values()) if found else None

    @cached_property
    def cutoffs(self) -> "Mapping[str, Cutoffs]":
        """System -> what cutting off its low scores would do, of those whose scores allow it."""
        from searchmark.diagnosis.cutoff import cutoffs_of  # it looks at values of this module

        return {s.name: cutoffs_of(s.name, self) for s in self.systems if s.is_scored}

    @cached_property
    def usual(self) -> Mapping[str, float]:
        """System -> its mean over the queries with an answer that it does not fail.

        Where there are none, what counts as success.
        """
        from searchmark.diagnosis.worth import usual_value  # it looks at values of this module

        return {s.name: usual_value(s.name, self) for s in self.systems}

    @cached_property
    def overall(self) -> float | None:
        """The mean of the systems' means: what the completion verdict looks at."""
        found = [m for s in self.systems if (m := self.mean(s.name)) is not None]
        return mean(found) if found else None
