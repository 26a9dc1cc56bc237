"""Draw the pictures of docs/statistics.md from simulations: ``make pictures``.

Prints every drawn number as a Markdown table too.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import altair as alt
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "statistical"))

from simulation import Clusters, Values, alarms, coverage, spoilt_to_detect, true_mean  # noqa: E402

from searchmark.stats.bootstrap import mean_intervals  # noqa: E402
from searchmark.stats.power import detectable  # noqa: E402
from searchmark.stats.shares import wilson  # noqa: E402
from searchmark.stats.tests import TESTS  # noqa: E402

SIMULATIONS = 10_000
FEWER = 2_000
QUERIES = (10, 20, 50, 100, 200, 500)
CLUSTERS = (10, 20, 50, 100, 200)

# Okabe and Ito's palette: told apart with every kind of colour blindness
COLORS = ["#E69F00", "#56B4E9", "#0072B2", "#009E73", "#D55E00"]
SHAPES = ["square", "triangle-up", "circle", "diamond", "triangle-down"]

Row = dict[str, float | str | int]


def of_tests(make: Callable[[Values], Callable[[tuple[int, int]], np.ndarray]]) -> Iterator[Row]:
    """Yield the share of alarms of each test over each number of queries."""
    for n in QUERIES:
        differences = make(Values(seed=n))((n, SIMULATIONS))
        for test in TESTS:
            yield {"queries": n, "which": test, "share": alarms(test, differences)}


def of_intervals() -> Iterator[Row]:
    """Yield the coverage of each kind of interval over each number of queries."""
    truth = true_mean()
    for n in QUERIES:
        values = Values(seed=n).single((n, FEWER))
        for method in ("percentile", "bca"):
            found = mean_intervals(values, method=method)
            ends = [(one.low, one.high) for one in found]
            yield {"queries": n, "which": method, "share": coverage(ends, truth)}
        yield {"queries": n, "which": "Wilson, of a share", "share": _of_shares(n)}


def _of_shares(n: int) -> float:
    """Return Wilson's coverage, averaged over true shares: at a single one it may be 92 or 98%."""
    rng = np.random.default_rng(n)
    truths = rng.uniform(0.05, 0.95, FEWER)
    right = rng.binomial(n, truths)
    ends = [wilson(int(successes), n)[:2] for successes in right]
    return float(np.mean([low <= t <= high for (low, high), t in zip(ends, truths, strict=True)]))


def of_clusters() -> Iterator[Row]:
    """Yield the coverage of intervals that know of the clusters, and of one that does not."""
    truth = true_mean()
    for n in CLUSTERS:
        made = Clusters(n, seed=n)
        values = made.values(FEWER)
        for which, labels, method in (
            ("percentile, clusters", made.labels, "percentile"),
            ("bca, clusters", made.labels, "bca"),
            ("bca, ignoring the clusters", None, "bca"),
        ):
            resamples = None if labels is None else 4_000
            found = mean_intervals(values, labels, method=method, resamples=resamples)
            share = coverage([(one.low, one.high) for one in found], truth)
            yield {"clusters": n, "which": which, "share": share}


def of_clustered_tests() -> Iterator[Row]:
    """Yield the alarms of tests that know of the clusters, and of one that does not."""
    for n in CLUSTERS:
        made = Clusters(n, seed=n)
        differences = made.differences(FEWER)
        for test in TESTS:
            share = alarms(test, differences, made.labels)
            yield {"clusters": n, "which": f"{test}, clusters", "share": share}
        share = alarms("randomization", differences)
        yield {"clusters": n, "which": "randomization, ignoring them", "share": share}


def of_losses() -> Iterator[Row]:
    """Yield how often losses of just the detectable size are found."""
    for n in QUERIES:
        spoilt = spoilt_to_detect(n, detectable)
        differences = Values(seed=n).differences((n, SIMULATIONS), spoilt=spoilt)
        for test in TESTS:
            yield {"queries": n, "which": test, "share": alarms(test, differences)}


def dots(rows: list[Row], *, x: str, y: str, band: tuple[float, float], title: str) -> alt.Chart:
    """Return a chart: a mark a row, beside each other where they share x; a band to stay within."""
    names = list(dict.fromkeys(str(row["which"]) for row in rows))
    top = max(float(row["share"]) for row in rows)
    low = min(float(row["share"]) for row in rows)
    scale = alt.Scale(domain=_domain(low, top, band), nice=True, zero=False)
    marks = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(size=60, filled=True, opacity=1)
        .encode(
            x=alt.X(
                f"{x.split()[-1]}:O",
                title=f"number of {x}",
                scale=alt.Scale(paddingInner=0.35, paddingOuter=0.2),
                axis=alt.Axis(labelAngle=0, ticks=False, labelPadding=6),
            ),
            y=alt.Y("share:Q", title=y, scale=scale, axis=alt.Axis(format="%")),
            xOffset=alt.XOffset("which:N", sort=names),
            color=alt.Color(
                "which:N",
                title=None,
                sort=names,
                scale=alt.Scale(domain=names, range=COLORS[: len(names)]),
            ),
            shape=alt.Shape(
                "which:N",
                title=None,
                sort=names,
                scale=alt.Scale(domain=names, range=SHAPES[: len(names)]),
            ),
        )
    )
    within = (
        alt.Chart(alt.Data(values=[{"low": band[0], "high": band[1]}]))
        .mark_rect(color="#999999", opacity=0.25)
        .encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    )
    grey = f"grey: {band[0]:.0%} to {band[1]:.0%}"
    heading = alt.TitleParams(title, subtitle=grey, anchor="start")
    return (within + marks).properties(width=430, height=240, title=heading)


def _domain(low: float, top: float, band: tuple[float, float]) -> list[float]:
    low, top = min(low, band[0]), max(top, band[1])
    room = (top - low) / 10
    return [max(0.0, low - room), min(1.0, top + room)]


def told(rows: list[Row], title: str) -> None:
    """Print the rows as a Markdown table: a line a kind, a column a size."""
    size = next(iter(rows[0]))
    sizes = list(dict.fromkeys(row[size] for row in rows))
    out = [
        f"\n{title}\n",
        f"| {size} | {' | '.join(map(str, sizes))} |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for name in dict.fromkeys(row["which"] for row in rows):
        shares = [f"{row['share']:.1%}" for row in rows if row["which"] == name]
        out.append(f"| {name} | {' | '.join(shares)} |")
    sys.stdout.write("\n".join(out) + "\n")


def picture(name: str, *charts: tuple[list[Row], dict[str, object]]) -> None:
    """Write one picture of charts above each other, and tell their numbers."""
    for rows, how in charts:
        told(rows, str(how["title"]))
    drawn = alt.vconcat(*(dots(rows, **how) for rows, how in charts))
    drawn = drawn.resolve_scale(color="independent", shape="independent")
    drawn.save(HERE / "images" / f"calibration-{name}.svg")


def main() -> None:
    """Simulate and draw."""
    alarm, held = "share of p < 0.05", "share that hold the truth"
    many, fewer = f"{SIMULATIONS:,} simulations each", f"{FEWER:,} simulations each"
    picture(
        "tests",
        (
            list(of_tests(lambda made: made.differences)),
            {
                "x": "queries",
                "y": alarm,
                "band": (0.04, 0.06),
                "title": f"No true difference: false alarms ({many})",
            },
        ),
        (
            list(of_tests(lambda made: made.skewed)),
            {
                "x": "queries",
                "y": alarm,
                "band": (0.04, 0.06),
                "title": f"Many small gains, few large losses, mean 0 ({many})",
            },
        ),
    )
    picture(
        "intervals",
        (
            list(of_intervals()),
            {
                "x": "queries",
                "y": held,
                "band": (0.93, 0.97),
                "title": f"95% intervals of a mean ({fewer})",
            },
        ),
    )
    picture(
        "clusters",
        (
            list(of_clusters()),
            {
                "x": "clusters",
                "y": held,
                "band": (0.93, 0.97),
                "title": f"95% intervals, queries alike within clusters ({fewer})",
            },
        ),
        (
            list(of_clustered_tests()),
            {
                "x": "clusters",
                "y": alarm,
                "band": (0.04, 0.06),
                "title": f"No true difference, queries alike within clusters ({fewer})",
            },
        ),
    )
    picture(
        "power",
        (
            list(of_losses()),
            {
                "x": "queries",
                "y": alarm,
                "band": (0.78, 0.82),
                "title": f"A true loss of just the detectable size: how often found ({many})",
            },
        ),
    )


if __name__ == "__main__":
    main()
