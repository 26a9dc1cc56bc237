"""What a person sees while judging: the rubric, the query, the document."""

import re
from collections.abc import Collection, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from searchmark.reports.table import Look, clean, shown
from searchmark.reports.terminal import paragraph
from searchmark.retrieval.analysis import analyze

if TYPE_CHECKING:
    from searchmark.diagnosis.documents import Documents

GRADES = {3: "perfect", 2: "relevant", 1: "marginal", 0: "irrelevant"}

QUESTIONS = (
    "Intent: is it what the query is after?",
    "Content: does it answer, fully and rightly?",
    "Click: would a user click it, and be glad?",
)

RUBRIC = (
    "Ask three questions of each document.",
    "1. Intent: is this what somebody who typed the query is after? Think of the need, not of the "
    "words: a document may hold every word and miss the point.",
    "2. Content: does the document answer it, fully and rightly, so that nothing else is needed?",
    "3. Click: shown this among other results, would a user click it, and be glad?",
    "3 perfect: three times yes; what one hopes to see first.",
    "2 relevant: right intent and useful, though something is missing or better ones may exist.",
    "1 marginal: touches the need; a user might click it for want of better.",
    "0 irrelevant: wrong intent, or nothing useful, whatever words it shares with the query.",
    "Judge each document for itself: the order on screen is shuffled, and no system is named. "
    "Words of the query stand between *stars*.",
)

KEYS = "3 perfect  2 relevant  1 marginal  0 irrelevant"

MORE_KEYS = "u undo  s skip  n next query  q leave  ? rubric"

_LONGEST = 20_000
"""Characters of a field that are shown at most."""

_ON, _OFF = "\x02", "\x03"
"""Stand for the marks while lines are broken; `clean` lets no text of a document hold them."""

_WORD = re.compile(r"\w+")


class Page(NamedTuple):
    """How far a person is: the query and the document to judge, all numbers from 1."""

    text: str
    query: int
    n_queries: int
    document: int
    n_documents: int


def head_lines(page: Page, look: Look) -> list[str]:
    """Return what stands above a document: how far one is, and the query."""
    where = (
        f"query {page.query} of {page.n_queries}, document {page.document} of {page.n_documents}"
    )
    rule = "\u2500" * min(_width(look), len(where))
    return [rule, where, *wrap(f"Query: {_one_line(page.text)}", _width(look))]


def rubric_lines(look: Look) -> list[str]:
    """Return the rubric whole."""
    return [line for text in RUBRIC for line in _broken(text, look, "   ")]


def question_lines(look: Look) -> list[str]:
    """Return what stays on screen at each document: the three questions and the keys."""
    lines = (*QUESTIONS, KEYS, MORE_KEYS)
    return [line for text in lines for line in _broken(text, look, "  ")]


def document_lines(documents: "Documents", doc_id: str, query: str, look: Look) -> list[str]:
    """Return a document as lines: name and id, then each field that holds anything.

    Words of the query, in any inflection, stand between stars; with colour they are bold as well.
    """
    terms = frozenset(analyze(query))
    title = documents.title(doc_id)
    lines = _field(f"Document: {_marked(title, terms)} ({_one_line(doc_id)})", look)
    for name, text in _fields(documents, doc_id):
        if text.strip() != title:
            lines += _field(f"{_one_line(name)}: {_marked(text, terms)}", look)
    return lines


def _fields(documents: "Documents", doc_id: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of the fields that hold anything, short ones first."""
    names = [c for c in documents.corpus.frame.columns if c != "doc_id"]
    found = [(name, documents.text(doc_id, name)) for name in names]
    filled = [(name, text) for name, text in found if text.strip()]
    return iter(sorted(filled, key=lambda f: len(f[1]) > 200))


def _marked(text: str, terms: Collection[str]) -> str:
    """Return clean text with the query's words marked; cut where it is too long to be read."""
    cut = _one_line(text[:_LONGEST])
    found = _WORD.sub(lambda m: _mark(m[0], terms), cut)
    more = len(text) - _LONGEST
    return f"{found} (and {more:,} characters more)" if more > 0 else found


def _mark(word: str, terms: Collection[str]) -> str:
    is_asked = any(term in terms for term in analyze(word))
    return f"{_ON}{word}{_OFF}" if is_asked else word


def _one_line(text: str) -> str:
    """Return text that moves no cursor, its lines joined."""
    return clean(" ".join(text.split()))


def _field(text: str, look: Look) -> list[str]:
    lines = wrap(text, _width(look), subsequent_indent="  ", break_on_hyphens=False)
    on, off = ("\x1b[1m*", "*\x1b[0m") if look.color else ("*", "*")
    return [line.replace(_ON, on).replace(_OFF, off) for line in lines]


def _broken(text: str, look: Look, indent: str) -> Sequence[str]:
    return paragraph(text, width=_width(look), indent=indent).split("\n")


def _width(look: Look) -> int:
    return max(look.width - 1, 20)


def field_lines(documents: "Documents", names: Sequence[str], look: Look) -> list[str]:
    """Return what a corpus holds: how many documents, and each field with an example."""
    frame = documents.corpus.frame
    lines = [f"{len(frame):,} documents; their fields, with the first value of each:"]
    for column in (c for c in frame.columns if c != "doc_id"):
        filled = frame.height - frame[column].null_count()
        if filled:
            first = next((t for t in documents.corpus.texts(column) if t.strip()), "")
            name = f"{column} (name)" if column in names else column
            text = f"  {_one_line(name)}, in {filled:,}: {shown(_one_line(first))}"
            lines.append(text if len(text) <= _width(look) else text[: _width(look) - 1] + "\u2026")
    return lines
