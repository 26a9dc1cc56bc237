"""Relevant documents that no system returns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from searchmark.diagnosis.evidence import Evidence, Part, QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.wording import counted, listed
from searchmark.diagnosis.worth import Valued, answers_of, can_be_answered, gains_of, value_with
from searchmark.retrieval.analysis import analyze, tokenize

N_TOLD = 3
"""So many documents are named in the sentence; the finding holds all."""

DEEPER_FIX = (
    "Put a reranker behind the first results, over more candidates than k: these documents are "
    "found, only too low"
)
NOWHERE_FIX = (
    "Look for a model, synonyms or descriptions that bring the words of the query and of these "
    "documents together: no system comes near them"
)


class _Unread(NamedTuple):
    """Where a query's words stand in a document: only in these fields, which no system reads."""

    fields: tuple[str, ...]
    terms: frozenset[str]


def relevant_missed(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find documents with a high grade that no system returns within k.

    Parameters
    ----------
    query
        One query that has an answer in the corpus.
    setup
        The threshold ``limits.missed_grade``, the documents, and the fields that systems read.

    Yields
    ------
    Finding
        At most one a tag, LOW, naming all systems and the documents that are missed:
        EMBEDDING_FIELDS for those whose words in common with the query stand only in fields that
        no system reads, MODEL_SELECTION for the others.

    Notes
    -----
    A document counts as missed where it is in the corpus, and some system has room for it within
    k: a place that is empty or earns less. (Where 15 documents are relevant and k is 10, five are
    left out by the best of rankings.) Calls that failed are left aside. The fields a system reads
    are those its configuration tells; a hybrid reads what its arms do. Nothing is said of fields
    where no system tells. `repaired` is the value with these documents at the last places within
    k, each in place of one that earns less, from the last place up.
    """
    if not can_be_answered(query, setup):
        return
    answers = answers_of(query)
    missed = _missed(query, answers, setup)
    unread = _unread(missed, query, setup) if missed else {}
    for documents in ([d for d in missed if d not in unread], [d for d in missed if d in unread]):
        if documents:
            yield _finding(documents, unread, query, answers, setup)


def _missed(query: QueryEvidence, answers: Sequence[Valued], setup: Evidence) -> list[str]:
    """Return the documents missed, those that earn most first."""
    returned = {d.doc_id for a in answers for d in a.ranking.within(query.k)}
    room = min((_least(a, query.k) for a in answers), default=float("inf"))
    found = [
        doc_id
        for doc_id, grade in query.judged.items()
        if grade >= setup.limits.missed_grade
        and doc_id not in returned
        and query.gains.get(doc_id, 0.0) > room
        and doc_id in setup.documents
    ]
    return sorted(found, key=lambda d: (-query.gains[d], d))


def _least(answer: Valued, k: int) -> float:
    """Return what the place within k earns that earns least; an empty one earns nothing."""
    gains = gains_of(answer.ranking, k)
    return min(gains) if len(gains) == k else 0.0


def _unread(missed: Sequence[str], query: QueryEvidence, setup: Evidence) -> Mapping[str, _Unread]:
    """Return, of the documents whose matching words no system reads, where these stand."""
    read = {f for s in setup.systems for f in s.fields or ()}
    others = [f for f in setup.documents.fields if f not in read]
    if not others or all(s.fields is None for s in setup.systems):
        return {}
    asked = frozenset(analyze(query.text))
    found = {}
    for doc_id in missed:
        # fields that nobody reads are short and seldom match: only then the others are analysed
        matching = {f: t for f in others if (t := asked.intersection(_terms(doc_id, f, setup)))}
        seen = (
            (t for f, t in setup.documents.terms(doc_id).items() if f in read) if matching else ()
        )
        if matching and all(asked.isdisjoint(t) for t in seen):
            found[doc_id] = _Unread(tuple(matching), frozenset().union(*matching.values()))
    return found


def _terms(doc_id: str, field: str, setup: Evidence) -> list[str]:
    return analyze(setup.documents.text(doc_id, field))


def _finding(
    documents: Sequence[str],
    unread: Mapping[str, _Unread],
    query: QueryEvidence,
    answers: Sequence[Valued],
    setup: Evidence,
) -> Finding:
    where = [unread[d] for d in documents if d in unread]
    held = {f for u in where for f in u.fields}
    fields = [f for f in setup.documents.fields if f in held]
    nearest = {d: n for d in documents if (n := _nearest(d, answers)) is not None}
    is_deeper = 2 * len(nearest) >= len(documents)
    words = _words(frozenset().union(*(u.terms for u in where)), query.text)
    return Finding(
        rule="relevant-missed",
        severity="LOW",
        tag="EMBEDDING_FIELDS" if where else "MODEL_SELECTION",
        what=_what(documents, nearest, query, setup)
        + (_held_in(words, fields, setup.systems) if where else ""),
        fix=_read_fix(fields) if where else DEEPER_FIX if is_deeper else NOWHERE_FIX,
        query_id=query.query_id,
        systems=tuple(a.name for a in answers),
        documents=tuple(documents),
        evidence={
            "n_missed": len(documents),
            "missed_grade": setup.limits.missed_grade,
            "k": query.k,
            "n_deeper": len(nearest),
            **({"best_rank": min(nearest.values())} if nearest else {}),
            **({"fields": ", ".join(fields), "words": ", ".join(words)} if where else {}),
        },
        repaired={a.name: _with(documents, a, query) for a in answers},
    )


def _nearest(doc_id: str, answers: Sequence[Valued]) -> int | None:
    """Return the best rank, below k, that any system gives a document."""
    ranks = (a.ranking.rank_of.get(doc_id) for a in answers)
    return min((r for r in ranks if r is not None), default=None)


def _words(terms: frozenset[str], text: str) -> list[str]:
    """Return the query's own words for terms, in its order."""
    return [w for w in dict.fromkeys(tokenize(text)) if terms.intersection(analyze(w))]


def _held_in(words: Sequence[str], fields: Sequence[str], systems: Sequence[Part]) -> str:
    quoted = listed([f"'{w}'" for w in words])
    verb = "stands" if len(words) == 1 else "stand"
    return f"; there {quoted} {verb} only in {listed(fields)}, which {_readers(systems)}"


def _readers(systems: Sequence[Part]) -> str:
    """Return who does not read: every system, or those that tell which fields they read."""
    silent = [s for s in systems if s.fields is None and not s.arms]
    if not silent:
        return "no system reads"
    told = [s.name for s in systems if s.fields is not None]
    return f"{listed(told)} {'does' if len(told) == 1 else 'do'} not read"


def _read_fix(fields: Sequence[str]) -> str:
    them = "it" if len(fields) == 1 else "them"
    return f"Index {listed(fields)} for keyword search, and embed {them} for vector search"


def _what(
    documents: Sequence[str],
    nearest: Mapping[str, int],
    query: QueryEvidence,
    setup: Evidence,
) -> str:
    told = [setup.documents.label(d) for d in documents[:N_TOLD]]
    if len(documents) > N_TOLD:
        told.append(f"{len(documents) - N_TOLD} more")
    deeper = f"; the nearest is at rank {min(nearest.values())}" if nearest else ""
    n = counted(len(documents), "document")
    return (
        f"no system returns {n} graded {setup.limits.missed_grade} or more within {query.k}: "
        f"{listed(told)}{deeper}"
    )


def _with(documents: Sequence[str], answer: Valued, query: QueryEvidence) -> float:
    """Return nDCG@k with missed documents put in from rank k up, where they earn more."""
    gains = gains_of(answer.ranking, query.k)
    gains += [0.0] * (query.k - len(gains))
    left = [query.gains[d] for d in documents]
    for place in range(query.k - 1, -1, -1):
        if left and gains[place] < left[0]:
            gains[place] = left.pop(0)
    return value_with(answer, gains, query)
