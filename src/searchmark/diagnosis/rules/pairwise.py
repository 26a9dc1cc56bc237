"""One system fails a query where another one succeeds."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from searchmark.diagnosis.evidence import Evidence, Kind, QueryEvidence
from searchmark.diagnosis.finding import Finding, Tag
from searchmark.diagnosis.limits import is_above, is_below
from searchmark.diagnosis.worth import Valued, answers_of, best_of, can_be_answered, named, shown


class Direction(NamedTuple):
    """Which kind fails where which other succeeds, and what that speaks for."""

    failing: Kind
    better: Kind
    tag: Tag
    fix: str


DIRECTIONS = (
    Direction(
        "vector",
        "lexical",
        "MODEL_SELECTION",
        "Take an embedding model that knows these words (names, codes, terms of the trade), or "
        "join it with the keyword search that finds them",
    ),
    Direction(
        "lexical",
        "vector",
        "INDEX_MAPPING",
        "Let keyword search match what is meant: synonyms, stemming, the fields that hold the "
        "users' words, not every word asked for; or join it with the vector search",
    ),
)

UNTAGGED_FIX = (
    "Send this query to both and compare what each one matches: fields and their weights, every "
    "word or any, filters; take over what the better one does"
)


def pairwise_gap(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find systems that fail a query which a system of another kind answers well.

    Parameters
    ----------
    query
        One query that has an answer in the corpus.
    setup
        The thresholds ``limits.fail``, ``limits.succeed`` and ``limits.gap``.

    Yields
    ------
    Finding
        At most one a direction, MEDIUM, naming all systems that fail. MODEL_SELECTION where vector
        systems fail (below `fail`) and a lexical one succeeds (above `succeed`), INDEX_MAPPING in
        the other direction, QUERY_TUNING where systems without tags are more than `gap` below the
        best one without.

    Notes
    -----
    Hybrids take no part, and neither do calls that failed. Two systems of the same kind are not
    compared, nor one with a tag with one without. `repaired` gives the failing systems the value of
    the best one.
    """
    if not can_be_answered(query, setup):
        return
    answers, limits = answers_of(query), setup.limits
    for direction in DIRECTIONS:
        failing = [a for a in _of(direction.failing, answers) if is_below(a.value, limits.fail)]
        best = best_of(_of(direction.better, answers))
        if failing and best and is_above(best[0].value, limits.succeed):
            yield _finding(query, setup, failing, best, direction)
    untagged = _of("", answers)
    best = best_of(untagged)
    failing = [a for a in untagged if is_above(best[0].value - a.value, limits.gap)]
    if failing:
        yield _finding(query, setup, failing, best, None)


def _of(kind: Kind, answers: Sequence[Valued]) -> list[Valued]:
    return [a for a in answers if a.ranking.system.kind == kind]


def _finding(
    query: QueryEvidence,
    setup: Evidence,
    failing: Sequence[Valued],
    best: Sequence[Valued],
    direction: Direction | None,
) -> Finding:
    worst = min(a.value for a in failing)
    limits = setup.limits
    return Finding(
        rule="pairwise-gap",
        severity="MEDIUM",
        tag=direction.tag if direction else "QUERY_TUNING",
        what=_what(failing, best, setup, direction),
        fix=direction.fix if direction else UNTAGGED_FIX,
        query_id=query.query_id,
        systems=tuple(a.name for a in failing),
        evidence={
            "worst": worst,
            "best": best[0].value,
            "best_systems": ", ".join(a.name for a in best),
            **(
                {"fail": limits.fail, "succeed": limits.succeed}
                if direction
                else {"difference": best[0].value - worst, "gap": limits.gap}
            ),
        },
        repaired={a.name: max(a.value, best[0].value) for a in failing},
    )


def _what(
    failing: Sequence[Valued],
    best: Sequence[Valued],
    setup: Evidence,
    direction: Direction | None,
) -> str:
    where = f"{named(best)} {'reaches' if len(best) == 1 else 'reach'} {best[0].value:.3f}"
    many = len(failing) > 1
    if direction is None:
        verb = "are" if many else "is"
        return (
            f"{named(failing)} {verb} more than {setup.limits.gap:g} {setup.measure} below the "
            f"best system ({shown(failing)}), {where}"
        )
    systems = f"{direction.failing} {'systems fail' if many else 'system fails'}"
    return f"the {systems} ({setup.measure} {shown(failing)}) where the {direction.better} {where}"
