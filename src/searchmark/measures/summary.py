"""The numbers of a table and what each of them rests on: values only, made by `score`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from searchmark.errors import InputError, nearest

if TYPE_CHECKING:
    from searchmark.measures.ties import Band


class Mean(NamedTuple):
    """One measure's mean over queries, with the counts it cannot be read without.

    `value` is None where no query has one. `ceiling` is the best mean any ranking could reach on
    these queries under these conventions (None where the measure has no best). `n_queries` is how
    many queries the mean is over, `n_missing` how many judged queries the system did not answer,
    `n_skipped` how many the conventions left out, `unjudged_share` the share of the results within
    the cutoff that nobody judged (None where nothing was returned). `low` to `high` is where the
    mean over all queries like these may lie, `interval` how that was found ("bca", "wilson", ...);
    None where nothing can be told, and `interval_note` says why. `n_empty` of the `n_queries` have
    nothing relevant, so that their value is a convention.
    """

    measure: str
    value: float | None
    ceiling: float | None
    n_queries: int
    n_missing: int
    n_skipped: int
    unjudged_share: float | None
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    interval_note: str | None = None
    n_empty: int = 0


@dataclass(frozen=True, slots=True)
class SystemScores:
    """All that was measured of one system.

    `per_query` maps measure -> query id -> value; a query that the conventions skip is not in it.
    `by_category` maps a category of the query set to the means over its queries. `n_failed` counts
    queries that ended in an error or a time-out. `invalid` says why the scores are no measurement.
    """

    system: str
    means: tuple[Mean, ...]
    by_category: Mapping[str, tuple[Mean, ...]]
    per_query: Mapping[str, Mapping[str, float]]
    n_failed: int = 0
    invalid: str | None = None

    def mean(self, measure: str) -> Mean:
        """Return the mean of the measure written `measure`."""
        for mean in self.means:
            if mean.measure == measure:
                return mean
        known = [m.measure for m in self.means]
        raise InputError(f"'{measure}' was not measured", fix=nearest(str(measure), known))


class Sensitivity(NamedTuple):
    """What differences of one measure can be seen, over all queries or a category of them.

    `deviation` is the standard deviation of a query's difference between the two systems that are
    most alike on this measure (`pair`); of a single system it is that of two unrelated ones of its
    spread (`basis` is "pairs" or "one system"). `detectable` is the true difference that four of
    five such query sets would show at the 5 % level; `needed` says how many queries would show
    another one.
    """

    measure: str
    category: str | None
    n_queries: int
    n_clusters: int | None
    basis: str
    deviation: float
    detectable: float
    needed: tuple[tuple[float, int], ...]
    pair: tuple[str, str] | None = None


class Counts(NamedTuple):
    """What a run's numbers rest on.

    `n_queries` were judged, `n_answered` of them the run answers, `n_missing` it does not; for
    `n_empty` nothing is relevant. `n_unjudged_queries` stand in the run and not in the judgments.
    `n_duplicates` documents were dropped because they stood twice in a query. `n_tied` judged
    documents share their score with others, so that the order rule decided their rank.
    """

    n_queries: int
    n_answered: int
    n_missing: int
    n_empty: int
    n_unjudged_queries: int
    n_retrieved: int
    n_judged_retrieved: int
    n_duplicates: int
    n_tied: int


class CallSummary(NamedTuple):
    """How one system's calls went.

    `p50_ms`, `p95_ms` and `p99_ms` are percentiles of the latency of the `n_counted` calls that
    were answered and no warm-up; None where they are too few. `n_retried` calls took several
    attempts. `n_failed` counts errors, `n_timeouts` and `n_unasked`; `n_empty` answers held
    nothing, in `n_partial` a part of the system did not take part. `median_bytes` is the size of an
    answer, None where nobody knows. With `batch` above 1 a latency is that of a whole batch.
    """

    n_counted: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    n_warmup: int
    n_retried: int
    n_failed: int
    n_timeouts: int
    n_unasked: int
    n_empty: int
    n_partial: int
    median_bytes: float | None
    batch: int = 1


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Several systems over one query set: what every report shows.

    `conventions` maps a measure to its full notation with every parameter in force; `profile` names
    the defaults. `notes` are sentences that the reader of the numbers needs. `counts` and `bands`
    (how far ties move a mean) are by system, where they were asked for. `sensitivity` says which
    differences these queries can show. `calls` tells how asking each system went.
    """

    systems: tuple[SystemScores, ...]
    conventions: Mapping[str, str]
    profile: str
    n_queries: int
    categories: Mapping[str, int]
    digests: Mapping[str, str]
    notes: tuple[str, ...] = ()
    counts: Mapping[str, Counts] = field(default_factory=dict)
    bands: "Mapping[str, Mapping[str, Band]]" = field(default_factory=dict)
    sensitivity: tuple[Sensitivity, ...] = ()
    calls: Mapping[str, CallSummary] = field(default_factory=dict)
