"""The decision: candidate against baseline, limits, floors and pinned queries."""

from collections.abc import Iterator
from dataclasses import replace

from searchmark.gate.baseline import Baseline, natural
from searchmark.gate.cases import Background, Case, cases_of_all, cases_of_categories
from searchmark.gate.evidence import Evidence, Pairs, pair, weigh
from searchmark.gate.policy import GatePolicy, limit_of
from searchmark.gate.reasons import blindness, reason
from searchmark.gate.suggestions import find_suggestions, suggested_max_drop
from searchmark.gate.verdict import (
    TOLERANCE,
    MeasureVerdict,
    PinnedVerdict,
    QueryChange,
    Verdict,
    least_caught,
)
from searchmark.measures.summary import SystemScores

N_WORST = 10
"""How many of the queries that lost most are named."""


def decide(
    scores: SystemScores,
    baseline: Baseline,
    policy: GatePolicy,
    background: Background | None = None,
) -> Verdict:
    """Hold a candidate against the baseline, the limits, the floors and the pinned queries."""
    known = background or Background()
    gated = policy.gated([m.measure for m in scores.means])
    changes = list(_changes(scores, baseline, gated, known))
    held = _weighed(scores, baseline, policy, known)
    decided = [_decided(case, evidence, policy.alpha) for case, evidence in held]
    verdict = Verdict(
        system=scores.system,
        measures=tuple(v for v in decided if v.category is None),
        categories=(
            *(v for v in decided if v.category is not None),
            *_empty_categories(scores, policy, gated),
        ),
        worst_queries=tuple(_worst(changes)),
        n_better={m: sum(c.measure == m and c.loss < -TOLERANCE for c in changes) for m in gated},
        n_worse={m: sum(c.measure == m and c.loss > TOLERANCE for c in changes) for m in gated},
        notes=tuple(_unpaired(scores, baseline, gated)),
        pinned=tuple(_pinned(scores, baseline, policy, changes)),
        alpha=policy.alpha,
    )
    return replace(
        verdict,
        suggestions=tuple(find_suggestions(verdict, policy)),
        suggested_max_drop=suggested_max_drop(verdict),
    )


def _weighed(
    scores: SystemScores, baseline: Baseline, policy: GatePolicy, known: Background
) -> list[tuple[Case, Evidence]]:
    """Return every case with its evidence; all that are held to a limit are tested together."""
    cases = [
        *cases_of_all(scores, baseline, policy, known),
        *cases_of_categories(scores, baseline, policy, known),
    ]
    limited = [c for c in cases if c.drop is not None]
    pairs = [_pairs(c, scores, baseline, known) for c in limited]
    found = dict(zip(map(id, limited), weigh(pairs, policy.alpha), strict=True))
    return [(c, found.get(id(c), Evidence())) for c in cases]


def _pairs(case: Case, scores: SystemScores, baseline: Baseline, known: Background) -> Pairs:
    measure, category = case.mean.measure, case.category
    return pair(
        baseline.per_query.get(measure, {}),
        scores.per_query.get(measure, {}),
        clusters=known.groups.cluster,
        within=None if category is None else known.within(category),
        higher_is_better=case.higher_is_better,
        aggregate=known.aggregate(measure),
    )


def _decided(case: Case, evidence: Evidence, alpha: float | None) -> MeasureVerdict:
    low, high = evidence.low, evidence.high
    if not case.higher_is_better and low is not None and high is not None:
        low, high = -high, -low
    sign = -1.0 if case.higher_is_better else 1.0
    tested = None if alpha is None else evidence.detectable
    return MeasureVerdict(
        measure=case.mean.measure,
        category=case.category,
        baseline=case.baseline,
        candidate=case.mean.value,
        limit=case.limit,
        floor=case.floor,
        because=reason(case, evidence, alpha),
        higher_is_better=case.higher_is_better,
        n_queries=evidence.n_queries,
        low=low,
        high=high,
        p=evidence.p,
        p_adjusted=evidence.p_adjusted,
        detectable=evidence.detectable,
        blind=blindness(case, evidence, alpha),
        standard_error=evidence.standard_error,
        caught=least_caught(case.limit, tested, evidence.standard_error),
        paired_delta=None if evidence.loss is None else sign * evidence.loss + 0.0,
    )


def _unpaired(scores: SystemScores, baseline: Baseline, gated: list[str]) -> Iterator[str]:
    """Tell of queries that conventions leave out on one side only; no pair can be made of them."""
    for measure in gated:
        one = baseline.per_query.get(measure, {}).keys() ^ scores.per_query.get(measure, {}).keys()
        if one:
            n = f"{len(one)} {'query has' if len(one) == 1 else 'queries have'}"
            yield (
                f"{n} a value of {measure} in the baseline or in the candidate only; the means "
                "count it, the test does not, and no interval of the change is given"
            )


def _empty_categories(
    scores: SystemScores, policy: GatePolicy, gated: list[str]
) -> Iterator[MeasureVerdict]:
    """Yield a failure for every limit of a category that nobody belongs to."""
    for category in sorted(set(policy.category_floors) - set(scores.by_category)):
        for measure, floor in policy.category_floors[category].items():
            because = f"{measure} has a floor for category {category}, which no query belongs to"
            yield MeasureVerdict(measure, category, None, None, None, floor, because)
    for category in sorted(set(policy.category_max_drop) - set(scores.by_category)):
        drop = policy.category_max_drop[category]
        because = f"a drop is limited for category {category}, which no query belongs to"
        yield MeasureVerdict(gated[0], category, None, None, limit_of(drop, 0.0), None, because)


def _changes(
    scores: SystemScores, baseline: Baseline, gated: list[str], known: Background
) -> Iterator[QueryChange]:
    """Yield each query and measure with a value in both."""
    for measure in gated:
        before = baseline.per_query.get(measure, {})
        up = known.higher_is_better(measure)
        for query_id, value in scores.per_query.get(measure, {}).items():
            if query_id in before:
                text = known.texts.get(query_id, "")
                yield QueryChange(query_id, text, measure, before[query_id], value, up)


def _worst(changes: list[QueryChange]) -> list[QueryChange]:
    """Return each losing query once, with its largest loss, the largest losses first."""
    losses: dict[str, QueryChange] = {}
    for change in changes:
        if change.loss > TOLERANCE:
            held = losses.get(change.query_id)
            if held is None or change.loss > held.loss:
                losses[change.query_id] = change
    ordered = sorted(losses.values(), key=lambda c: (-c.loss, natural(c.query_id)))
    return ordered[:N_WORST]


def _pinned(
    scores: SystemScores, baseline: Baseline, policy: GatePolicy, changes: list[QueryChange]
) -> Iterator[PinnedVerdict]:
    gated = policy.gated([m.measure for m in scores.means])
    for query_id in dict.fromkeys(policy.pinned):
        own = tuple(c for c in changes if c.query_id == query_id)
        # a measure that leaves out queries without an answer no longer counts this one
        lost = [
            m
            for m in gated
            if query_id in baseline.per_query.get(m, {})
            and query_id not in scores.per_query.get(m, {})
        ]
        text = own[0].text if own else ""
        yield PinnedVerdict(query_id, text, own, _pinned_reason(query_id, own, lost))


def _pinned_reason(query_id: str, changes: tuple[QueryChange, ...], lost: list[str]) -> str | None:
    """Say in which measures a pinned query got worse; one that counts in none holds nothing."""
    if not changes and not lost:
        return f"pinned query {query_id} has no value in any gated measure, so nothing holds it"
    worse = [
        f"{c.measure} {c.baseline:.4f} -> {c.candidate:.4f}" for c in changes if c.loss > TOLERANCE
    ]
    worse += [f"{m} has no value any more" for m in lost]
    return f"pinned query {query_id} got worse: {', '.join(worse)}" if worse else None
