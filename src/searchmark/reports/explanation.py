"""An explanation as text: a table whose rows are indented as the reasons are nested, or JSON."""

from collections.abc import Iterator

import msgspec

from searchmark.reports.render import table_text
from searchmark.reports.table import PLAIN, Look, Table
from searchmark.systems.explanation import Explanation, Reason

LONGEST = 160
"""Characters of a description that people are shown: a vector search repeats its vector there."""


def explanation_text(
    found: Explanation, system: str, query: str, form: str, look: Look = PLAIN
) -> str:
    """Return an explanation in one of the formats; JSON and CSV leave nothing out."""
    if form == "json":
        document = {"system": system, "query": query, **msgspec.to_builtins(found)}
        return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
    is_cut = form != "csv"
    rows = tuple(_rows(found.reason, is_cut)) if found.reason is not None else ()
    table = Table(_title(found, system, query), ("value", "reason"), rows)
    return table_text(table, form, look)


def _title(found: Explanation, system: str, query: str) -> str:
    place = f"rank {found.rank}" if found.rank is not None else f"not among the {found.depth} first"
    score = "" if found.score is None else f", score {found.score:g}"
    title = f"{found.doc_id} for '{_cut(query)}' in {system}: {place}{score}"
    return f"{title}; {found.note}" if found.note else title


def _rows(reason: Reason, is_cut: bool, level: int = 0) -> Iterator[tuple[float | None, str]]:
    text = _cut(reason.description) if is_cut else reason.description
    yield reason.value, "  " * level + text
    for part in reason.details:
        yield from _rows(part, is_cut, level + 1)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
