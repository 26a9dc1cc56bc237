"""What each query asks of a search, told by its form: a name, a field, a prefix, a concept."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from searchmark.diagnosis.lexicon import Lexicon
from searchmark.diagnosis.words import is_common
from searchmark.errors import InputError, nearest
from searchmark.retrieval.analysis import tokenize
from searchmark.retrieval.stopwords import ENGLISH

if TYPE_CHECKING:
    from searchmark.data.corpus import Corpus
    from searchmark.data.queries import Queries

CAPABILITIES = ("exact", "structured", "combined", "autocomplete", "fuzzy", "semantic")

SHORT = 5
"""A query of fewer characters is a prefix."""

_FIELD = re.compile(
    r"""(?<![^\s(,])[-+!]?(?P<field>[^\W\d][\w.-]*):
    (?P<value>"[^"]*"|“[^”]*”|[\[{][^\]}]*[\]}]|\([^)]*\)|(?:[<>]=?|=)\s*[^\s)]+|[^\s)]+)""",
    re.VERBOSE,
)
# what stands before a colon in an address or a path, and is no field
_SCHEMES = frozenset(
    ("http", "https", "ftp", "sftp", "ssh", "git", "ws", "wss", "file", "localhost")
    + ("mailto", "tel", "sms", "data", "javascript", "about", "urn")
)
# Thai, Lao, Burmese, Khmer, kana, Han and Hangul: a letter is a syllable or word, often no blanks
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_CLOSED = re.compile(r"[.?!…\"”')\]]\s*$")
_LONGEST_WITH_NAME = 12


class Capability(NamedTuple):
    """What a query asks for, why we think so, and whether the query set says it itself."""

    name: str
    reason: str
    is_given: bool = False


class _Field(NamedTuple):
    """One `field:value` of a query: where it stands, and whether the corpus has the field."""

    written: str
    field: str
    span: tuple[int, int]
    is_column: bool


class _Query:
    """A query with its words and fields, beside what the corpus knows."""

    def __init__(self, text: str, lexicon: Lexicon) -> None:
        self.text = unicodedata.normalize("NFKC", text)
        self.lexicon = lexicon
        self.words = tokenize(text)

    @cached_property
    def fields(self) -> list[_Field]:
        """Every `field:value` in the text."""
        found = []
        columns = {c.lower() for c in self.lexicon.fields}
        for match in _FIELD.finditer(self.text):
            is_column = match["field"].lower() in columns
            if _has_value(match["value"]) and (is_column or _is_field(match, self.lexicon)):
                written = match[0].lstrip("-+!")
                found.append(_Field(written, match["field"], match.span(), is_column))
        return found

    @cached_property
    def unknown(self) -> list[str]:
        """The words that neither the corpus nor English is known to have, each once."""
        words = (w for w in self.words if not any(c.isdigit() for c in w))
        return [w for w in dict.fromkeys(words) if not (self.lexicon.knows(w) or is_common(w))]


def capability_of(text: str, lexicon: Lexicon) -> Capability:
    """Return what a query asks for, going by its form.

    Parameters
    ----------
    text
        The query; any text.
    lexicon
        What the corpus knows.

    Returns
    -------
    The first of these that holds: `structured` or `combined` (a `field:value` of a corpus field),
    `exact` (the text is a name), `structured` or `combined` (of another field), `autocomplete` (a
    prefix), `exact` (a rare name and at most as many other words), `fuzzy` (a misspelling), and
    `semantic` for all else.

    Notes
    -----
    `docs/capabilities.md` says how each is told, and how often that is right.
    """
    query = _Query(text, lexicon)
    for form in _FORMS:
        found = form(query)
        if found is not None:
            return found
    return Capability("semantic", _why_semantic(query))


def capabilities_of(
    queries: "Queries", corpus: "Corpus", names: Sequence[str] = ()
) -> dict[str, Capability]:
    """Return what each query asks for: what the query set says, otherwise what its form says.

    Parameters
    ----------
    queries
        The query set; its column `capability` wins where it holds anything.
    corpus
        The documents.
    names
        Fields that hold a title or name, as in `Lexicon.of`.

    Returns
    -------
    Query id -> capability, in the order of the query set.

    Raises
    ------
    InputError
        The query set gives a capability that is not known.
    """
    lexicon = Lexicon.of(corpus, names)
    columns = queries.frame.columns
    given = queries.frame["capability"] if "capability" in columns else [None] * len(queries)
    found = {}
    for query_id, text, said in zip(queries.query_ids, queries.texts, given, strict=True):
        name = (said or "").strip().lower()
        if name and name not in CAPABILITIES:
            raise InputError(
                f"the query '{query_id}' has the unknown capability '{said}'",
                path=queries.path,
                fix=nearest(name, CAPABILITIES),
            )
        found[query_id] = (
            Capability(name, "the query set says so", is_given=True)
            if name
            else capability_of(text, lexicon)
        )
    return found


def _column_form(query: _Query) -> Capability | None:
    return _of_fields(query) if any(f.is_column for f in query.fields) else None


def _name_form(query: _Query) -> Capability | None:
    named = query.lexicon.named(query.text)
    return named and Capability("exact", f"is the {_called(named.field)} of {named.doc_id}")


def _field_form(query: _Query) -> Capability | None:
    return _of_fields(query) if query.fields else None


def _of_fields(query: _Query) -> Capability:
    fields = query.fields
    known = [f for f in fields if f.is_column]
    if known:
        shown = ", ".join(f.written for f in known)
        reason = f"{shown} asks for a field of the corpus"
    else:
        shown, field = fields[0].written, fields[0].field
        reason = f"{shown} has the form field:value, though the corpus has no field '{field}'"
    rest = _without(query.text, [f.span for f in fields])
    if all(word in ENGLISH for word in tokenize(rest)):  # AND, OR, NOT, "on", "with"
        return Capability("structured", reason)
    return Capability("combined", f'{reason}, beside the words "{rest}"')


def _prefix_form(query: _Query) -> Capability | None:
    letters = " ".join(query.words)
    if not letters or _UNSPACED.search(letters):
        return None
    if len(letters) < SHORT:
        return Capability("autocomplete", f'"{letters}" is under {SHORT} characters')
    last = query.words[-1]
    if last in _unfinished(query):
        n = len(query.lexicon.completions(last))
        if n:
            begin = "1 word begins" if n == 1 else f"{n} words begin"
            return Capability("autocomplete", f'no document has "{last}", but {begin} with it')
        begun = query.lexicon.begun_name(query.text)
        if begun:
            return Capability(
                "autocomplete", f"begins the {_called(begun.field)} of {begun.doc_id}"
            )
    return None


def _unfinished(query: _Query) -> list[str]:
    """Return the last word where it may be one cut short, otherwise nothing."""
    last = query.words[-1]
    if _CLOSED.search(query.text) or last.isdecimal():
        return []
    has_digit = any(c.isdigit() for c in last)
    if has_digit and not query.lexicon.document_frequency(last):
        return [last]
    return [last] if last in query.unknown else []


def _inner_name_form(query: _Query) -> Capability | None:
    """Tell "the Ledgerleaf service": a rare name, and no more words of content beside it."""
    words = query.words
    if not 1 < len(words) <= _LONGEST_WITH_NAME:
        return None
    content = sum(w not in ENGLISH for w in words)
    for size in range(len(words) - 1, 0, -1):
        for first in range(len(words) - size + 1):
            part = words[first : first + size]
            named = query.lexicon.named(" ".join(part))
            own = sum(w not in ENGLISH for w in part)
            if named and 2 * own >= content and _is_rare(part, query.lexicon):
                called = f"the {_called(named.field)} of {named.doc_id}"
                return Capability("exact", f'"{" ".join(part)}" in it is {called}')
    return None


def _is_rare(part: Sequence[str], lexicon: Lexicon) -> bool:
    """Tell whether some word of a name is hardly used elsewhere: in 3 documents, or 1 in 100."""
    most = max(3, len(lexicon) // 100)
    return any(0 < lexicon.document_frequency(w) <= most and not is_common(w) for w in part)


def _misspelt_form(query: _Query) -> Capability | None:
    lexicon = query.lexicon
    unknown = [w for w in query.unknown if w.isalpha() and not _UNSPACED.search(w)]
    meant = [(w, near) for w in unknown if (near := lexicon.nearest(w)) and _is_slip(w, near)]
    if not meant or 2 * len(meant) < len(unknown):  # most words are strange: another language
        return None
    word, near = max(meant, key=lambda pair: lexicon.document_frequency(pair[1]))
    n = lexicon.document_frequency(near)
    documents = "1 document" if n == 1 else f"{n:,} documents"
    return Capability("fuzzy", f'"{word}" looks like "{near}" (in {documents})')


def _is_slip(word: str, near: str) -> bool:
    """Tell whether typing `near` may give `word`: the first letter is hardly ever the wrong one.

    Another letter in a word of four makes another word.
    """
    is_swapped_start = word[:2] == near[1::-1]
    is_replaced = len(word) == len(near) and sorted(word) != sorted(near)
    return (word[0] == near[0] or is_swapped_start) and not (len(word) == 4 and is_replaced)


def _why_semantic(query: _Query) -> str:
    if not query.words:
        return "has no letters or digits"
    if _UNSPACED.search(query.text):
        return (
            "is written without blanks between words, so that neither is a prefix told nor a slip"
        )
    if query.unknown:
        words = ", ".join(f'"{w}"' for w in query.unknown[:3])
        more = f" and {n - 3} more" if (n := len(query.unknown)) > 3 else ""
        return f"no name, field, prefix or misspelling; the corpus does not know {words}{more}"
    return "no name, field, prefix or misspelling"


def _is_field(match: re.Match[str], lexicon: Lexicon) -> bool:
    """Tell whether what stands before a colon reads as a field, though the corpus has none such."""
    field, value = match["field"], match["value"]
    if not field.isascii() or len(field) < 2 or field.lower() in _SCHEMES:
        return False
    if value.startswith((":", "//", "\\")) or ("." in field and value.isdecimal()):
        return False
    return not lexicon.writes(f"{field}:{value}".rstrip(".,;?!"))


def _has_value(value: str) -> bool:
    return not value.startswith("//") and ("*" in value or bool(tokenize(value)))


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for first, last in reversed(spans):
        text = f"{text[:first]} {text[last:]}"
    return " ".join(text.split())


def _called(field: str) -> str:
    return "id" if field == "doc_id" else field


_FORMS: tuple[Callable[[_Query], Capability | None], ...] = (
    _column_form,
    _name_form,
    _field_form,
    _prefix_form,
    _inner_name_form,
    _misspelt_form,
)
