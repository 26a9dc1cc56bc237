"""A neutral table, and the texts that must be safe wherever they are shown."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

Cell = str | int | float | None


class Look(NamedTuple):
    """How a text for people looks: how wide it may be, whether coloured, how many decimals."""

    width: int = 100
    color: bool = False
    digits: int = 4


PLAIN = Look()


class Table(NamedTuple):
    """A title, column heads and rows; `best` marks cells (row, column) that lead their column.

    `spans` hold the interval of a cell, where it has one. `decimals` are those of columns that have
    a number of their own, whatever is asked for.

    Numbers are kept whole here; each format rounds, or does not, by itself.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    best: frozenset[tuple[int, int]] = frozenset()
    signed: frozenset[int] = frozenset()
    rules: frozenset[int] = frozenset()
    spans: Mapping[tuple[int, int], tuple[float, float]] = {}
    decimals: Mapping[int, int] = {}

    def is_number(self, column: int) -> bool:
        """Tell whether a column holds numbers, and so stands to the right."""
        values = [row[column] for row in self.rows if row[column] is not None]
        return bool(values) and all(isinstance(v, int | float) for v in values)


def shown(value: Cell, *, signed: bool = False, digits: int = 4) -> str:
    """Return a cell as people read it: so many decimals, a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return clean(str(value))


def span_text(table: Table, at: tuple[int, int], digits: int) -> str:
    """Return a cell's interval, one decimal shorter than the number; nothing where it has none."""
    if at not in table.spans:
        return ""
    low, high = table.spans[at]
    short = max(digits - 1, 1)
    sign = "+" if at[1] in table.signed else ""
    return f"[{low:{sign}.{short}f}, {high:{sign}.{short}f}]"


def clean(text: str) -> str:
    """Return text without characters that would move a terminal's cursor or break a line."""
    return "".join(
        c if c.isprintable() or c == " " else " " if unicodedata.category(c) == "Zs" else "\ufffd"
        for c in text
    )


def listed(parts: Iterable[str]) -> str:
    """Return parts as a sentence has them: a, b and c."""
    found = list(parts)
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"


def shortened(text: str, most: int) -> str:
    """Return a text cut to so many characters, three dots for what is gone."""
    return text if len(text) <= most else text[: most - 3] + "..."


def leaders(rows: Sequence[Sequence[Cell]], columns: Sequence[int]) -> frozenset[tuple[int, int]]:
    """Return the cells that hold the greatest number of their column, where rows differ at all."""
    found = set()
    for column in columns:
        values = [row[column] for row in rows]
        numbers = [v for v in values if isinstance(v, int | float)]
        if len(numbers) < 2 or max(numbers) - min(numbers) < 1e-9:
            continue
        found |= {
            (i, column)
            for i, v in enumerate(values)
            if isinstance(v, int | float) and max(numbers) - v < 1e-9
        }
    return frozenset(found)
