"""The whole diagnosis as one value: reports need nothing else."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import mean
from typing import NamedTuple

from searchmark.diagnosis.action import Action, recommend
from searchmark.diagnosis.breakdown import (
    CategoryRow,
    QueryRow,
    category_rows,
    means_of,
    query_rows,
)
from searchmark.diagnosis.completion import Completion, capabilities, complete, served_by
from searchmark.diagnosis.diagnose import diagnose
from searchmark.diagnosis.evidence import Evidence, Part, QueryEvidence, Ranking
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.limits import level_of
from searchmark.diagnosis.rollup import Group, Rise, rise_of, roll_up
from searchmark.diagnosis.steps import Step, what_next


class Level(NamedTuple):
    """One mean with its word (good, acceptable, poor, bad) and the queries it is over.

    `ceiling` is the best mean any ranking could reach on these queries. Where that is below good,
    a mean that reaches it is called the best possible.
    """

    measure: str
    mean: float | None
    word: str | None
    n_queries: int
    ceiling: float = 1.0


class CapabilityRow(NamedTuple):
    """The queries of one capability: how many, each system's mean, the systems tagged for it."""

    name: str
    n_queries: int
    means: Mapping[str, float | None]
    served_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setup:
    """What was diagnosed: the cutoff, the measure that rules compare, queries and systems.

    `means` are of that measure; `overall` is the mean of those that count. `n_no_answer` queries
    have nothing relevant, `n_unjudged` were left out because nobody judged them. `serving` is the
    system that serves users where the project says so. `invalid` maps systems whose run is no
    measurement to the reason.
    """

    k: int
    measure: str
    n_queries: int
    n_no_answer: int
    n_unjudged: int
    systems: tuple[Part, ...]
    means: Mapping[str, float | None]
    overall: float | None
    serving: str | None = None
    invalid: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings, what they amount to, and what to do.

    `levels` maps systems to their means in words, `all_mended` is the rise if every finding were
    mended at once.
    """

    setup: Setup
    findings: tuple[Finding, ...]
    groups: tuple[Group, ...]
    all_mended: Rise
    completion: Completion
    action: Action | None
    steps: tuple[Step, ...]
    levels: Mapping[str, tuple[Level, ...]]
    capabilities: tuple[CapabilityRow, ...]
    categories: tuple[CategoryRow, ...] = ()
    queries: tuple[QueryRow, ...] = ()


def diagnosis_of(setup: Evidence, serving: str | None = None) -> Diagnosis:
    """Ask all rules and sum up what they found.

    `serving` is the system that serves users, the gate's where the project has one.
    """
    return summed_up(diagnose(setup), setup, serving)


def summed_up(
    findings: tuple[Finding, ...], setup: Evidence, serving: str | None = None
) -> Diagnosis:
    """Return the diagnosis that findings amount to."""
    groups = roll_up(findings, setup, serving)
    completion = complete(findings, setup, serving)
    counted = setup.counted
    return Diagnosis(
        setup=_facts(setup, serving),
        findings=findings,
        groups=groups,
        all_mended=rise_of(findings, setup, serving),
        completion=completion,
        action=recommend(groups, setup, serving),
        steps=what_next(groups, setup, completion, serving),
        levels={s.name: tuple(_told_levels(s.name, setup)) for s in setup.systems},
        capabilities=tuple(_capability_rows(counted)),
        categories=tuple(category_rows(counted)),
        queries=tuple(query_rows(counted, findings)),
    )


def _facts(setup: Evidence, serving: str | None) -> Setup:
    return Setup(
        k=setup.k,
        measure=setup.measure,
        n_queries=len(setup.queries),
        n_no_answer=sum(not q.has_answer for q in setup.queries),
        n_unjudged=setup.n_unjudged_queries,
        systems=setup.systems,
        means={s.name: setup.mean(s.name) for s in setup.systems},
        overall=setup.counted.overall,
        serving=serving,
        invalid=setup.invalid,
    )


def _told_levels(system: str, setup: Evidence) -> Iterator[Level]:
    """Yield the levels of a system; what is no measurement is neither good nor bad."""
    for level in _levels(system, setup):
        yield level._replace(word=None) if system in setup.invalid else level


def _levels(system: str, setup: Evidence) -> Iterator[Level]:
    """Yield nDCG as the project reckons it, then P and RR over the queries that have an answer.

    What a query without an answer counts in P and RR is the project's convention, which the
    evidence does not hold; so these two leave such queries out, and say over how many they are.
    """
    found = setup.values(system)
    own = mean(found.values()) if found else None
    top = mean(_best_value(setup.by_id[q], x) for q, x in found.items()) if found else 1.0
    yield Level(setup.measure, own, _word(setup.measure, own, top, setup), len(found), top)
    counted = [(q, r) for q in setup.queries if q.has_answer and (r := _counted(q, system))]
    most = mean(_best_precision(q) for q, _ in counted) if counted else 1.0
    for measure, values, best in (
        (f"P@{setup.k}", [_precision(r, q.k) for q, r in counted], most),
        ("RR", [_reciprocal_rank(r) for _, r in counted], 1.0),
    ):
        value = mean(values) if values else None
        yield Level(measure, value, _word(measure, value, best, setup), len(values), best)


def _word(measure: str, value: float | None, best: float, setup: Evidence) -> str | None:
    word = level_of(measure, value, setup.limits)
    is_best = value is not None and value >= best - 1e-9
    return "best possible" if word not in (None, "good") and is_best else word


def _best_value(query: QueryEvidence, value: float) -> float:
    """Return the best nDCG there could be; without an answer it is what the conventions say."""
    return 1.0 if query.has_answer else value


def _best_precision(query: QueryEvidence) -> float:
    return min(sum(g >= 1 for g in query.judged.values()), query.k) / query.k


def _counted(query: QueryEvidence, system: str) -> Ranking | None:
    ranking = query.ranking(system)
    return None if ranking.value is None else ranking


def _precision(ranking: Ranking, k: int) -> float:
    return sum((d.grade or 0) >= 1 for d in ranking.within(k)) / k


def _reciprocal_rank(ranking: Ranking) -> float:
    return next((1 / d.rank for d in ranking.documents if (d.grade or 0) >= 1), 0.0)


def _capability_rows(setup: Evidence) -> Iterator[CapabilityRow]:
    for name in capabilities(setup):
        queries = [q for q in setup.queries if q.capability.name == name]
        yield CapabilityRow(name, len(queries), means_of(queries, setup), served_by(name, setup))
