"""Tables for a terminal or a pipe: plain enough to paste, marked without relying on colour."""

from collections.abc import Sequence
from textwrap import wrap

from searchmark.reports.table import Look, Table, clean, shown, span_text

BEST = "*"
"""Stands behind the best value of a column: the same news as the bold type, without colour."""


_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def table_text(table: Table, look: Look) -> str:
    """Return a table as text; where it is too wide its rows become blocks of lines."""
    if table.spans and _natural_width(table, look.digits) > look.width:
        table = table._replace(spans={})  # rather the numbers side by side than their intervals
    if _natural_width(table, look.digits) > look.width:
        return _blocks(table, look.digits)
    from rich.cells import cell_len

    rows = [_cells(table, r, look.digits) for r in range(len(table.rows))]
    heads = [clean(name) for name in table.columns]
    numeric = [table.is_number(c) for c in range(len(heads))]
    spans = [_span_cells(table, r, look.digits) for r in range(len(table.rows))]
    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, *spans, strict=True)]

    def line(cells: Sequence[str], bold: Sequence[bool]) -> str:
        texts = []
        for c, text in enumerate(cells):
            gap = " " * (widths[c] - cell_len(text))
            shown_text = f"{_BOLD}{text}{_PLAIN}" if look.color and bold[c] else text
            texts.append(gap + shown_text if numeric[c] else shown_text + gap)
        return (" " + "   ".join(texts)).rstrip()

    rule = " " + "\u2500" * (sum(widths) + 3 * (len(widths) - 1))
    lines = [_bold(clean(table.title), look), "", line(heads, [True] * len(heads)), rule]
    for r, cells in enumerate(rows):
        if r in table.rules:
            lines.append("")
        lines.append(line(cells, [(r, c) in table.best for c in range(len(heads))]))
        if any(spans[r]):
            lines.append(line(spans[r], [False] * len(heads)))
    return "\n".join(lines) + "\n"


def _bold(text: str, look: Look) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if look.color else text


def _cells(table: Table, row: int, digits: int) -> list[str]:
    marked = {c for r, c in table.best if r == row}
    has_mark = {c for _, c in table.best}
    return [
        shown(value, signed=c in table.signed, digits=table.decimals.get(c, digits))
        + (BEST if c in marked else " " if c in has_mark else "")
        for c, value in enumerate(table.rows[row])
    ]


def _span_cells(table: Table, row: int, digits: int) -> list[str]:
    """Return the intervals of a row, which stand under its numbers."""
    return [span_text(table, (row, c), digits) for c in range(len(table.columns))]


def _natural_width(table: Table, digits: int) -> int:
    widths = [len(clean(name)) for name in table.columns]
    for r in range(len(table.rows)):
        for cells in (_cells(table, r, digits), _span_cells(table, r, digits)):
            widths = [max(w, len(c)) for w, c in zip(widths, cells, strict=True)]
    return sum(widths) + 3 * len(widths)


def _blocks(table: Table, digits: int) -> str:
    """Return one block a row: for narrow windows, where a table would be cut."""
    lines = [clean(table.title), ""]
    for r, row in enumerate(table.rows):
        lines.append(shown(row[0]))
        cells, spans = _cells(table, r, digits)[1:], _span_cells(table, r, digits)[1:]
        for name, cell, span in zip(table.columns[1:], cells, spans, strict=True):
            text = f"{cell.strip()} {span}".rstrip()
            if text in ("", "-"):
                continue
            if not name:  # a bar or a word beside the number that stands before it
                lines[-1] += f"  {text}"
            else:
                lines.append(f"  {clean(name)}: {text}")
    return "\n".join(lines) + "\n"


def paragraph(text: str, *, width: int, indent: str = "") -> str:
    """Return a sentence, broken at the width with what follows indented."""
    lines = wrap(
        clean(text),
        max(width, 40),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def bullets(title: str, sentences: Sequence[str], *, width: int) -> str:
    """Return a titled list of sentences; nothing where there are none."""
    if not sentences:
        return ""
    items = [paragraph(f"- {s}", width=width, indent="  ") for s in sentences]
    return "\n".join([title, *items]) + "\n"
