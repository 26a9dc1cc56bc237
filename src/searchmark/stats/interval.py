"""An interval and what it rests on: a value, made by `bootstrap` and `shares`."""

from typing import NamedTuple


class Interval(NamedTuple):
    """Where the mean over all queries like these may lie.

    `low` and `high` are None where nothing can be told, and `note` says why. `level` is the share
    of such intervals that hold the true mean. `method` is one of "bca", "percentile", "wilson",
    "cluster bca", "cluster percentile" and "none". `n_clusters` counts the groups of queries that
    were drawn whole, None where queries were drawn one by one.
    """

    low: float | None
    high: float | None
    level: float
    method: str
    n_queries: int
    n_clusters: int | None = None
    note: str | None = None

    @property
    def half_width(self) -> float | None:
        """Half of the distance between the two ends."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def times(self, scale: float) -> "Interval":
        """Return the interval of so many times the mean."""
        if self.low is None or self.high is None or scale == 1.0:
            return self
        return self._replace(low=self.low * scale, high=self.high * scale)
