"""Draw the pictures of the README from the demo's own results: ``make pictures``.

Reads what ``searchmark run --format json`` printed from standard input.
"""

import json
import sys
from pathlib import Path

import altair as alt

MEASURE = "nDCG@10"
FOLDER = Path(__file__).parent / "images"

# Okabe and Ito's palette: told apart with every kind of colour blindness
COLORS = ["#E69F00", "#56B4E9", "#0072B2"]
SHAPES = ["square", "triangle-up", "circle"]


def rows(found: dict) -> list[dict]:
    """Return one row a system and category, the whole set last."""
    result = []
    for system, scores in found["systems"].items():
        for category, means in scores["by_category"].items():
            label = f"{category} ({found['categories'][category]})"
            result.append(row(system, label, means[MEASURE]))
        result.append(row(system, f"all ({found['n_queries']})", scores["measures"][MEASURE]))
    return result


def row(system: str, category: str, mean: dict) -> dict:
    """Return one mark and its interval, which is missing where it cannot be told."""
    low, high = mean["low"], mean["high"]
    at = mean["mean"]
    ends = {"low": at if low is None else low, "high": at if high is None else high}
    return {"system": system, "category": category, "value": at, **ends}


def chart(found: dict) -> alt.Chart:
    """Return the chart: a band a category, a mark and an interval a system."""
    data = rows(found)
    systems = list(found["systems"])
    order = list(dict.fromkeys(row["category"] for row in data))
    base = alt.Chart(alt.Data(values=data)).encode(
        y=alt.Y(
            "category:N",
            sort=order,
            title="category (number of queries)",
            scale=alt.Scale(paddingInner=0.5, paddingOuter=0.25),
            axis=alt.Axis(grid=True, tickBand="extent", bandPosition=0, titlePadding=30),
        ),
        yOffset=alt.YOffset("system:N", sort=systems),  # equal values stay apart
        color=alt.Color("system:N", sort=systems, scale=alt.Scale(domain=systems, range=COLORS)),
    )
    title = f"mean {MEASURE} (0 to 1), with its 95% interval"
    across = alt.Scale(domain=[0, 1])
    lines = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=across, title=title), x2="high:Q"
    )
    marks = base.mark_point(size=80, filled=True, opacity=1).encode(
        x=alt.X("value:Q", scale=across, title=title),
        shape=alt.Shape("system:N", sort=systems, scale=alt.Scale(domain=systems, range=SHAPES)),
    )
    heading = f"The demo: three searches over {found['n_queries']} queries"
    return (lines + marks).properties(width=520, height=300, title=heading)


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    drawing = chart(json.load(sys.stdin))
    drawing.save(FOLDER / "demo.svg")


if __name__ == "__main__":
    main()
