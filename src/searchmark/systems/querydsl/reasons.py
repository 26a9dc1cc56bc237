"""Explanations in the query DSL: of a hit among the results, or of any document by its id."""

from collections.abc import Mapping
from typing import Any

from searchmark.systems.explanation import Explanation, Reason

DEEPEST = 60
"""Levels of an explanation that are read."""


def reason(value: Any, level: int = 0) -> Reason | None:
    """Return an engine's explanation as a tree; None for what is none."""
    if not isinstance(value, Mapping) or level > DEEPEST:
        return None
    number, details = value.get("value"), value.get("details")
    parts = [reason(part, level + 1) for part in details] if isinstance(details, list) else []
    return Reason(
        _number(number),
        str(value.get("description", "")),
        tuple(part for part in parts if part is not None),
    )


def of_hit(doc_id: str, k: int, rank: int, score: float | None, hit: Any) -> Explanation:
    """Return the explanation of a document that is among the results."""
    found = reason(hit.get("_explanation")) if isinstance(hit, Mapping) else None
    note = "" if found is not None else "the engine gave no explanation with this hit"
    return Explanation(doc_id, k, rank, score, found, note)


def of_document(doc_id: str, k: int, document: Any) -> Explanation:
    """Return the explanation of a document that is not among the results."""
    if not isinstance(document, Mapping):
        return Explanation(doc_id, k, note="the engine gave no explanation")
    found = reason(document.get("explanation"))
    is_matched = document.get("matched") is True
    if is_matched:
        note = f"the document matches, and is not among the {k} first"
    elif found is None:
        note = "the engine does not match this document, or does not have it"
    else:
        note = "the document does not match the query"
    return Explanation(doc_id, k, None, found.value if found and is_matched else None, found, note)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number that no double can be
        return None
