"""The evidence that rules look at, made from a finished experiment."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import log2
from typing import Any, NamedTuple

import msgspec
import numpy as np

from searchmark.data import Hits, prepare, read_qrels, read_queries
from searchmark.diagnosis.capabilities import Capability, capabilities_of
from searchmark.diagnosis.documents import Documents
from searchmark.diagnosis.evidence import Evidence, Kind, Part, Placed, QueryEvidence, Ranking
from searchmark.errors import InputError, nearest
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.inputs import Inputs
from searchmark.experiments.journal import Call
from searchmark.experiments.outcome import Experiment, Outcome
from searchmark.experiments.soundness import shown
from searchmark.measures.ndcg import gains, ideal_dcg, top_grades
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import docs_flag, values
from searchmark.measures.spec import Measure
from searchmark.measures.view import view
from searchmark.project import Project
from searchmark.systems import SYSTEMS
from searchmark.systems.parts import parts_of
from searchmark.systems.protocol import Entry, Progress

KINDS: tuple[Kind, ...] = ("hybrid", "vector", "lexical")
"""Tags that rules know; of a system with several the first one counts."""

DEFAULT_K = 10


def run_evidence(
    project: Project,
    systems: Sequence[str] = (),
    *,
    k: int | None = None,
    queries: Sequence[str] = (),
    fresh: bool = False,
    progress: Progress | None = None,
) -> Evidence:
    """Run the named systems (all by default) and return what rules look at.

    Failed queries are evidence too: nothing is raised for them. `queries` are those that will be
    asked for: one that does not exist or is not judged is an InputError before anything runs.
    Answers that are kept are looked at again, unless the systems are to be asked `fresh`.
    """
    check_cutoff(project, k)
    if queries:
        check_queries(project, queries)
    experiment = run_experiment(
        project,
        project.choose(systems),
        progress=progress,
        sensitivity=False,
        reuse=not fresh,
    )
    return evidence_of(project, experiment, k=k)


def check_queries(project: Project, query_ids: Sequence[str]) -> None:
    """Raise where a query does not exist, or nobody judged it; the corpus is not read for that."""
    known = read_queries(project.queries).query_ids
    qrels = read_qrels(project.qrels)
    judged = prepare(qrels, query_ids=known, complete=project.file.complete).query_ids
    for query_id in query_ids:
        if query_id in judged:
            continue
        if query_id in known:
            raise InputError(f"nobody judged the query {shown(query_id)}", path=project.qrels)
        fix = nearest(query_id, known)
        raise InputError(f"there is no query {shown(query_id)}", path=project.queries, fix=fix)


def serving_system(project: Project, setup: Evidence) -> str | None:
    """Return the system that serves users, the gate's, where it was run; None without a gate."""
    gate = project.file.gate
    names = {s.name for s in setup.systems}
    return gate.system if gate is not None and gate.system in names else None


def check_cutoff(project: Project, k: int | None) -> None:
    """Raise where the cutoff looks deeper than systems are asked."""
    wanted = measure_of(project, k).cutoff or DEFAULT_K
    if wanted > project.file.depth:
        raise InputError(
            f"k = {wanted} looks deeper than depth = {project.file.depth}",
            path=project.path,
            fix="set a smaller k, or a greater depth",
        )


def measure_of(project: Project, k: int | None = None) -> Measure:
    """Return the nDCG that rules compare: the project's first one, at the cutoff of diagnosis.

    Without one among the project's measures it is the profile's.
    """
    parsed = [parse_measure(m, project.file.profile) for m in project.file.measures]
    first = next((m for m in parsed if m.spec.name == "nDCG"), None)
    cutoff = k or project.file.diagnosis.k or (first.cutoff if first else None) or DEFAULT_K
    written = first.written.partition("@")[0] if first else "nDCG"
    return parse_measure(f"{written}@{cutoff}", project.file.profile)


def evidence_of(project: Project, experiment: Experiment, *, k: int | None = None) -> Evidence:
    """Return what rules look at, of systems that were run."""
    inputs, limits = experiment.inputs, project.file.diagnosis
    measure = measure_of(project, k)
    cutoff = measure.cutoff or DEFAULT_K
    documents = Documents(inputs.corpus, limits.names)
    parts = tuple(
        _part(project.systems[o.system], _arms_shown(project, o.system, experiment), o.calls)
        for o in experiment.outcomes
    )
    judged = _judgments(inputs, measure)
    with _nothing_collected():
        answers = [
            _answers(p, o, judged, measure) for p, o in zip(parts, experiment.outcomes, strict=True)
        ]
    facts = _query_facts(inputs, capabilities_of(inputs.queries, documents.lexicon))
    queries = tuple(
        QueryEvidence(
            query_id=query_id,
            k=cutoff,
            judged=judged.grades[code],
            gains=judged.gains[code],
            ideal=judged.ideal[code],
            rankings=tuple(found[code] for found in answers),
            absent=tuple(d for d in judged.grades[code] if d not in documents),
            complete=inputs.judged.complete,
            **facts[query_id],
        )
        for code, query_id in enumerate(inputs.judged.query_ids)
    )
    return Evidence(
        queries=queries,
        systems=parts,
        documents=documents,
        limits=limits,
        k=cutoff,
        measure=measure.written,
        n_unjudged_queries=len(inputs.queries) - len(queries),
        digests=inputs.digests,
        invalid={o.system: o.invalid for o in experiment.outcomes if o.invalid is not None},
        made={o.system: o.made for o in experiment.outcomes if o.made is not None},
    )


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Leave the garbage be: looking through a million new rows again and again takes longest."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Judgments(NamedTuple):
    """By query code: document -> grade as the measure sees it, document -> gain, the ideal DCG."""

    grades: list[dict[str, int]]
    gains: list[dict[str, float]]
    ideal: list[float]


def _judgments(inputs: Inputs, measure: Measure) -> _Judgments:
    judged = inputs.judged
    grade = judged.grade
    if (flag := docs_flag(measure)) is not None:
        grade = np.where(judged.flags[flag], grade, np.minimum(grade, 0))
    shown = view(_no_hits(inputs), flag)
    top = top_grades(shown, measure)  # gains of great grades are told as shares of the top one's
    earned = gains(grade, measure, top=None if top is None else top[judged.query]).tolist()
    ids, levels, start = judged.doc_ids.series.to_list(), grade.tolist(), judged.start.tolist()
    spans = [slice(a, b) for a, b in pairwise(start)]
    return _Judgments(
        [dict(zip(ids[s], levels[s], strict=True)) for s in spans],
        [dict(zip(ids[s], earned[s], strict=True)) for s in spans],
        ideal_dcg(shown, measure, top).tolist(),
    )


def _no_hits(inputs: Inputs) -> Hits:
    """Return the hits of a system that returns nothing: enough to know the best there could be."""
    n, none = inputs.judged.n_queries, np.zeros(0, np.int64)
    no = np.zeros(n, np.bool_)
    return Hits(inputs.judged, none, none, none, none, np.zeros(n, np.int64), no, no)


def _answers(
    part: Part, outcome: Outcome, judged: _Judgments, measure: Measure
) -> dict[int, Ranking]:
    """Return one system's ranking of each query code."""
    codes = {q: code for code, q in enumerate(outcome.hits.judged.query_ids)}
    value = values(outcome.hits, measure).tolist()
    broken = _broken(outcome.hits)
    complete = outcome.hits.judged.complete
    found: dict[int, Ranking] = {}
    for call in outcome.calls:
        code = codes.get(call.query_id)
        if code is None:
            continue
        grades, earned = judged.grades[code], judged.gains[code]
        found[code] = Ranking(
            system=part,
            value=value[code] if value[code] == value[code] else None,
            documents=_placed(call, grades, earned, complete=complete),
            status=call.status,
            partial=call.partial,
            error=call.error,
            latency_ms=None if call.warmup else call.latency_ms,
            broken_filters=broken.get(code, ()),
        )
    return found


def _placed(
    call: Call, grades: Mapping[str, int], earned: Mapping[str, float], *, complete: bool
) -> tuple[Placed, ...]:
    """Return the returned documents with their ranks; of one returned twice the first place."""
    first = dict(reversed([*zip(call.doc_ids, call.scores, strict=True)]))
    ids = list(dict.fromkeys(call.doc_ids))
    unlisted = 0 if complete else None
    gained = [earned.get(d, 0.0) for d in ids]
    # column by column: a thousand results a query and system are common
    return tuple(
        map(
            Placed,
            ids,
            range(1, len(ids) + 1),
            [first[d] for d in ids],
            [grades.get(d, unlisted) for d in ids],
            gained,
            [gain / log2(rank + 1) if gain else 0.0 for rank, gain in enumerate(gained, 1)],
        )
    )


def _broken(hits: Hits) -> dict[int, tuple[int, ...]]:
    """Return query code -> ranks of results that break the query's hard filters."""
    found: dict[int, tuple[int, ...]] = {}
    if hits.violations is not None:
        for code, rank in zip(*(a.tolist() for a in hits.violations), strict=True):
            found[code] = (*found.get(code, ()), rank)
    return found


def _query_facts(inputs: Inputs, capability: Mapping[str, Capability]) -> dict[str, dict[str, Any]]:
    """Return query id -> what the query set says of it, by the names of `QueryEvidence`."""
    queries = inputs.queries
    rows = zip(queries.query_ids, queries.texts, queries.categories, queries.clusters, strict=True)
    return {
        query_id: {
            "text": text,
            "category": category,
            "cluster": cluster,
            "capability": capability[query_id],
            "filters": queries.filters.get(query_id, ()),
        }
        for query_id, text, category, cluster in rows
    }


def _arms_shown(project: Project, system: str, experiment: Experiment) -> tuple[str, ...]:
    """Return the arms of a system that are systems of this setup themselves."""
    shown = {o.system for o in experiment.outcomes}
    return tuple(a for a in parts_of(project.systems[system].config) if a in shown)


def _part(entry: Entry, arms: tuple[str, ...], calls: Sequence[Call]) -> Part:
    tags = {*SYSTEMS.load(entry.use).tags, *getattr(entry.config, "tags", ())}
    kind: Kind = next((k for k in KINDS if k in tags), "")
    return Part(
        entry.name,
        kind,
        arms,
        _fields(entry.config),
        is_scored=entry.use == "dense",
        is_strict=_is_strict(entry.config),
        is_partial=all(c.partial for c in calls if c.is_answer),
    )


def _is_strict(config: msgspec.Struct) -> bool | None:
    """Tell whether a keyword search asks for every word and leaves it at that."""
    candidates = getattr(config, "candidates", None)
    if candidates is None:
        return None
    return candidates == "and" and not getattr(config, "fallback", True)


def _fields(config: msgspec.Struct) -> tuple[str, ...] | None:
    """Return the fields that a system's configuration says it reads; None where it does not say."""
    given = getattr(config, "fields", None)
    if given is None:
        return None
    flat = [name for f in given for name in ([f] if isinstance(f, str) else f)]
    return tuple(dict.fromkeys([*flat, *getattr(config, "substring", ())]))
