"""An explanation as text: a table whose rows are indented as the reasons are nested, or JSON."""

from collections.abc import Iterator

import msgspec

from searchmark.reports.render import table_text
from searchmark.reports.table import PLAIN, Look, Table, shortened
from searchmark.systems.explanation import Explanation, Reason

BESIDE, LEAST = 16, 40
"""Columns that the value takes beside a reason, and what is left to the reason at least."""

LONGEST = 160
"""Characters shown where nothing else limits them: a vector search repeats its vector."""


def explanation_text(
    found: Explanation, system: str, query: str, form: str, look: Look = PLAIN
) -> str:
    """Return an explanation in one of the formats; JSON and CSV leave nothing out."""
    if form == "json":
        document = {"system": system, "query": query, **msgspec.to_builtins(found)}
        return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
    most = {"terminal": max(look.width - BESIDE, LEAST), "markdown": LONGEST}.get(form)
    rows = () if found.reason is None else tuple(_rows(found.reason, most))
    table = Table(_title(found, system, query), ("value", "reason"), rows)
    return table_text(table, form, look)


def _title(found: Explanation, system: str, query: str) -> str:
    place = f"rank {found.rank}" if found.rank is not None else f"not among the {found.depth} first"
    score = "" if found.score is None else f", score {found.score:g}"
    asked = shortened(" ".join(query.split()), LONGEST)
    title = f"{found.doc_id} for '{asked}' in {system}: {place}{score}"
    return f"{title}; {found.note}" if found.note else title


def _rows(reason: Reason, most: int | None, level: int = 0) -> Iterator[tuple[float | None, str]]:
    text = "  " * level + reason.description
    if most is not None:
        text = shortened("  " * level + " ".join(reason.description.split()), most)
    yield reason.value, text
    for part in reason.details:
        yield from _rows(part, most, level + 1)
