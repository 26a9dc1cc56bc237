"""Stand-in queries, made from the documents by rule: for a first look while real ones are missing.

They use the documents' own words, so they flatter keyword search; real queries should replace them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from math import log
from random import Random
from typing import NamedTuple

from searchmark.retrieval.analysis import tokenize
from searchmark.retrieval.stopwords import ENGLISH

LONGEST = 10
"""Words at most of a name that is asked as a query."""

PHRASE = 5
"""Words of a phrase."""

_LOOKED_AT = 5_000
"""Characters of a text that are read."""


class Source(NamedTuple):
    """A document that queries can be made from."""

    doc_id: str
    name: str
    text: str


class StandIn(NamedTuple):
    """A query that was made: its text, its kind, the document it was made from."""

    text: str
    kind: str
    doc_id: str


Words = Mapping[str, int]
"""Word -> number of documents that hold it."""


def stand_ins(sources: Sequence[Source], n: int, *, seed: int) -> list[StandIn]:
    """Return `n` queries, or as many different ones as the documents give.

    Kinds take turns: a name (exact), a name with a slip of the hand (fuzzy), the beginning of a
    name (autocomplete), a telling phrase of the text (semantic). Each document gives one query
    before any gives a second. The same documents, number and seed give the same queries.
    """
    rng = Random(seed)
    order = sorted(sources)
    rng.shuffle(order)
    words = _frequencies(order)
    return [*islice(_different(_all(order, words, rng)), n)]


def _all(order: Sequence[Source], words: Words, rng: Random) -> Iterator[StandIn]:
    """Yield a query of each document, then a second one of another kind, and so on."""
    kinds = [*MAKERS]
    for turn in range(len(kinds)):
        for place, source in enumerate(order):
            kind = kinds[(place + turn) % len(kinds)]
            if text := MAKERS[kind](source, words, rng):
                yield StandIn(text, kind, source.doc_id)


def _different(queries: Iterator[StandIn]) -> Iterator[StandIn]:
    seen: set[str] = set()
    for query in queries:
        if query.text.casefold() not in seen:
            seen.add(query.text.casefold())
            yield query


def _frequencies(sources: Sequence[Source]) -> Words:
    counts: Counter[str] = Counter()
    for source in sources:
        counts.update({*tokenize(source.name), *tokenize(source.text[:_LOOKED_AT])})
    return counts


def _exact(source: Source, words: Words, rng: Random) -> str:
    """Return the name, cut where it is longer than anybody types."""
    return " ".join(source.name.split()[:LONGEST])


def _fuzzy(source: Source, words: Words, rng: Random) -> str:
    """Return the name with two neighbouring letters of its longest word exchanged.

    The slip must give a word that the documents do not hold; where no pair of letters does, or no
    word has five letters, there is no such query.
    """
    name = source.name.casefold().split()[:LONGEST]
    long = [w for w in name if len(w) >= 5 and w.isalpha()]
    if not long:
        return ""
    word = max(long, key=len)
    places = [*range(1, len(word) - 2)]
    rng.shuffle(places)
    for at in places:
        slip = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        if slip != word and slip not in words:
            return " ".join(slip if w == word else w for w in name)
    return ""


def _begun(source: Source, words: Words, rng: Random) -> str:
    """Return the name up to the middle of its second word, or the first letters of its only one."""
    name = source.name.casefold().split()
    if not name or len(name[0]) < 3:
        return ""
    if len(name) > 1 and len(name[1]) >= 4:
        return f"{name[0]} {name[1][: len(name[1]) // 2 + 1]}"
    return name[0][:4] if len(name[0]) > 4 else ""


def _phrase(source: Source, words: Words, rng: Random) -> str:
    """Return the run of words that is rarest in the documents, without common words at its ends.

    A word weighs log(n / n_with) of the documents; words of the name weigh nothing, so that the
    phrase says something else.
    """
    text = tokenize(source.text[:_LOOKED_AT])
    if len(text) < PHRASE:
        return ""
    most = max(words.values(), default=1)
    named = {*tokenize(source.name)}
    weights = [_weight(w, words, most) if w not in named else 0.0 for w in text]
    sums = [sum(weights[at : at + PHRASE]) for at in range(len(text) - PHRASE + 1)]
    at = sums.index(max(sums))  # of equal ones the first
    found = text[at : at + PHRASE]
    while found and found[0] in ENGLISH:
        del found[0]
    while found and found[-1] in ENGLISH:
        del found[-1]
    return " ".join(found) if len(found) > 1 else ""


def _weight(word: str, words: Words, most: int) -> float:
    if word in ENGLISH or not word.isalpha():
        return 0.0
    return log((most + 1) / words.get(word, 1))


MAKERS: Mapping[str, Callable[[Source, Words, Random], str]] = {
    "exact": _exact,
    "fuzzy": _fuzzy,
    "autocomplete": _begun,
    "semantic": _phrase,
}
"""Kind of query -> what makes one of a document; an empty text where that cannot be done."""
