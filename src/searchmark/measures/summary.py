"""The numbers of a table and what each of them rests on: values only, made by `score`."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mean:
    """One measure's mean over queries, with the counts it cannot be read without.

    `value` is None where no query has one. `ceiling` is the best mean any ranking could reach on
    these queries under these conventions (None where the measure has no best). `n_queries` is how
    many queries the mean is over, `n_missing` how many judged queries the system did not answer,
    `n_skipped` how many the conventions left out, `unjudged_share` the share of the results within
    the cutoff that nobody judged (None where nothing was returned).
    """

    measure: str
    value: float | None
    ceiling: float | None
    n_queries: int
    n_missing: int
    n_skipped: int
    unjudged_share: float | None


@dataclass(frozen=True, slots=True)
class SystemScores:
    """All that was measured of one system.

    `per_query` maps measure -> query id -> value; a query that the conventions skip is not in it.
    `by_category` maps a category of the query set to the means over its queries. `n_failed` counts
    queries that ended in an error or a time-out.
    """

    system: str
    means: tuple[Mean, ...]
    by_category: Mapping[str, tuple[Mean, ...]]
    per_query: Mapping[str, Mapping[str, float]]
    n_failed: int = 0

    def mean(self, measure: str) -> Mean:
        """Return the mean of the measure written `measure`."""
        return next(m for m in self.means if m.measure == measure)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Several systems over one query set: what every report shows.

    `conventions` maps a measure to its full notation with every parameter in force; `profile` names
    the defaults. `notes` are sentences that the reader of the numbers needs.
    """

    systems: tuple[SystemScores, ...]
    conventions: Mapping[str, str]
    profile: str
    n_queries: int
    categories: Mapping[str, int]
    digests: Mapping[str, str]
    notes: tuple[str, ...] = ()
