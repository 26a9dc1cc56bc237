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
            result.append({"system": system, "category": label, "value": means[MEASURE]["mean"]})
        label = f"all ({found['n_queries']})"
        value = scores["measures"][MEASURE]["mean"]
        result.append({"system": system, "category": label, "value": value})
    return result


def chart(found: dict) -> alt.Chart:
    """Return the chart: a band a category, a mark a system."""
    data = rows(found)
    systems = list(found["systems"])
    order = list(dict.fromkeys(row["category"] for row in data))
    marks = (
        alt.Chart(alt.Data(values=data))
        .mark_point(size=80, filled=True, opacity=1)
        .encode(
            x=alt.X("value:Q", scale=alt.Scale(domain=[0, 1]), title=f"mean {MEASURE} (0 to 1)"),
            y=alt.Y(
                "category:N",
                sort=order,
                title="category (number of queries)",
                scale=alt.Scale(paddingInner=0.5, paddingOuter=0.25),
                axis=alt.Axis(grid=True, tickBand="extent", bandPosition=0, titlePadding=30),
            ),
            yOffset=alt.YOffset("system:N", sort=systems),  # equal values stay apart
            color=alt.Color(
                "system:N", sort=systems, scale=alt.Scale(domain=systems, range=COLORS)
            ),
            shape=alt.Shape(
                "system:N", sort=systems, scale=alt.Scale(domain=systems, range=SHAPES)
            ),
        )
    )
    title = f"The demo: three searches over {found['n_queries']} queries"
    return marks.properties(width=520, height=300, title=title)


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    drawing = chart(json.load(sys.stdin))
    drawing.save(FOLDER / "demo.svg")


if __name__ == "__main__":
    main()
