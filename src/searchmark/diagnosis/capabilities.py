"""What each query asks of a search, told by its form: a name, a field, a prefix, a concept."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from searchmark.diagnosis.fields import FieldValue, field_values, without
from searchmark.diagnosis.lexicon import Lexicon
from searchmark.diagnosis.slips import is_slip
from searchmark.diagnosis.words import is_common
from searchmark.errors import InputError, nearest, quoted
from searchmark.retrieval.analysis import fold, tokenize
from searchmark.retrieval.stopwords import ENGLISH

if TYPE_CHECKING:
    from searchmark.data.queries import Queries

CAPABILITIES = ("exact", "structured", "combined", "autocomplete", "fuzzy", "semantic")

SHORT = 5
"""A query of fewer characters is a prefix."""

# Thai, Lao, Burmese, Khmer, kana, Han and Hangul: a letter is a syllable or word, often no blanks
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_LONGEST_WITH_NAME = 12


class Capability(NamedTuple):
    """What a query asks for, why we think so, and whether the query set says it itself."""

    name: str
    reason: str
    is_given: bool = False


class _Query:
    """A query with its words and fields, beside what the corpus knows."""

    def __init__(self, text: str, lexicon: Lexicon) -> None:
        self.text = unicodedata.normalize("NFKC", text)
        self.lexicon = lexicon
        self.words = tokenize(text)

    @cached_property
    def fields(self) -> list[FieldValue]:
        """Every `field:value` in the text, in order."""
        return field_values(self.text, self.lexicon)

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
    prefix), `exact` (the beginning of one name only, or a rare name and at most as many other
    words), `fuzzy` (a misspelling), and
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


def capabilities_of(queries: "Queries", lexicon: Lexicon) -> dict[str, Capability]:
    """Return what each query asks for: what the query set says, otherwise what its form says.

    Parameters
    ----------
    queries
        The query set; its column `capability` wins where it holds anything.
    lexicon
        What the corpus knows of words and names.

    Returns
    -------
    Query id -> capability, in the order of the query set.

    Raises
    ------
    InputError
        The query set gives a capability that is not known.
    """
    columns = queries.frame.columns
    given = queries.frame["capability"] if "capability" in columns else [None] * len(queries)
    found = {}
    for query_id, text, said in zip(queries.query_ids, queries.texts, given, strict=True):
        name = (said or "").strip().lower()
        if name and name not in CAPABILITIES:
            raise InputError(
                f"the query {quoted(query_id)} has the unknown capability {quoted(said)}",
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
    reason = _why_field(query.fields)
    rest = without(query.text, [f.span for f in query.fields])
    if all(word in ENGLISH for word in tokenize(rest)):  # AND, OR, NOT, "on", "with"
        return Capability("structured", reason)
    return Capability("combined", f'{reason}, beside the words "{rest}"')


def _why_field(fields: Sequence[FieldValue]) -> str:
    known = [f.written for f in fields if f.is_column]
    if known:
        asks = "asks for a field" if len(known) == 1 else "ask for fields"
        return f"{', '.join(known)} {asks} of the corpus"
    first = fields[0]
    if first.holder:
        return f"{first.written} is a value of the field '{first.holder}'"
    return (
        f"{first.written} has the form field:value, though the corpus has no field '{first.field}'"
    )


def _prefix_form(query: _Query) -> Capability | None:
    letters = " ".join(query.words)
    if not letters or _UNSPACED.search(letters):
        return None
    if len(letters) < SHORT:
        return Capability("autocomplete", f'"{letters}" is under {SHORT} characters')
    last = query.words[-1]
    if not fold(query.text).rstrip().endswith(last):  # a full stop, C++: nothing goes on here
        return None
    n = len(query.lexicon.completions(last)) if _may_go_on(last, query) else 0
    if n:
        begin = "1 word begins" if n == 1 else f"{n:,} words begin"
        return Capability("autocomplete", f'no document has "{last}", but {begin} with it')
    begun = query.lexicon.begun_name(query.text)
    if begun and (last in query.unknown or _is_code(query.text)):
        return Capability("autocomplete", f"begins the {_called(begun.field)} of {begun.doc_id}")
    return None


def _may_go_on(last: str, query: _Query) -> bool:
    """Tell whether the last word may be cut short: nobody knows it, and it is no number."""
    if any(c.isdigit() for c in last):
        is_long = len(last) > 2 and not last.isdecimal()  # "4k" is whole
        return is_long and not query.lexicon.document_frequency(last)
    return last in query.unknown


def _is_code(text: str) -> bool:
    """Tell whether a text reads as a model number: letters and digits without a blank."""
    kinds = {("digit" if c.isdigit() else "letter") for c in text.strip() if c.isalnum()}
    return len(kinds) == 2 and len(text.split()) == 1


def _begun_name_form(query: _Query) -> Capability | None:
    """Tell "kestrel ridge" where only one name goes on like that: "Kestrel Ridge Tent"."""
    if len(query.words) < 2 or not _is_rare(query.words, query.lexicon):
        return None
    begun = query.lexicon.begun_name(query.text, alone=True)
    return begun and Capability(
        "exact", f"only the {_called(begun.field)} of {begun.doc_id} begins so"
    )


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
    meant = [(w, near) for w in unknown if (near := _meant(w, lexicon))]
    if not meant or 2 * len(meant) < len(unknown):  # most words are strange: another language
        return None
    word, near = max(meant, key=lambda pair: lexicon.number_with(pair[1]))
    n = lexicon.number_with(near)
    documents = "1 document" if n == 1 else f"{n:,} documents"
    return Capability("fuzzy", f'"{word}" looks like "{near}" (in {documents})')


def _meant(word: str, lexicon: Lexicon) -> str | None:
    """Return the word that was meant; where the likeliest is none, a less likely one is neither."""
    near = lexicon.nearest(word)
    return near if near and is_slip(word, near) else None


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
        return f"free text, no name, prefix or misspelling; the corpus does not know {words}{more}"
    return "free text, no name, prefix or misspelling"


def _called(field: str) -> str:
    return "id" if field == "doc_id" else field


_FORMS: tuple[Callable[[_Query], Capability | None], ...] = (
    _column_form,
    _name_form,
    _field_form,
    _prefix_form,
    _begun_name_form,
    _inner_name_form,
    _misspelt_form,
)
