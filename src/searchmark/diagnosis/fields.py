"""Every `field:value` in a query, told from addresses, times of day and notes with a colon."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from searchmark.diagnosis.lexicon import Lexicon
from searchmark.retrieval.analysis import tokenize

_NAME = r"(?<![^\s(,])[-+!]?(?P<field>[^\W\d][\w.-]*):"
_MARKED = r"""\"[^\"]*\"|“[^”]*”|[\[{][^\]}]*[\]}]|(?:[<>]=?|=)\s*[^\s)]+"""
_FIELD = re.compile(rf"{_NAME}(?P<value>{_MARKED}|\([^)]*\)|[^\s)]+)")
_SPACED_FIELD = re.compile(rf"{_NAME}\s+(?P<value>{_MARKED}|[^\s:]+\s*$)")
"""A blank after the colon: only for fields of the corpus, before a value that is marked as one or
that is the last word; "note: how do I ..." is no field."""

_ADDRESSES = """
    about data file ftp git http https javascript localhost mailto sftp sms ssh tel urn ws wss
"""
_SCHEMES = frozenset(_ADDRESSES.split())
_STOPS = ".,;?!"


class FieldValue(NamedTuple):
    """One `field:value` of a query: where it stands, and whether the corpus has the field."""

    written: str
    field: str
    span: tuple[int, int]
    is_column: bool
    holder: str | None = None  # the corpus field that has the whole as a value


def field_values(text: str, lexicon: Lexicon) -> list[FieldValue]:
    """Return every `field:value` in a text in Unicode's compatibility form, in order."""
    columns = {c.lower() for c in lexicon.fields}
    found = [
        _found(match, lexicon, is_column=is_column)
        for pattern in (_FIELD, _SPACED_FIELD)
        for match in pattern.finditer(text)
        if _has_value(match["value"])
        and ((is_column := match["field"].lower() in columns) or pattern is _FIELD)
        and (is_column or _is_field(match, lexicon))
    ]
    return sorted(found, key=lambda f: f.span)


def without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text without the stretches from first to last, which are in order."""
    for first, last in reversed(spans):
        text = f"{text[:first]} {text[last:]}"
    return " ".join(text.split())


def _found(match: re.Match[str], lexicon: Lexicon, *, is_column: bool) -> FieldValue:
    written = match[0].strip().lstrip("-+!").rstrip(_STOPS)
    holder = None if is_column else lexicon.field_of(written)
    return FieldValue(written, match["field"], match.span(), is_column, holder)


def _is_field(match: re.Match[str], lexicon: Lexicon) -> bool:
    """Tell whether what stands before a colon reads as a field, though the corpus has none such."""
    field, value = match["field"], match["value"]
    if not field.isascii() or len(field) < 2 or field.lower() in _SCHEMES:
        return False
    if value.startswith((":", "//", "\\")) or ("." in field and value.isdecimal()):
        return False
    written = f"{field}:{value}".rstrip(_STOPS)
    return lexicon.field_of(written) is not None or not lexicon.writes(written)


def _has_value(value: str) -> bool:
    return not value.startswith("//") and ("*" in value or bool(tokenize(value)))
