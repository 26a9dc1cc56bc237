"""A query that has no answer is answered."""

from collections.abc import Iterator, Sequence

from searchmark.diagnosis.cutoff import Cutoff, Cutoffs, top_score
from searchmark.diagnosis.evidence import Evidence, QueryEvidence, Ranking
from searchmark.diagnosis.finding import Finding, Number
from searchmark.diagnosis.wording import counted, listed


def no_answer_answered(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find the systems that return results although it is known that there is no answer.

    Parameters
    ----------
    query
        One query; only one where nothing judged earns a gain is looked at.
    setup
        All queries: the scores of those with an answer tell where low scores could be cut off.

    Yields
    ------
    Finding
        At most one, naming all systems: LOW; MEDIUM where a top score is above the median top score
        of the queries that have an answer, or where no score can be compared.

    Notes
    -----
    Of several systems whose scores can be cut off, the evidence is that of the surest wrong answer.
    """
    if not query.is_unanswerable:
        return
    answering = [r for r in query.rankings if r.documents and not r.is_failure]
    if not answering:
        return
    surest = _surest(answering, setup)
    yield Finding(
        rule="no-answer-answered",
        severity="LOW" if surest and _is_unsure(surest, setup) else "MEDIUM",
        tag="SEARCH_PIPELINE",
        what=_what(answering, surest, setup),
        fix=_sentence(_fixes(answering, setup)),
        query_id=query.query_id,
        systems=tuple(r.name for r in answering),
        documents=tuple(sorted({r.documents[0].doc_id for r in answering})),
        evidence=_evidence(answering, surest, setup),
    )


def _surest(answering: Sequence[Ranking], setup: Evidence) -> Ranking | None:
    """Return the ranking whose top score passes those of most queries with an answer."""
    scored = [r for r in answering if r.name in setup.cutoffs and top_score(r) is not None]
    return max(scored, key=lambda r: _share_below(r, setup) or 0.0, default=None)


def _share_below(ranking: Ranking, setup: Evidence) -> float | None:
    score = top_score(ranking)
    return None if score is None else setup.cutoffs[ranking.name].share_below(score)


def _is_unsure(ranking: Ranking, setup: Evidence) -> bool:
    score, middle = top_score(ranking), setup.cutoffs[ranking.name].median_top
    return score is not None and middle is not None and score <= middle


def _what(answering: Sequence[Ranking], surest: Ranking | None, setup: Evidence) -> str:
    returned = listed([f"{r.name} ({counted(len(r.documents), 'result')})" for r in answering])
    sentence = f"nothing answers it, yet it is answered by {returned}"
    if surest is None:
        return f"{sentence}; none of their scores can be compared from query to query"
    score, cutoffs = top_score(surest), setup.cutoffs[surest.name]
    sentence += f"; the top score of {surest.name} is {score:.3f}"
    if (share := _share_below(surest, setup)) is None or score is None:
        return sentence
    n_below = round(share * len(cutoffs.tops))
    sentence += f", above that of {n_below} of {counted(len(cutoffs.tops), 'query')} with an answer"
    if cutoffs.suggested is not None and cutoffs.suggested.score <= score:
        at = cutoffs.silencing(score)
        sentence += f"; a cut-off at {at.score:g} would silence it, but {_cost(at, cutoffs, setup)}"
    return sentence


def _sentence(parts: Iterator[str]) -> str:
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _fixes(answering: Sequence[Ranking], setup: Evidence) -> Iterator[str]:
    """Yield what to do: where scores can be cut off, then what only matches or joins."""
    scored = [r.name for r in answering if r.name in setup.cutoffs]
    for name in scored:
        joined = [r.name for r in answering if name in r.system.arms]
        yield _cut(setup.cutoffs[name], f", inside {listed(joined)} too" if joined else "", setup)
    matching = [r for r in answering if r.name not in scored and not r.system.arms]
    for r in matching:
        if r.system.kind == "hybrid":
            yield f"run the parts of {r.name} too, to find a cut-off: they were not run here"
        elif r.system.kind == "lexical":
            yield f"let {r.name} ask for all or most of the words of a query"
        else:
            yield f"give {r.name} a score that tells relevant from irrelevant, and cut it off"
    known = {*scored, *(r.name for r in matching)}
    for r in answering:
        if r.system.arms and not known.intersection(r.system.arms):
            parts = listed(r.system.arms)
            yield f"silence {parts} inside {r.name}: its own score comes of ranks alone"


def _cut(cutoffs: Cutoffs, inside: str, setup: Evidence) -> str:
    name = cutoffs.system
    if cutoffs.suggested is None:
        least = cutoffs.candidates[0]
        return (
            f"put a reranker behind {name} and cut off its score{inside}: no cut-off of {name} is "
            f"worth its cost (the lowest, {least.score:g}, {_effect(least, cutoffs, setup)})"
        )
    at = cutoffs.suggested
    effect = _effect(at, cutoffs, setup)
    return f"drop results of {name} that score below {at.score:g}{inside}: that {effect}"


def _effect(at: Cutoff, cutoffs: Cutoffs, setup: Evidence) -> str:
    n_silenced = f"{at.n_silenced} of {counted(cutoffs.n_answered, 'query')}"
    return f"silences {n_silenced} without an answer and {_cost(at, cutoffs, setup)}"


def _cost(at: Cutoff, cutoffs: Cutoffs, setup: Evidence) -> str:
    if not cutoffs.n_relevant:
        return f"loses no relevant result, as none is known within {setup.k}"
    relevant = f"{counted(cutoffs.n_relevant, 'relevant result')} within {setup.k}"
    if not at.n_lost:
        return f"loses none of {relevant}"
    emptied = f"all that {counted(at.n_emptied, 'query')} had; " if at.n_emptied else ""
    return f"loses {at.n_lost} of {relevant} ({emptied}mean {setup.measure} {at.change:+.3f})"


def _evidence(
    answering: Sequence[Ranking], surest: Ranking | None, setup: Evidence
) -> dict[str, Number]:
    found: dict[str, Number] = {"n_systems": len(answering)}
    if surest is None or (score := top_score(surest)) is None:
        return found
    cutoffs = setup.cutoffs[surest.name]
    found |= {"scored_system": surest.name, "top_score": score}
    if (share := cutoffs.share_below(score)) is not None and cutoffs.median_top is not None:
        found |= {"share_of_answered_below": share, "median_top_score": cutoffs.median_top}
    if cutoffs.suggested is not None:
        found |= {"cutoff": cutoffs.suggested.score, **_numbers(cutoffs.suggested, cutoffs)}
    return found | {"cutoff_to_silence": cutoffs.silencing(score).score}


def _numbers(at: Cutoff, cutoffs: Cutoffs) -> dict[str, Number]:
    return {
        "cutoff_silences": at.n_silenced,
        "n_no_answer": cutoffs.n_no_answer,
        "cutoff_loses_relevant": at.n_lost,
        "n_relevant": cutoffs.n_relevant,
        "cutoff_empties_queries": at.n_emptied,
        "cutoff_changes_mean": at.change,
    }
