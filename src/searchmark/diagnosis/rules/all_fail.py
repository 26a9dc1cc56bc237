"""Every system fails a query."""

from collections.abc import Iterator, Mapping, Sequence

from searchmark.diagnosis.evidence import Evidence, QueryEvidence
from searchmark.diagnosis.finding import Finding, Tag
from searchmark.diagnosis.limits import is_below
from searchmark.diagnosis.wording import are, listed
from searchmark.diagnosis.worth import Valued, answers_of, best_of, can_be_answered

TAGS: Mapping[str, Tag] = {
    "semantic": "MODEL_SELECTION",
    "structured": "INDEX_MAPPING",
    "combined": "INDEX_MAPPING",
    "exact": "INDEX_MAPPING",
    "autocomplete": "QUERY_TUNING",
    "fuzzy": "QUERY_TUNING",
}
"""Capability -> where the fix lies.

A concept that nobody finds needs a model that understands it. Fields, and names that are asked for
as they are written, depend on how they are indexed. Prefixes and misspellings are a matter of how
a query is sent.
"""

FIXES: Mapping[str, str] = {
    "semantic": "Take an embedding model trained on the language of these documents, or a reranker "
    "over more candidates, and index the words that people use for these things",
    "structured": "Index what queries name as fields of their own (keywords, numbers, dates), and "
    "send field:value as a filter instead of as text",
    "combined": "Send field:value as a filter on a field of its own, and only the other words as "
    "text",
    "exact": "Index titles and names whole, without case, beside their words, and let an exact "
    "match of the name lead",
    "autocomplete": "Match the last word as a prefix (a prefix query, or edge n-grams of titles "
    "and names)",
    "fuzzy": "Allow one or two wrong letters in a word (fuzzy matching or n-grams), or correct the "
    "spelling by the words that the documents hold",
}


def every_system_fails(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find a query that no system answers well.

    Parameters
    ----------
    query
        One query that has an answer in the corpus.
    setup
        The threshold ``limits.fail``, and what each system reaches for the queries it does not
        fail.

    Yields
    ------
    Finding
        At most one, HIGH, naming the systems that answered and the relevant documents that none of
        them returns within k. The tag goes by the query's capability: MODEL_SELECTION for semantic;
        INDEX_MAPPING for structured, combined and exact; QUERY_TUNING for autocomplete and fuzzy.

    Notes
    -----
    A system fails below ``limits.fail``. Calls that ended in an error or a time-out, partial
    answers and queries that a run file lacks are left aside: they say nothing of how a system
    ranks, and another rule reports them. Where no system answered nothing is told. Systems whose
    value the conventions leave out are not asked. `repaired` is the mean of the system's values
    over the queries with an answer that it does not fail, ``limits.succeed`` where there are none.
    """
    if not can_be_answered(query, setup):
        return
    counted_in = answers_of(query)
    if not counted_in or not all(is_below(a.value, setup.limits.fail) for a in counted_in):
        return
    n_silent = sum(not r.is_ranked for r in query.rankings)
    kind = query.capability.name
    missed = _missed(query, counted_in, setup)
    yield Finding(
        rule="every-system-fails",
        severity="HIGH",
        tag=TAGS[kind],
        what=_what(counted_in, missed, query, setup, n_silent),
        fix=FIXES[kind],
        query_id=query.query_id,
        systems=tuple(a.name for a in counted_in),
        documents=missed,
        evidence={
            "best": max(a.value for a in counted_in),
            "fail": setup.limits.fail,
            "capability": kind,
            "n_systems": len(counted_in),
            "n_failed_calls": sum(r.is_failure for r in query.rankings),
            "n_missed": len(missed),
        },
        repaired={a.name: max(a.value, min(1.0, setup.usual[a.name])) for a in counted_in},
    )


def _missed(query: QueryEvidence, answers: Sequence[Valued], setup: Evidence) -> tuple[str, ...]:
    """Return the relevant documents that no system returns within k, the best first."""
    returned = {d.doc_id for a in answers for d in a.ranking.within(query.k)}
    found = (d for d, gain in query.gains.items() if gain > 0 and d not in returned)
    return tuple(sorted((d for d in found if d in setup.documents), key=lambda d: -query.gains[d]))


def _what(
    answers: Sequence[Valued],
    missed: Sequence[str],
    query: QueryEvidence,
    setup: Evidence,
    n_silent: int,
) -> str:
    everyone = "every system fails" if len(answers) > 1 else "the only system fails"
    if n_silent:
        which = (
            "systems that answered wholly" if len(answers) > 1 else "system that answered wholly"
        )
        everyone = f"the {which} {'fail' if len(answers) > 1 else 'fails'}"
    best = best_of(answers)
    sentence = f"{everyone}: the best {setup.measure} is {best[0].value:.3f}"
    if best[0].value > 0:
        sentence += f" ({listed([a.name for a in best])})"
    n_relevant = sum(gain > 0 for gain in query.gains.values())
    if missed:
        sentence += f"; {_how_many(len(missed), n_relevant)} returned within {query.k}"
    return sentence


def _how_many(n: int, n_all: int) -> str:
    if n_all == 1:
        return "the only relevant document is not"
    return f"of {n_all} relevant documents {'none is' if n == n_all else f'{n} {are(n)} not'}"
