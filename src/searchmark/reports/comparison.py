"""Compared systems as a table with a drawn interval, and as sentences."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from searchmark.reports.table import Cell, Table

if TYPE_CHECKING:
    from searchmark.stats.comparison import Comparison, Family

HALF = 8
"""Characters to each side of zero in the drawing of an interval."""

_SMALL = 0.001
_LINE, _MIDDLE, _ZERO, _CROSSED, _GROUND = "\u2500", "\u25cf", "\u2502", "\u253c", "\u00b7"


def comparison_tables(family: "Family", *, drawn: bool) -> list[Table]:
    """Return one table a measure, one row a comparison; `drawn` adds a picture of the interval."""
    return [
        _table(measure, [c for c in family.comparisons if c.measure == measure], drawn=drawn)
        for measure in dict.fromkeys(c.measure for c in family.comparisons)
    ]


def _table(measure: str, comparisons: "Sequence[Comparison]", *, drawn: bool) -> Table:
    reach = _reach(comparisons)
    columns: tuple[str, ...] = ("difference", "delta", "p", "+/=/-", "verdict")
    if drawn:
        columns = ("difference", "delta", f"{'worse':<{HALF}}0{'better':>{HALF}}", *columns[2:])
    return Table(
        f"{measure}, over {_queries(comparisons)}",
        columns,
        tuple(
            (
                f"{c.b} vs {c.a}",
                c.delta,
                *((_drawing(c, reach),) if drawn else ()),
                p_text(c.p_adjusted),
                f"{c.wins}/{c.ties}/{c.losses}",
                c.words,
            )
            for c in comparisons
        ),
        signed=frozenset({1}),
        spans={
            (r, 1): (c.low, c.high)
            for r, c in enumerate(comparisons)
            if c.low is not None and c.high is not None
        },
    )


def _queries(comparisons: "Sequence[Comparison]") -> str:
    counts = sorted({c.n_queries for c in comparisons})
    n = " to ".join(f"{x:,}" for x in dict.fromkeys((counts[0], counts[-1])))
    return f"{n} quer{'y' if counts[-1] == 1 else 'ies'}"


def _reach(comparisons: "Sequence[Comparison]") -> float:
    """Return the greatest end of an interval: what the drawing reaches to."""
    ends = [abs(x) for c in comparisons for x in (c.low, c.high, c.delta) if x is not None]
    return max(ends, default=0.0)


def _drawing(c: "Comparison", reach: float) -> str:
    """Return the interval as a line about zero; to the right is better."""
    cells = [_GROUND] * (2 * HALF + 1)
    cells[HALF] = _ZERO
    if c.delta is None or reach <= 0:
        return "".join(cells)
    sign = 1 if c.higher_is_better else -1

    def at(value: float) -> int:
        return HALF + round(sign * value / reach * HALF)

    if c.low is not None and c.high is not None:
        first, last = sorted((at(c.low), at(c.high)))
        cells[first : last + 1] = [_LINE] * (last - first + 1)
        if first <= HALF <= last:
            cells[HALF] = _CROSSED
    cells[at(c.delta)] = _MIDDLE
    return "".join(cells)


def p_text(p: float | None) -> str:
    """Return a p-value as people read it."""
    if p is None:
        return "-"
    return f"<{_SMALL}" if p < _SMALL else f"{p:.3f}"


def sentences(family: "Family") -> list[str]:
    """Say in words what each pair's differences are worth, those first that can be trusted."""
    trusted, others = [], []
    for a, b in dict.fromkeys((c.a, c.b) for c in family.comparisons):
        pair = [c for c in family.comparisons if (c.a, c.b) == (a, b)]
        for words in ("better", "worse"):
            if found := [c for c in pair if c.words == words]:
                trusted.append(f"{b} is {words} than {a} on {_listed(map(_with_delta, found))}.")
        if found := [c for c in pair if c.words == "cannot tell" and c.delta is not None]:
            sizes = _listed(map(_with_p, found))
            others.append(f"{b} beside {a}: what they differ by may be chance on {sizes}.")
        if found := [c for c in pair if c.words == "same"]:
            others.append(f"{b} and {a} are the same on every query in {_listed(_names(found))}.")
        others += [
            f"{b} and {a} cannot be compared on {c.measure}" + (f": {c.note}." if c.note else ".")
            for c in pair
            if c.delta is None and c.words != "same"
        ]
    return trusted + others


def _names(comparisons: "Sequence[Comparison]") -> list[str]:
    return [c.measure for c in comparisons]


def _with_delta(c: "Comparison") -> str:
    return f"{c.measure} ({c.delta:+.4f})"


def _with_p(c: "Comparison") -> str:
    """Return a difference that cannot be told from chance, and what could be."""
    seen = "" if c.detectable is None else f"; one under {c.detectable:.3f} goes unseen here"
    p = "" if c.p_adjusted is None else f", p {_equals(c.p_adjusted)}"
    note = f"; {c.note}" if c.note else ""
    return f"{c.measure} ({c.delta:+.4f}{p}{seen}{note})"


def _equals(p: float) -> str:
    text = p_text(p)
    return text if text.startswith("<") else f"= {text}"


def _listed(parts: Iterable[str]) -> str:
    found = list(parts)
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"


def trusted_title(family: "Family") -> str:
    """Return what the sentences are about, and what trust means in them."""
    return f"What can be trusted, at a risk of {100 * family.alpha:g} in 100"


def footing(family: "Family") -> Iterator[str]:
    """Yield how the numbers were made."""
    first = next(iter(family.comparisons), None)
    if first is not None:
        yield (
            "delta: the second mean taken from the first; [low, high]: where the true difference "
            f"lies, 95 times in 100 ({first.interval_method}); p: how often chance alone would "
            f"give a difference as large ({first.test} test), after correction"
        )
    yield family.sentence


TABLE_COLUMNS = (
    *("a", "b", "measure", "n_queries", "mean_a", "mean_b", "delta", "low", "high"),
    *("test", "p", "p_adjusted", "effect", "wins", "ties", "losses", "detectable", "words"),
)
"""The columns of CSV, and the fields of JSON beside those that hold more than one number."""


def plain_rows(family: "Family") -> Iterator[tuple[Cell, ...]]:
    """Yield each comparison with every number in full."""
    for c in family.comparisons:
        yield tuple(getattr(c, name) for name in TABLE_COLUMNS)
