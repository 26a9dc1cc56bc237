"""Compared systems as a table with a drawn interval, and as sentences."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from searchmark.measures.notation import parse_measure
from searchmark.reports.evaluation import noted
from searchmark.reports.table import Cell, Table, listed

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

    middle = at(c.delta)
    if c.low is not None and c.high is not None:
        first, last = sorted((at(c.low), at(c.high)))
        if (c.low > 0) == (sign > 0) and (c.low > 0 or c.high < 0):  # all better: begins beside 0
            first, last, middle = (max(cell, HALF + 1) for cell in (first, last, middle))
        elif c.low > 0 or c.high < 0:
            first, last, middle = (min(cell, HALF - 1) for cell in (first, last, middle))
        cells[first : last + 1] = [_LINE] * (last - first + 1)
        if first <= HALF <= last:
            cells[HALF] = _CROSSED
    cells[middle] = _MIDDLE
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
                trusted.append(f"{b} is {words} than {a} on {listed(map(_with_delta, found))}.")
        unsure = [c for c in pair if c.words == "cannot tell" and c.delta is not None]
        if found := [c for c in unsure if not c.is_out_of_reach]:
            sizes = listed(map(_with_p, found))
            others.append(f"{b} beside {a}: what they differ by may be chance on {sizes}.")
        if found := [c for c in unsure if c.is_out_of_reach]:
            sizes = f"{listed(map(_with_delta, found))}: {found[0].note}"
            others.append(f"{b} beside {a}: no p is small enough on {sizes}.")
        if found := [c for c in pair if c.words == "same"]:
            others.append(f"{b} and {a} are the same on every query in {listed(_names(found))}.")
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
    is_seen = c.detectable is None or abs(c.delta or 0.0) >= c.detectable
    seen = "" if is_seen else f"; {_unseen(c)}"
    p = "" if c.p_adjusted is None else f", p {_equals(c.p_adjusted)}"
    note = f"; {c.note}" if c.note and c.note != c.interval_note else ""
    return f"{c.measure} ({c.delta:+.4f}{p}{seen}{note})"


def _unseen(c: "Comparison") -> str:
    """Return what so few queries cannot show; of a measure that ends below that, it is anything."""
    spec = parse_measure(c.measure).spec
    widest = inf if spec.low is None or spec.high is None else spec.high - spec.low
    if (c.detectable or 0.0) >= widest:
        return "no difference could be seen here"
    return f"one under {c.detectable:.3f} goes unseen here"


def _equals(p: float) -> str:
    text = p_text(p)
    return text if text.startswith("<") else f"= {text}"


def trusted_title(family: "Family") -> str:
    """Return what the sentences are about, and what trust means in them."""
    return f"What can be trusted, at a risk of {100 * family.alpha:g} in 100"


def footing(family: "Family") -> Iterator[str]:
    """Yield how the numbers were made."""
    first = next(iter(family.comparisons), None)
    if first is not None:
        n_tested = sum(c.p is not None for c in family.comparisons)
        corrected = ", after correction" if family.correction != "none" and n_tested > 1 else ""
        yield (
            f"delta: the second mean taken from the first; {_of_interval(family)}p: how often "
            f"chance alone would give a difference as large ({first.test} test){corrected}"
        )
    yield family.sentence


def _of_interval(family: "Family") -> str:
    methods = [c.interval_method for c in family.comparisons if c.interval_method != "none"]
    if not methods:
        return ""
    return (
        f"[low, high]: where the true difference lies, {100 * family.level:g} times in 100 "
        f"({methods[0]}); "
    )


def notes(family: "Family") -> tuple[str, ...]:
    """Return what the reader needs; first, once each, why intervals are missing or rough."""
    told: dict[tuple[str, bool], list[Comparison]] = {}
    for c in family.comparisons:
        if c.interval_note and c.delta is not None and c.words != "same":
            told.setdefault((c.interval_note, c.low is None), []).append(c)
    every = [noted(_named(found, family), note, is_none) for (note, is_none), found in told.items()]
    return (*(["; ".join(every) + "."] if every else []), *family.notes)


def _named(found: "Sequence[Comparison]", family: "Family") -> list[str]:
    """Return differences by name: measures, and of which pair where that is not all of them."""
    pairs = dict.fromkeys((c.a, c.b) for c in family.comparisons)
    of_pair = {pair: tuple(c.measure for c in found if (c.a, c.b) == pair) for pair in pairs}
    named = []
    for measures in dict.fromkeys(names for names in of_pair.values() if names):
        alike = [f"{b} vs {a}" for (a, b), names in of_pair.items() if names == measures]
        if len(alike) == len(pairs):
            return list(measures)
        named += [f"{measure} ({', '.join(alike)})" for measure in measures]
    return named


TABLE_COLUMNS = (
    *("a", "b", "measure", "n_queries", "mean_a", "mean_b", "delta", "low", "high"),
    *("test", "p", "p_adjusted", "effect", "wins", "ties", "losses", "detectable", "words"),
)
"""The columns of CSV, and the fields of JSON beside those that hold more than one number."""


def plain_rows(family: "Family") -> Iterator[tuple[Cell, ...]]:
    """Yield each comparison with every number in full."""
    for c in family.comparisons:
        yield tuple(getattr(c, name) for name in TABLE_COLUMNS)
