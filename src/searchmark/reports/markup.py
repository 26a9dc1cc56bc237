"""Tables as Markdown and CSV."""

import io
import re
from collections.abc import Iterable, Sequence

from searchmark.reports.table import Cell, Table, clean, shown, span_text

_SPECIAL = str.maketrans({c: "\\" + c for c in "\\`*_{}[]<>#|~&"})

_REFERENCE = re.compile(r"(?<![0-9A-Za-z_])@(?=[0-9A-Za-z])|#(?=[0-9])")
"""What would call a person or link an issue: @name, #12; the @ of nDCG@10 does neither."""


def markdown_table(table: Table, digits: int = 4) -> str:
    """Return a table as GitHub Markdown, the best of each column bold."""
    numeric = [table.is_number(c) for c in range(len(table.columns))]
    lines = [
        f"**{escaped(table.title)}**",
        "",
        _line(escaped(c) for c in table.columns),
        _line("---:" if n else "---" for n in numeric),
    ]
    for r, row in enumerate(table.rows):
        lines.append(_line(_cell(table, (r, c), value, digits) for c, value in enumerate(row)))
    return "\n".join(lines) + "\n"


def _cell(table: Table, at: tuple[int, int], value: Cell, digits: int) -> str:
    decimals = table.decimals.get(at[1], digits)
    text = escaped(shown(value, signed=at[1] in table.signed, digits=decimals))
    text = f"**{text}**" if at in table.best else text
    span = span_text(table, at, digits)
    return f"{text} {escaped(span)}" if span else text


def escaped(text: str) -> str:
    """Return text whose characters Markdown and HTML would read as markup stand for themselves."""
    plain = clean(text).strip().translate(_SPECIAL)
    return _REFERENCE.sub(r"\g<0>&#8203;", plain)  # a space without width; a backslash is no help


def html_table(table: Table, lines: Sequence[str] = (), digits: int = 4) -> str:
    """Return a table as HTML without scripts or styles from outside; every text is escaped."""
    from html import escape  # brings a list of all named characters

    numeric = ["right" if table.is_number(c) else "left" for c in range(len(table.columns))]
    head = "".join(f"<th>{escape(clean(c))}</th>" for c in table.columns)
    body = []
    for r, row in enumerate(table.rows):
        cells = []
        for c, value in enumerate(row):
            decimals = table.decimals.get(c, digits)
            text = escape(shown(value, signed=c in table.signed, digits=decimals))
            text = f"<b>{text}</b>" if (r, c) in table.best else text
            if span := span_text(table, (r, c), digits):
                text += f"<br><small>{span}</small>"
            cells.append(f'<td style="text-align:{numeric[c]}">{text}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    below = "".join(f"<br><small>{escape(clean(line))}</small>" for line in lines)
    return (
        f"<table><caption>{escape(clean(table.title))}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>{below}"
    )


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return rows as CSV (RFC 4180) in full precision.

    A text that a spreadsheet would run as a formula is given a leading apostrophe.
    """
    import csv

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_plain(value) for value in row] for row in rows)
    return stream.getvalue()


def _plain(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    text = str(value)
    is_formula = isinstance(value, str) and len(text) > 1 and text[0] in "=+-@\t\r"
    return "'" + text if is_formula else text
