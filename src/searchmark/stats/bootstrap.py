"""Intervals of means by the bootstrap: over queries, or over whole clusters of queries."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.stats.convolution import Distribution, of_mean, of_ratio
from searchmark.stats.interval import Interval
from searchmark.stats.normal import cdf, quantile
from searchmark.stats.resampling import cluster_codes, grouped, in_order, resampled_means
from searchmark.stats.rounding import SAME, scale_of
from searchmark.stats.shares import wilson

Floats = NDArray[np.float64]
Method = Literal["auto", "bca", "percentile"]

LEVEL = 0.95
FEW_CLUSTERS = 10


def mean_interval(
    values: Floats,
    clusters: Sequence[object] | None = None,
    *,
    level: float = LEVEL,
    method: Method = "auto",
    resamples: int | None = None,
    seed: int = 0,
) -> Interval:
    """Return the interval of a mean over queries.

    Parameters
    ----------
    values
        One value a query, shape (n,).
    clusters
        One label a query: queries of one user, session or expected document are no independent
        evidence, so clusters are drawn whole. A label of None is a cluster alone.
    level
        The share of such intervals that hold the true mean, between 0 and 1.
    method
        "bca" corrects the ends for bias and skew, "percentile" takes the quantiles as they are.
        "auto" is "bca", but for values without clusters that are all 0 or 1: it takes them for a
        share, whose interval is Wilson's. Of what is no share, such as differences, ask for "bca".
    resamples
        How many resamples are drawn; by default none: the distribution that they would only
        estimate is computed.
    seed
        Of the drawn resamples.

    Returns
    -------
    Interval, within the least and the greatest value (Wilson's: within 0 and 1). Ends are None for
    a single query, for values that are all equal and no share, and for a single cluster, with a
    note that says why.

    Raises
    ------
    InputError
        Where a value is no finite number, there is none, or the level is impossible.

    Notes
    -----
    Percentile: the quantiles (1 - level)/2 and (1 + level)/2 of the bootstrap distribution. BCa:
    the quantiles ``Phi(z0 + (z0 + z)/(1 - a(z0 + z)))`` with z the normal quantiles of these,
    ``z0 = Phi^-1(share of resampled means below the mean)`` and the acceleration
    ``a = sum(u^3) / (6 sum(u^2)^1.5)``, u each query's (or cluster's) influence on the mean.

    References
    ----------
    Efron, Better bootstrap confidence intervals, JASA 82, 1987.

    Examples
    --------
    >>> found = mean_interval(np.array([0.2, 0.4, 0.4, 0.6, 0.9]))
    >>> round(found.low, 2), round(found.high, 2), found.method
    (0.32, 0.74, 'bca')
    """
    return mean_intervals(
        values[:, None], clusters, level=level, method=method, resamples=resamples, seed=seed
    )[0]


def mean_intervals(
    table: Floats,
    clusters: Sequence[object] | None = None,
    *,
    level: float = LEVEL,
    method: Method = "auto",
    resamples: int | None = None,
    seed: int = 0,
) -> list[Interval]:
    """Return the interval of each column's mean, shape (n, k); see `mean_interval`.

    Drawn resamples are the same for all columns.
    """
    _check(table, level)
    if clusters is not None and _all_alone(clusters, len(table)):
        clusters = None
    scales = [scale_of(column) for column in table.T]
    table = table / scales
    sums, sizes = grouped(table, clusters)
    drawn = None
    if resamples is not None:
        drawn = resampled_means(table, clusters=clusters, resamples=resamples, seed=seed)
    found = []
    for column in range(table.shape[1]):
        case = _Case(table[:, column], sums[:, column], sizes, clusters is not None, level)
        found.append(case.interval(method, None if drawn is None else drawn[:, column]))
    return [interval.times(scale) for interval, scale in zip(found, scales, strict=True)]


def _check(table: Floats, level: float) -> None:
    if not len(table):
        raise InputError("there are no queries to take a mean over", fix="give one or more")
    if not 0 < level < 1:
        raise InputError(f"the level {level:g} is no share", fix="give one between 0 and 1")
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise InputError(
            f"the value of query {row + 1} is no finite number",
            fix="leave out queries without a value",
        )


def _all_alone(clusters: Sequence[object], n: int) -> bool:
    """Tell whether every cluster holds one query."""
    return int(cluster_codes(clusters, n).max(initial=-1)) + 1 == n


class _Case:
    """One column: its values, and the clusters' sums and sizes (or the values again)."""

    def __init__(
        self, values: Floats, sums: Floats, sizes: Floats, is_clustered: bool, level: float
    ) -> None:
        self.values, self.level = values, level
        columns, self.sizes = in_order(sums[:, None], sizes)
        self.sums = columns[:, 0]
        self.n, self.n_clusters = len(values), len(sums) if is_clustered else None

    def interval(self, method: Method, drawn: Floats | None) -> Interval:
        """Return the interval, from drawn means or from the distribution they would estimate."""
        if method == "auto":
            if self._is_share():
                return wilson(int(self.values.sum()), self.n, self.level)
            method = "bca"
        why = self._why_none()
        if why is not None:
            return Interval(None, None, self.level, "none", self.n, self.n_clusters, why)
        where = _of_drawn(drawn) if drawn is not None else self._computed()
        low, high = ((1 - self.level) / 2, (1 + self.level) / 2)
        if method == "bca":
            low, high = self._corrected(where, low), self._corrected(where, high)
        name = method if self.n_clusters is None else f"cluster {method}"
        ends = sorted((where.quantile(low), where.quantile(high)))
        few = self.n_clusters is not None and self.n_clusters < FEW_CLUSTERS
        note = f"only {self.n_clusters} clusters: the interval is a rough one" if few else None
        return Interval(ends[0], ends[1], self.level, name, self.n, self.n_clusters, note)

    def _is_share(self) -> bool:
        """Tell whether the values may be right and wrong answers, each independent evidence."""
        is_binary = bool(((self.values == 0) | (self.values == 1)).all())
        return self.n_clusters is None and self.n > 1 and is_binary

    def _why_none(self) -> str | None:
        if self.n == 1:
            return "one query tells nothing of others"
        if self.n_clusters == 1:
            return "all queries are of one cluster, which tells nothing of others"
        own = self.sums / self.sizes
        if float(np.ptp(own)) <= SAME * max(1.0, float(np.abs(own).max())):
            what = "values" if self.n_clusters is None else "clusters' means"
            return f"all {len(own)} {what} are equal; resampling cannot tell how sure the mean is"
        return None

    def _computed(self) -> Distribution:
        if self.n_clusters is None:
            return of_mean(self.sums)
        return of_ratio(self.sums, self.sizes)

    def _corrected(self, where: Distribution, p: float) -> float:
        """Return the share that BCa takes in place of `p`."""
        mean = float(self.sums.sum() / self.sizes.sum())
        influence = np.sort(self.sums - mean * self.sizes)
        bias = quantile(min(max(where.below(mean), 1e-12), 1 - 1e-12))
        skew = float((influence**3).sum() / (6 * (influence**2).sum() ** 1.5))
        z = bias + quantile(p)
        shrink = 1 - skew * z
        if shrink <= 0:  # the skew is too great for this share: its end is the last place there is
            return 0.0 if z < 0 else 1.0
        return cdf(bias + z / shrink)


def _of_drawn(means: Floats) -> Distribution:
    """Return the distribution of drawn means; equal ones are one place."""
    place = np.sort(means)
    last = np.append(place[1:] > place[:-1], True)
    return Distribution(place[last], (np.flatnonzero(last) + 1) / len(place))
