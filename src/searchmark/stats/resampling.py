"""Means of drawn resamples: for numbers that have no closed distribution, and to check those."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.stats.rounding import sums_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESAMPLES = 10_000
CELLS = 2_000_000
"""Counts made at a time; drawing them is what costs, so all columns share them."""

THREADS = 2
_DRAWN_DIGITS = 6

# types of numpy.random are quoted: `eval`, which draws nothing, shall not wait for its import


def resampled_means(
    table: Floats,
    *,
    clusters: Sequence[object] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Floats:
    """Return the means of each column in many resamples of the rows.

    Parameters
    ----------
    table
        One row a query, one column a system and measure, shape (n, k).
    clusters
        One label a row; rows of one label are drawn together. A label of None is a cluster alone.
    resamples
        How many resamples are drawn, 1 or more.
    seed
        The same seed gives the same means, for any order of the rows and number of threads.

    Returns
    -------
    Means, shape (resamples, k); computed in 32 bits, so exact to about six digits of the greatest
    distance of a row from its column's mean.

    Raises
    ------
    InputError
        Where `resamples` is less than 1 or a value is no finite number.

    Notes
    -----
    With clusters the mean is the sum of the drawn clusters' values over the number of their rows.

    References
    ----------
    Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics 7(1), 1979;
    clusters: Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8.

    Examples
    --------
    >>> means = resampled_means(np.array([[0.0], [1.0]]), resamples=1000)
    >>> sorted({float(m) for m in means[:, 0]})
    [0.0, 0.5, 1.0]
    """
    if resamples < 1:
        raise InputError(f"{resamples} resamples cannot be drawn", fix="ask for 1 or more")
    if not np.isfinite(table).all():
        raise InputError("a value is no finite number", fix="leave out queries without a value")
    check_seed(seed)
    sums, sizes = in_order(*grouped(table, clusters))
    means, own = sums.sum(axis=0) / sizes.sum(), sums / sizes[:, None]
    # 32 bits hold what is left of values like 1,000,000.2 without their mean
    apart = sums - means * sizes[:, None]
    reach = np.abs(apart).max(axis=0, initial=0)
    apart /= np.where(reach > 0, reach, 1.0)
    columns = np.column_stack([apart, sizes]).astype(np.float32)
    parts = list(_chunks(len(sums), resamples))
    streams = np.random.SeedSequence(seed).spawn(len(parts))

    def work(rows: int, stream: "np.random.SeedSequence") -> Floats:
        counts = _counts(np.random.default_rng(stream), rows, len(columns))
        totals = (counts @ columns).astype(np.float64)
        # equal means shall stay equal, whatever 32 bits made of their terms
        away = np.round(totals[:, :-1] / totals[:, -1:], _DRAWN_DIGITS)
        drawn = np.clip(means + reach * away, own.min(axis=0), own.max(axis=0))
        return np.asarray(drawn, np.float64)

    if len(parts) == 1:
        return work(parts[0], streams[0])
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(THREADS) as workers:
        return np.concatenate(list(workers.map(work, parts, streams)))


def _chunks(n: int, resamples: int) -> Iterator[int]:
    rows = max(1, CELLS // n)
    for start in range(0, resamples, rows):
        yield min(rows, resamples - start)


def _counts(rng: "np.random.Generator", rows: int, n: int) -> NDArray[np.float32]:
    """Return how often each of n entries is drawn in each of so many resamples."""
    drawn = rng.integers(0, n, (rows, n), dtype=np.int32).astype(np.int64)
    drawn += (np.arange(rows) * n)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * n).astype(np.float32).reshape(rows, n)


def in_order(sums: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Return rows by what they hold: the order in which the queries came must not matter."""
    by = np.lexsort((*sums.T[::-1], sizes))
    return sums[by], sizes[by]


def grouped(table: Floats, clusters: Sequence[object] | None) -> tuple[Floats, Floats]:
    """Return each cluster's sums, shape (c, k), and its number of rows; without any, the rows.

    The sums are free of rounding, and the clusters in the order of what they hold: the order in
    which the queries came changes nothing.
    """
    if clusters is None:
        return table, np.ones(len(table))
    code = cluster_codes(clusters, len(table))
    sizes = np.bincount(code)
    by, ends = np.argsort(code, kind="stable"), np.cumsum(sizes).tolist()
    sums = np.empty((len(sizes), table.shape[1]))
    for i, column in enumerate(table.T):
        values = column[by].tolist()
        sums[:, i] = sums_of([values[a:b] for a, b in zip([0, *ends], ends, strict=False)])
    return in_order(sums, sizes.astype(np.float64))


def is_alone(label: object) -> bool:
    """Tell whether a label is none: None, NaN and blanks are."""
    return label is None or label != label or (isinstance(label, str) and not label.strip())


def cluster_codes(clusters: Sequence[object], n: int) -> Ints:
    """Return labels as numbers from 0; each that `is_alone` is a cluster of its own."""
    if len(clusters) != n:
        raise InputError(
            f"there are {len(clusters)} cluster labels for {n} queries", fix="give one each"
        )
    known: dict[object, int] = {}
    labels = [(object() if is_alone(label) else label) for label in clusters]
    return np.array([known.setdefault(label, len(known)) for label in labels], np.int64)


def check_seed(seed: int) -> None:
    """Refuse a seed that NumPy has no stream for."""
    if seed < 0:
        raise InputError(f"the seed cannot be {seed}", fix="give a whole number of 0 or more")
