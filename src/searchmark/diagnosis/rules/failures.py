"""Errors, missing and partial answers, and empty ones where there is an answer."""

from collections.abc import Iterator, Sequence

from searchmark.diagnosis.evidence import Evidence, QueryEvidence, Ranking
from searchmark.diagnosis.finding import Finding, Severity, Tag
from searchmark.diagnosis.wording import counted, listed
from searchmark.diagnosis.worth import can_be_answered

RULE = "failed-or-partial"


def failed_or_partial(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find systems that gave no whole answer.

    Parameters
    ----------
    query
        One query.
    setup
        The documents: an empty answer is right where nothing in the corpus is relevant.

    Yields
    ------
    Finding
        One for each kind: calls that failed or took too long (HIGH), queries that a run file does
        not hold and partial answers (MEDIUM, all RELIABILITY), and empty answers to a query that
        has one (MEDIUM QUERY_TUNING).

    Notes
    -----
    Of a system whose run is no measurement only what failed, is missing or partial is told.
    """
    rankings = query.rankings
    if failed := [r for r in rankings if r.is_failure]:
        reasons = "; ".join(f"{r.name}: {_reason(r)}" for r in failed)
        what = f"{counted(len(failed), 'system')} gave no answer ({reasons})"
        fix = "Mend what the message names, or give the system more time, then run again"
        yield _finding(query, failed, "HIGH", "RELIABILITY", what, fix)
    if missing := [r for r in rankings if r.status == "missing"]:
        what = f"the query is missing from the run of {_names(missing)}"
        fix = "Ask the system this query too and write the run again, or leave the query out"
        yield _finding(query, missing, "MEDIUM", "RELIABILITY", what, fix)
    if partial := [r for r in rankings if r.partial and not r.is_failure]:
        what = f"the answer of {_names(partial)} is partial: a part of the system did not take part"
        fix = "Look at the arms, shards and time limits of the system, then run again"
        yield _finding(query, partial, "MEDIUM", "RELIABILITY", what, fix)
    counted_in = [r for r in rankings if r.name not in setup.invalid]
    if can_be_answered(query, setup) and (empty := [r for r in counted_in if _is_empty(r)]):
        what = f"{_names(empty)} returned nothing, though the query has an answer"
        yield _finding(query, empty, "MEDIUM", "QUERY_TUNING", what, _loosen(query, empty))


def _finding(
    query: QueryEvidence,
    rankings: Sequence[Ranking],
    severity: Severity,
    tag: Tag,
    what: str,
    fix: str,
) -> Finding:
    statuses = dict.fromkeys("partial" if r.partial else r.status for r in rankings)
    return Finding(
        rule=RULE,
        severity=severity,
        tag=tag,
        what=what,
        fix=fix,
        query_id=query.query_id,
        systems=tuple(r.name for r in rankings),
        evidence={"n_systems": len(rankings), "status": ", ".join(sorted(statuses))},
    )


def _names(rankings: Sequence[Ranking]) -> str:
    return listed([r.name for r in rankings])


def _reason(ranking: Ranking) -> str:
    return ranking.error or ("it took too long" if ranking.status == "timeout" else "an error")


def _is_empty(ranking: Ranking) -> bool:
    """Whether the system answered, and wholly, with nothing."""
    return ranking.status in ("ok", "empty") and not ranking.documents and not ranking.partial


def _loosen(query: QueryEvidence, empty: Sequence[Ranking]) -> str:
    if all(r.system.kind == "vector" for r in empty):
        return "Lower the cut-off of scores, or look at what the filters leave to search"
    loosen = "let any word match where no document has them all (a fallback from all to any)"
    if all(r.system.is_strict is False for r in empty):
        loosen = (
            "index what the documents are called by (synonyms, further fields), or join it with a "
            "search by meaning: no document has any word of the query as it is"
        )
    if query.filters:
        return f"Look at what the filters leave to search, and {loosen}"
    return loosen[0].upper() + loosen[1:]
