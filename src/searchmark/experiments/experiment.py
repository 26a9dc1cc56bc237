"""One experiment: the project's systems over its queries, run, scored, kept and summed up."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from shutil import rmtree
from typing import Any, NamedTuple

import msgspec
import polars as pl

from searchmark.data import Hits, Run, find_hits, mark_calls
from searchmark.data.violations import with_violations
from searchmark.errors import InputError, SearchmarkError
from searchmark.experiments.environment import fingerprint
from searchmark.experiments.inputs import Inputs, read_inputs
from searchmark.experiments.journal import Call, damage_notes, open_journal
from searchmark.experiments.latency import summarize_calls
from searchmark.experiments.notes import find_notes
from searchmark.experiments.outcome import (
    Experiment,
    Outcome,
    failed_notes,
    failure,
    invalid_notes,
    partial_notes,
    stranger_notes,
)
from searchmark.experiments.runner import ask_all
from searchmark.experiments.store import (
    FORMAT,
    Store,
    circumstances,
    digest_of,
    run_table,
    write_bundle,
)
from searchmark.experiments.stored import stored_answers
from searchmark.experiments.validity import count_missing, why_invalid
from searchmark.measures.score import summarize
from searchmark.measures.summary import Evaluation, SystemScores
from searchmark.project import Project
from searchmark.project.place import place_of
from searchmark.stats.means import with_intervals
from searchmark.stats.sensitivity import sensitivities
from searchmark.systems.calling import CalledSystem
from searchmark.systems.naming import input_error
from searchmark.systems.parts import parts_of
from searchmark.systems.policy import CallPolicy
from searchmark.systems.pool import Failed, Pool
from searchmark.systems.protocol import Entry, Progress, Query, System
from searchmark.systems.runfile import RunSystem
from searchmark.version import __version__


def run_experiment(
    project: Project,
    systems: Sequence[str] | None = None,
    *,
    answers: Mapping[str, Sequence[Call]] | None = None,
    progress: Progress | None = None,
    sensitivity: bool = True,
    reuse: bool = False,
) -> Experiment:
    """Run the named systems (all by default), one after the other, and score them.

    Each finished system is kept before the next one starts; an interrupted one resumes where it
    stopped when it is run again. `answers` are what systems said just now: it is not asked again.
    What the queries can show is reckoned unless `sensitivity` is False, where nobody shows it. With
    `reuse` a system is not asked where a bundle of everything it depends on is kept.

    One that cannot be opened, asked or closed keeps no other one from being run and kept; then its
    error is raised.
    """
    experiment = try_experiment(
        project, systems, answers=answers, progress=progress, sensitivity=sensitivity, reuse=reuse
    )
    experiment.check_used()
    return experiment


def try_experiment(
    project: Project,
    systems: Sequence[str] | None = None,
    *,
    answers: Mapping[str, Sequence[Call]] | None = None,
    progress: Progress | None = None,
    sensitivity: bool = True,
    reuse: bool = False,
) -> Experiment:
    """Do the same and tell in `Experiment.failed` of systems that could not be used.

    Only where none is left the error is raised.
    """
    inputs = read_inputs(project)
    store = Store(project.folder / ".searchmark")
    locate = partial(place_of, project.path)
    outcomes, failed = list[Outcome](), list[Failed]()
    with Pool(
        project.systems,
        inputs.corpus,
        folder=project.folder,
        cache=store.folder,
        progress=progress,
        locate=locate,
    ) as pool:
        work = _Work(project, inputs, store, pool, answers or {}, progress, reuse)
        for name in systems or list(project.systems):
            try:
                system = pool.open(name)
            except SearchmarkError as error:
                failed.append(Failed(name, error, locate(name)))
                continue
            try:
                outcomes.append(_outcome(system, work))
            except InputError as error:  # its configuration, or its journal: not that of another
                place = locate(name)
                failed.append(Failed(name, input_error(error, name, place), place))
        unclosed = pool.close()
    if not failed and not any(o.invalid for o in outcomes):
        # until then every answer stays in a journal, so that the next try asks only what is missing
        for outcome in outcomes:
            store.journal(outcome.digest).unlink(missing_ok=True)
    failed += unclosed
    if not outcomes:
        raise failure(failed) from failed[0].error.__cause__
    evaluation = _evaluation(work, outcomes, failed)
    if sensitivity:
        counted = [s for s in evaluation.systems if s.invalid is None]
        seen = sensitivities(counted, inputs.measures, inputs.groups)
        evaluation = replace(evaluation, sensitivity=seen)
    return Experiment(inputs, tuple(outcomes), evaluation, tuple(failed))


class _Work(NamedTuple):
    """What the run of one system needs, beside the system."""

    project: Project
    inputs: Inputs
    store: Store
    pool: Pool
    answers: Mapping[str, Sequence[Call]]
    progress: Progress | None
    reuse: bool


def _outcome(system: CalledSystem, work: _Work) -> Outcome:
    """Return what is kept of a system where that will do, or else run it."""
    facts = _facts(system, work)
    kept = _stored(system, facts, work) if work.reuse else None
    return kept or _run_system(system, facts, work)


def _stored(system: System, facts: Mapping[str, Any], work: _Work) -> Outcome | None:
    """Return the outcome of answers that are kept; None where there are none.

    Nor where the system failed since then: who looks closer wants to see that.
    """
    digest, policy, store = digest_of(facts), _policy(work.project, system), work.store
    folder = store.bundle(digest)
    stored = None if store.invalid_bundle(digest).exists() else stored_answers(folder)
    if stored is None or why_invalid(stored.calls, policy) is not None:
        return None
    calls = stored.calls
    if [c.query_id for c in calls] != work.inputs.queries.query_ids:
        return None  # what is damaged is asked again
    hits, scores = _scored(system.name, calls, work.inputs, policy)
    return Outcome(system.name, calls, hits, scores, digest, folder, stored.made, policy)


def _policy(project: Project, system: System) -> CallPolicy:
    return project.systems[system.name].calls


def _scored(
    system: str, calls: Sequence[Call], inputs: Inputs, policy: CallPolicy
) -> tuple[Hits, SystemScores]:
    hits = hits_of(calls, inputs)
    scores = summarize(system, hits, inputs.measures, _categories(inputs))
    scores = replace(scores, invalid=why_invalid(calls, policy))
    return hits, with_intervals(scores, inputs.measures, inputs.groups)


def _run_system(system: CalledSystem, facts: Mapping[str, Any], work: _Work) -> Outcome:
    """Ask a system every query that is not answered yet, and keep what comes of it."""
    project, inputs, store, policy = (
        work.project,
        work.inputs,
        work.store,
        _policy(work.project, system),
    )
    digest = digest_of(facts)

    def told(done: int, total: int) -> None:
        if work.progress is not None:
            work.progress(f"asking {system.name}", done, total)

    with open_journal(store.journal(digest)) as journal:
        for call in work.answers.get(system.name, ()):
            if not call.is_failure and call.query_id not in journal.calls:
                journal.append(call)
        calls = ask_all(
            system, inputs.queries, project.file.depth, journal, calls=policy, progress=told
        )
        hits, scores = _scored(system.name, calls, inputs, policy)
        manifest = {
            **{"format": FORMAT, "digest": digest, "invalid": scores.invalid},
            **facts,
            **circumstances(project.folder),
            "limits": msgspec.to_builtins(policy),
        }
        folder = store.bundle(digest) if scores.invalid is None else store.invalid_bundle(digest)
        write_bundle(folder, manifest, calls, scores)
    if scores.invalid is None:
        rmtree(store.invalid_bundle(digest), ignore_errors=True)
    return Outcome(
        system.name,
        tuple(calls),
        hits,
        scores,
        digest,
        folder,
        policy=policy,
        notes=tuple(damage_notes(system.name, journal)),
        contrast=_contrast(system, calls, inputs),
    )


def _contrast(system: CalledSystem, calls: Sequence[Call], inputs: Inputs) -> str:
    """Return what a run file with none of the queries holds; nothing where it has one."""
    if not isinstance(system.inner, RunSystem) or count_missing(calls) < len(calls):
        return ""
    first = Query(inputs.queries.query_ids[0], inputs.queries.texts[0])
    return system.inner.contrast(first)


def _facts(system: System, work: _Work) -> dict[str, Any]:
    """Return everything that a system's run and scores depend on."""
    project, inputs = work.project, work.inputs
    return {
        "system": system.name,
        "configuration": _configuration(system.name, project.systems),
        "identity": dict(system.identity),
        **fingerprint(work.pool.variables(system.name), work.store.folder),
        "depth": project.file.depth,
        "inputs": dict(inputs.digests),
        "complete": project.file.complete,
        "conventions": dict(inputs.conventions),
        "version": __version__,
    }


def _configuration(name: str, entries: Mapping[str, Entry]) -> dict[str, Any]:
    """Return a system's table, with the tables of the systems it is made of."""
    entry = entries[name]
    table = {"use": entry.use, **msgspec.to_builtins(entry.config)}
    parts = {part: _configuration(part, entries) for part in parts_of(entry.config)}
    return {**table, "parts": parts} if parts else table


def hits_of(calls: Sequence[Call], inputs: Inputs) -> Hits:
    """Reduce a system's answers to hits; its own order counts, and of a repeated id the first."""
    table = run_table(calls)
    if table.is_empty():  # then nothing lacks its tokens either
        table = table.with_columns(pl.lit(None, pl.Float64).alias("tokens"))
    hits = find_hits(Run(table), inputs.judged, order="rank", keep_first=True)
    hits = mark_calls(
        hits,
        answered={c.query_id for c in calls if c.is_answer},
        failed={c.query_id for c in calls if c.is_failure},
    )
    once = table.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    ranked = once.with_columns(pl.int_range(1, pl.len() + 1).over("query_id").alias("rank"))
    return with_violations(hits, ranked, inputs.queries, inputs.corpus)


def _categories(inputs: Inputs) -> list[str | None]:
    category = dict(zip(inputs.queries.query_ids, inputs.queries.categories, strict=True))
    return [category.get(q) for q in inputs.judged.query_ids]


def _evaluation(work: _Work, outcomes: Sequence[Outcome], failed: Sequence[Failed]) -> Evaluation:
    project, inputs = work.project, work.inputs
    categories: dict[str, int] = {}
    for category in _categories(inputs):
        if category:
            categories[category] = categories.get(category, 0) + 1
    return Evaluation(
        systems=tuple(o.scores for o in outcomes),
        conventions=inputs.conventions,
        profile=inputs.profile,
        n_queries=inputs.judged.n_queries,
        categories=dict(sorted(categories.items())),
        digests=inputs.digests,
        notes=(
            *failed_notes(failed, outcomes),
            *invalid_notes(outcomes),
            *(note for o in outcomes for note in o.notes),
            *find_notes(
                inputs,
                {o.system: o.hits for o in outcomes},
                {o.system for o in outcomes if o.invalid},
            ),
            *partial_notes(outcomes),
            *stranger_notes(inputs.corpus, outcomes, work.pool.secrets),
        ),
        calls={
            o.system: summarize_calls(o.calls)
            for o in outcomes
            if project.systems[o.system].use != "run"  # its answers were given elsewhere
        },
    )
