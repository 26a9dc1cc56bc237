"""What the record of a call may hold: one rule for what systems say and for what files say."""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from searchmark.errors import LONGEST_ID
from searchmark.systems.secrets import Secrets

if TYPE_CHECKING:
    from searchmark.experiments.journal import Call

ANSWERS = ("ok", "empty", "missing")
FAILURES = ("error", "timeout", "unasked")

MOST = 2**63 - 1
"""The greatest whole number that tables hold."""

MOST_ATTEMPTS = 1_000_000
"""More attempts than there is time for while a system refuses calls."""


def flaw(call: "Call") -> str | None:
    """Return what is wrong with a call; None where all of it can be counted on."""
    if not call.query_id or not _is_text(call.query_id):
        return "its query has no id"
    return (
        _ranking_flaw(call)
        or numbers_flaw(call)
        or ranks_flaw(call.doc_ids, call.scores, call.tokens or [None] * len(call.doc_ids))
    )


def _ranking_flaw(call: "Call") -> str | None:
    n = len(call.doc_ids)
    if call.status not in ANSWERS + FAILURES:
        return f"no call ends as '{call.status}'"
    if (call.status == "ok") != (n > 0):
        return f"{n} documents do not go with '{call.status}'"
    if len(call.scores) != n:
        return f"it has {len(call.scores)} scores for {n} documents"
    if call.tokens and len(call.tokens) != n:
        return f"it has tokens of {len(call.tokens)} documents, and there are {n}"
    return None


def numbers_flaw(call: "Call") -> str | None:
    """Return what is wrong with the numbers of the call itself; None for nothing."""
    if not (isfinite(call.latency_ms) and call.latency_ms >= 0):
        return f"its latency is {call.latency_ms} ms"
    if not (1 if call.status in ANSWERS else 0) <= call.attempts <= MOST_ATTEMPTS:
        return f"it took {shown(call.attempts)} attempts"
    for name, count in (("total", call.total), ("size", call.size)):
        if count is not None and not 0 <= count <= MOST:
            return f"its {name} is {shown(count)}, which is no count"
    if not 1 <= call.batch <= MOST:
        return f"its batch has {shown(call.batch)} queries"
    return None


def ranks_flaw(
    doc_ids: Sequence[object],
    scores: Sequence[object],
    tokens: Sequence[object],
    secrets: Secrets | None = None,
) -> str | None:
    """Return what is wrong with the first document that cannot be kept or compared."""
    for doc_id, score, n_tokens in zip(doc_ids, scores, tokens, strict=True):
        if not isinstance(doc_id, str) or not doc_id:
            return f"a document id is {shown(doc_id, secrets)}, not a text"
        if not _is_text(doc_id):
            return f"a document id is {shown(doc_id, secrets)}, which UTF-8 cannot hold"
        if score is not None and not _is_finite(score):
            return (
                f"the score of document {shown(doc_id, secrets)} is {shown(score, secrets)}; give "
                "a finite number, or None where there is no score"
            )
        if n_tokens is not None and not (_is_finite(n_tokens) and n_tokens >= 0):  # type: ignore[operator]
            return f"document {shown(doc_id, secrets)} has {shown(n_tokens, secrets)} tokens"
    return None


def shown(value: object, secrets: Secrets | None = None) -> str:
    """Return a value for a message: a text in quotes, a number as it is.

    An id may be anything that a system or a file gives. So it is shown on one line, what a terminal
    would obey written out, without secrets (those of the environment where no others are known),
    and cut where it is long.
    """
    try:
        text = str.__str__(value) if isinstance(value, str) else str(value)
    except Exception:  # a number of more digits than Python writes, or a broken __repr__
        return f"a {type(value).__name__} that cannot be shown"
    told = (secrets or Secrets()).excerpt(text, LONGEST_ID)
    return f"'{told}'" if isinstance(value, str) else told


def _is_finite(value: object) -> bool:
    try:
        return isfinite(value)  # type: ignore[arg-type]  # whatever has a __float__ will do
    except (TypeError, ValueError, OverflowError):
        return False


def _is_text(text: str) -> bool:
    return text.isascii() or storable(text) == text


def storable(text: str) -> str:
    """Return text that can be written as UTF-8: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
