"""What the reader of one comparison must be told: why something is missing, or in doubt."""

import numpy as np

from searchmark.stats.compared import Comparison, Settings
from searchmark.stats.interval import Interval
from searchmark.stats.paired import ALPHA, PairedTest
from searchmark.stats.pairing import Pair
from searchmark.stats.randomization import least_p
from searchmark.stats.tests import TESTS

CONTRARY = "the test finds that more queries moved the other way than the mean"


def is_contrary(pair: Pair, test: str, delta: float) -> bool:
    """Tell whether a test by ranks or signs leans to the other side than the mean does."""
    if test not in ("wilcoxon", "sign") or pair.n < 2:
        return False
    run = TESTS[test].run
    up = run(pair.differences, clusters=pair.labels, alternative="greater").p or 0.0
    down = run(pair.differences, clusters=pair.labels, alternative="less").p or 0.0
    return (up < down and delta < 0) or (down < up and delta > 0)


def remark(pair: Pair, test: PairedTest, interval: Interval) -> str | None:
    """Return the one thing that the reader needs most."""
    of_interval = interval_remark(pair, interval)
    if interval.low is None or pair.aggregate == "geometric":
        return of_interval
    return test.note or of_interval


def interval_remark(pair: Pair, interval: Interval) -> str | None:
    """Return why there is no interval, or what to mind of it."""
    d, n = pair.differences, f"{pair.n:,}"
    if pair.n > 1 and not d.any():
        return f"the values of all {n} queries are the same"
    if pair.n > 1 and np.ptp(d) == 0:
        return f"all {n} queries differ by the same, so nothing is known of the spread"
    if pair.aggregate == "geometric":
        return "tested by logarithms, as a geometric mean is taken; its difference has no interval"
    return interval.note


def is_out_of_reach(c: Comparison, n_tested: int, settings: Settings) -> bool:
    """Tell whether alpha is less than the least p that so many permutations give, and p is low."""
    if c.test != "randomization" or c.is_exact or c.p_adjusted is None or c.p_adjusted > ALPHA:
        return False
    n_together = n_tested if settings.correction == "holm" else 1
    return n_together * least_p(settings.permutations) > c.alpha


def reach_remark(n_tested: int, settings: Settings) -> str:
    """Say that more permutations would be needed."""
    together = ""
    if n_tested > 1 and settings.correction == "holm":
        together = f" for {n_tested:,} comparisons together"
    least = least_p(settings.permutations)
    return (
        f"{settings.permutations:,} permutations cannot show a p under {least:.1g}, "
        f"too much where alpha is {settings.alpha:g}{together}"
    )
