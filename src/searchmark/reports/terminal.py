"""Tables for a terminal or a pipe: plain enough to paste, marked without relying on colour."""

import io
from collections.abc import Sequence
from textwrap import wrap

from searchmark.reports.table import Look, Table, clean, shown

BEST = "*"
"""Stands behind the best value of a column: the same news as the bold type, without colour."""


def table_text(table: Table, look: Look) -> str:
    """Return a table as text; where it is too wide its rows become blocks of lines."""
    if _natural_width(table, look.digits) > look.width:
        return _blocks(table, look.digits)
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=Text(clean(table.title)),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    numeric = [table.is_number(c) for c in range(len(table.columns))]
    for name, is_number in zip(table.columns, numeric, strict=True):
        drawn.add_column(Text(clean(name)), justify="right" if is_number else "left", no_wrap=True)
    for r in range(len(table.rows)):
        if r in table.rules:
            drawn.add_section()
        style = ["bold" if (r, c) in table.best else "" for c in range(len(table.columns))]
        cells = zip(_cells(table, r, look.digits), style, strict=True)
        drawn.add_row(*(Text(cell, style=s) for cell, s in cells))
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=look.width,
        force_terminal=look.color,
        color_system="standard" if look.color else None,
    )
    console.print(drawn)
    return "\n".join(line.rstrip() for line in stream.getvalue().strip("\n").splitlines()) + "\n"


def _cells(table: Table, row: int, digits: int) -> list[str]:
    marked = {c for r, c in table.best if r == row}
    has_mark = {c for _, c in table.best}
    return [
        shown(value, signed=c in table.signed, digits=digits)
        + (BEST if c in marked else " " if c in has_mark else "")
        for c, value in enumerate(table.rows[row])
    ]


def _natural_width(table: Table, digits: int) -> int:
    widths = [len(clean(name)) for name in table.columns]
    for r in range(len(table.rows)):
        widths = [max(w, len(c)) for w, c in zip(widths, _cells(table, r, digits), strict=True)]
    return sum(widths) + 3 * len(widths)  # rich puts three blanks between columns


def _blocks(table: Table, digits: int) -> str:
    """Return one block a row: for narrow windows, where a table would be cut."""
    lines = [clean(table.title), ""]
    for r, row in enumerate(table.rows):
        lines.append(shown(row[0]))
        cells = _cells(table, r, digits)[1:]
        lines += [
            f"  {clean(name)}: {cell.strip()}"
            for name, cell in zip(table.columns[1:], cells, strict=True)
            if cell.strip() not in ("", "-")
        ]
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
