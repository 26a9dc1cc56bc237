"""A judgment that contradicts every system: possibly a wrong label."""

from collections.abc import Iterator, Sequence

from searchmark.diagnosis.evidence import Evidence, QueryEvidence, Ranking
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.wording import listed
from searchmark.diagnosis.worth import can_be_answered
from searchmark.retrieval.analysis import analyze

SHOWN = 3

FIX = "Look at the label again; if it is right, keep it and say why in the judgments"


def contradicting_judgment(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find labels that no system agrees with.

    Parameters
    ----------
    query
        One query that has an answer in the corpus.
    setup
        The documents.

    Yields
    ------
    Finding
        LOW, at most two: a document judged 0 or less that every system puts first, and documents
        of the best grade that no system returns at all and that have no term of the query.

    Notes
    -----
    Hybrids do not count, as they repeat what their parts say, and systems tagged as of one kind
    count once: it takes two that look at a query differently. What only keyword searches cannot
    find is no sign of a wrong label. An unlisted document is no judgment, even where the judgments
    are complete.
    """
    singles = [r for r in query.singles() if r.is_ranked and r.documents]
    views = {r.system.kind or r.name for r in singles}
    if len(views) < 2 or not can_be_answered(query, setup):
        return
    yield from _agreed_first(query, setup, singles)
    yield from _unreachable(query, setup, singles)


def _agreed_first(
    query: QueryEvidence, setup: Evidence, singles: Sequence[Ranking]
) -> Iterator[Finding]:
    firsts = {r.documents[0].doc_id for r in singles}
    doc_id = min(firsts)
    if len(firsts) > 1 or query.judged.get(doc_id, 1) > 0:
        return
    names = tuple(r.name for r in singles)
    yield Finding(
        rule="contradicting-judgment",
        severity="LOW",
        tag="JUDGMENTS",
        what=(
            f"possibly a wrong label: {setup.documents.label(doc_id)} is judged "
            f"{query.judged[doc_id]}, yet {listed(names)} agree to put it first"
        ),
        fix=FIX,
        query_id=query.query_id,
        systems=names,
        documents=(doc_id,),
        evidence={"grade": query.judged[doc_id], "n_agreeing": len(names)},
    )


def _unreachable(
    query: QueryEvidence, setup: Evidence, singles: Sequence[Ranking]
) -> Iterator[Finding]:
    asked = frozenset(analyze(query.text))
    strange = [
        d
        for d, grade in query.judged.items()
        if grade == query.best_grade
        and d in setup.documents
        and not asked & setup.documents.all_terms(d)
    ]
    found = tuple(d for d in strange if not any(d in r.rank_of for r in query.rankings))
    if not found:
        return
    named = ", ".join(map(setup.documents.label, found[:SHOWN]))
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    one = len(found) == 1
    yield Finding(
        rule="contradicting-judgment",
        severity="LOW",
        tag="JUDGMENTS",
        what=(
            f"possibly {'a wrong label' if one else 'wrong labels'}: {named}{more} "
            f"{'is' if one else 'are'} judged {query.best_grade}, yet no system returns "
            f"{'it' if one else 'them'} at any rank and no word is shared with the query"
        ),
        fix=FIX,
        query_id=query.query_id,
        systems=tuple(r.name for r in singles),
        documents=found,
        evidence={"grade": query.best_grade, "n_documents": len(found)},
    )
