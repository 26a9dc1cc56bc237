"""A keyword-stuffed or near-duplicate document outranks the genuine one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import log2
from typing import NamedTuple

from searchmark.diagnosis.evidence import Evidence, Placed, QueryEvidence, Ranking
from searchmark.diagnosis.finding import Finding, Number
from searchmark.diagnosis.wording import counted, listed
from searchmark.retrieval.analysis import analyze

REPEATS = 3
"""A field is stuffed where a word of the query stands in it so often,"""

CROWDED = 0.3
"""where the words of the query are this share of it, and the genuine document has half as many."""


class Likeness(NamedTuple):
    """Why a document counts as a copy: what it has in common, and the word that it repeats.

    `word` is "" where no word is repeated; `n` is how often `field` has it, `n_genuine` how often
    any field of the genuine document does.
    """

    share: float
    field: str = ""
    word: str = ""
    n: int = 0
    n_genuine: int = 0


class Pair(NamedTuple):
    """A document with a lower grade, and the genuine one that stands below it."""

    doc_id: str
    genuine: str


def stuffed_above_genuine(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find documents that pose as one of the best grade and stand above it within k.

    Parameters
    ----------
    query
        One query that has an answer.
    setup
        The documents, and ``limits.stuffed``.

    Yields
    ------
    Finding
        At most one, MEDIUM, naming all systems. `repaired` is nDCG@k with such documents moved
        below the genuine one.

    Notes
    -----
    A document poses as another one where the terms they have in common are at least the share
    ``limits.stuffed``. Half of that is enough where it has every word of the query that the other
    one has and a field of it is stuffed: one of these words occurs there 3 times or more and at
    least twice as often as in any field of the genuine one, and the query's words are 30% of the
    field or more.
    """
    if not query.has_answer or query.best_grade <= 0:
        return
    known: dict[Pair, Likeness | None] = {}
    found: dict[str, list[Pair]] = {}
    for ranking in query.rankings:
        for pair in _above(ranking, query):
            if pair not in known:
                known[pair] = _likeness(pair, query, setup)
            if known[pair] is not None:
                found.setdefault(ranking.name, []).append(pair)
    if found:
        yield _finding(query, setup, found, {p: like for p, like in known.items() if like})


def _above(ranking: Ranking, query: QueryEvidence) -> Iterator[Pair]:
    """Yield the documents with a lower grade above each one of the best grade.

    What breaks a hard filter is left out: it stands there for want of the filter.
    """
    lower: list[str] = []
    for placed in ranking.within(query.k):
        if placed.grade == query.best_grade:
            yield from (Pair(doc_id, placed.doc_id) for doc_id in lower)
        elif placed.grade is not None and placed.rank not in ranking.broken_filters:
            lower.append(placed.doc_id)


def _likeness(pair: Pair, query: QueryEvidence, setup: Evidence) -> Likeness | None:
    documents = setup.documents
    if pair.doc_id not in documents or pair.genuine not in documents:
        return None
    share, limit = documents.likeness(*pair), setup.limits.stuffed
    if share < limit / 2:
        return None
    if stuffed := _stuffing(pair, query, setup):
        return stuffed._replace(share=share)
    return Likeness(share) if share >= limit else None


def _stuffing(pair: Pair, query: QueryEvidence, setup: Evidence) -> Likeness | None:
    asked = frozenset(analyze(query.text))
    wanted = asked & setup.documents.all_terms(pair.genuine)
    if not wanted or not wanted <= setup.documents.all_terms(pair.doc_id):
        return None
    stuffed = ((f, c) for f, c in _counts(pair.doc_id, setup).items() if _is_stuffed(c, wanted))
    best = max(((c[t], t, f) for f, c in stuffed for t in sorted(wanted)), default=None)
    if best is None:
        return None
    n, term, field = best
    n_genuine = max((c[term] for c in _counts(pair.genuine, setup).values()), default=0)
    if n < 2 * n_genuine:
        return None
    return Likeness(0.0, field, _as_asked(term, query.text), n, n_genuine)


def _is_stuffed(counts: Counter[str], wanted: frozenset[str]) -> bool:
    found = [counts[t] for t in wanted]
    return max(found) >= REPEATS and sum(found) >= CROWDED * counts.total()


def _counts(doc_id: str, setup: Evidence) -> Mapping[str, Counter[str]]:
    """Return field -> how often each term occurs in it."""
    terms = setup.documents.terms(doc_id)
    return {f: Counter(analyze(setup.documents.text(doc_id, f))) for f in terms}


def _as_asked(term: str, text: str) -> str:
    """Return the query's own word for a term."""
    words = (word.strip(".,;:!?\"'()") for word in text.split())
    return next((w for w in words if analyze(w) == [term]), term)


def _finding(
    query: QueryEvidence,
    setup: Evidence,
    found: Mapping[str, Sequence[Pair]],
    likeness: Mapping[Pair, Likeness],
) -> Finding:
    pairs = dict.fromkeys(p for theirs in found.values() for p in theirs)
    first = max(pairs, key=lambda p: (likeness[p].n, likeness[p].share, p))
    rankings = [r for r in query.rankings if r.name in found]
    return Finding(
        rule="stuffed-above-genuine",
        severity="MEDIUM",
        tag="QUERY_TUNING",
        what=_what(first, likeness[first], len(pairs) - 1, query, setup, list(found)),
        fix="Damp repeated words (count each once, or lower k1), collapse near-duplicates, and "
        "rank those that remain by a sign of quality",
        query_id=query.query_id,
        systems=tuple(found),
        documents=tuple(dict.fromkeys(d for p in (first, *pairs) for d in p)),
        evidence=_evidence(first, likeness[first], query, setup),
        repaired={r.name: v for r in rankings if (v := _repaired(r, query, found[r.name]))},
    )


def _what(
    pair: Pair,
    like: Likeness,
    n_more: int,
    query: QueryEvidence,
    setup: Evidence,
    systems: Sequence[str],
) -> str:
    everywhere = len(systems) == len(query.rankings) > 1
    where = "every system" if everywhere else listed(systems)
    label = setup.documents.label
    sentence = (
        f"{where} {'puts' if everywhere or len(systems) == 1 else 'put'} {label(pair.doc_id)}, "
        f"grade {_grade(pair.doc_id, query)}, above {label(pair.genuine)}, "
        f"grade {query.best_grade}"
    )
    if like.word:
        often = "once" if like.n_genuine == 1 else f"{like.n_genuine} times"
        sentence += (
            f"; its {like.field} has the word '{like.word}' {like.n} times, where the genuine one "
            f"has it in no field more than {often}"
        )
    else:
        sentence += f"; {like.share:.0%} of their terms are the same"
    return f"{sentence}; so do {counted(n_more, 'more pair')}" if n_more else sentence


def _grade(doc_id: str, query: QueryEvidence) -> int:
    return query.judged.get(doc_id, 0)


def _evidence(
    pair: Pair, like: Likeness, query: QueryEvidence, setup: Evidence
) -> dict[str, Number]:
    found: dict[str, Number] = {
        "grade": _grade(pair.doc_id, query),
        "genuine_grade": query.best_grade,
        "likeness": like.share,
        "limit": setup.limits.stuffed,
    }
    if like.word:
        found |= {"word": like.word, "n_times": like.n, "n_times_genuine": like.n_genuine}
    return found


def _repaired(ranking: Ranking, query: QueryEvidence, pairs: Sequence[Pair]) -> float | None:
    """Return nDCG@k with the posing documents right below the last one that they pose as."""
    if ranking.value is None:
        return None
    posing, genuine = {p.doc_id for p in pairs}, {p.genuine for p in pairs}
    last = max(ranking.rank_of[d] for d in genuine)
    head = [d for d in ranking.documents[:last] if d.doc_id not in posing]
    tail = [d for d in ranking.documents[:last] if d.doc_id in posing]
    order: list[Placed] = [*head, *tail, *ranking.documents[last:]]
    dcg = sum(d.gain / log2(rank + 1) for rank, d in enumerate(order[: query.k], 1))
    return min(1.0, max(ranking.value, dcg / query.ideal))
