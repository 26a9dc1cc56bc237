"""One rolling evaluation: the catalog listed, a sample of it asked for, the answers measured."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from searchmark.data import Corpus, Queries
from searchmark.errors import InputError, SystemFailedError
from searchmark.experiments.journal import Call, open_journal
from searchmark.experiments.latency import summarize_calls
from searchmark.experiments.rolling.listing import list_entries
from searchmark.experiments.rolling.measuring import LEAST_DEPTH, group_of, items_of
from searchmark.experiments.rolling.sampling import Sample, draw
from searchmark.experiments.rolling.target import LISTING, SEARCH, Target
from searchmark.experiments.rolling.texts import KnownItemQuery, texts_of
from searchmark.experiments.runner import ask_all
from searchmark.experiments.validity import why_invalid
from searchmark.reports.rollingrecord import Catalog, Record, Sampled
from searchmark.systems.policy import CallPolicy
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Progress
from searchmark.systems.selection import compile_path

SAMPLE, MOST_ENTRIES = 100, 100_000

MOST_ERRORS = 3
"""Different errors that a record tells of."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How many entries are asked for, under which seed, and how many results of each query.

    A catalog of more than `most_entries` is refused.
    """

    sample: int = SAMPLE
    seed: int = 0
    depth: int = LEAST_DEPTH
    most_entries: int = MOST_ENTRIES
    made: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


def evaluate(target: Target, plan: Plan, progress: Progress | None = None) -> Record:
    """Evaluate a live catalog once.

    Raises SystemFailedError where it cannot be listed, is empty, or too many searches failed.
    """
    nothing = Corpus(pl.DataFrame(schema={"doc_id": pl.String}))
    with (
        TemporaryDirectory(prefix="searchmark-rolling-") as scratch,
        Pool(
            target.entries(),
            nothing,
            folder=target.folder,
            cache=Path(scratch),
            progress=progress,
        ) as pool,
    ):
        system = pool.open(SEARCH)  # a wrong configuration is told before anything is listed
        listed = list_entries(pool.open(LISTING), target.listing, plan.most_entries, progress)
        sample = draw(listed, plan.sample, plan.seed)
        queries = _known_item_queries(sample, target)

        def told(done: int, total: int) -> None:
            if progress is not None:
                progress("asking for the sample", done, total)

        # the journal of one attempt: answers of another hour are no part of this measurement
        with open_journal(Path(scratch) / "journal.jsonl") as journal:
            policy = target.search.calls
            calls = ask_all(
                system, _as_queries(queries), plan.depth, journal, calls=policy, progress=told
            )
    _check(calls, policy)
    return _record(target, plan, sample, queries, calls)


def _known_item_queries(sample: Sample, target: Target) -> list[KnownItemQuery]:
    if not sample.entries:
        raise SystemFailedError(f"{target.name} lists no entries, so there is nothing to ask for")
    places = {k: compile_path(e, f"texts.{k}") for k, e in target.texts.items()}
    found = [
        KnownItemQuery(entry.doc_id, kind, text)
        for entry in sample.entries
        for kind, text in texts_of(entry.document, places).items()
    ]
    if not found:
        first = sample.entries[0].document
        has = ", ".join(list(first)[:8]) if isinstance(first, dict) else "no fields"
        raise InputError(
            f"none of the {len(sample.entries)} sampled entries has a text to be asked for by "
            f"(an entry has {has})",
            fix="say where texts are, as --text description=FIELD",
        )
    return found


def _as_queries(queries: Sequence[KnownItemQuery]) -> Queries:
    frame = pl.DataFrame(
        {"query_id": [a.query_id for a in queries], "text": [a.text for a in queries]}
    )
    return Queries(frame, {})


def _check(calls: Sequence[Call], policy: CallPolicy) -> None:
    """Raise where the calls are no measurement: to fail is not to find nothing."""
    why = why_invalid(calls, policy)
    if why is not None:
        first = next((f"; the first error: {c.error}" for c in calls if c.is_failure), "")
        raise SystemFailedError(f"{why}; nothing is recorded{first}")


def _record(
    target: Target,
    plan: Plan,
    sample: Sample,
    queries: Sequence[KnownItemQuery],
    calls: Sequence[Call],
) -> Record:
    items = items_of(queries, calls)
    errors = dict.fromkeys(c.error for c in calls if c.is_failure and c.error)
    return Record(
        made=plan.made,
        api=target.name,
        depth=plan.depth,
        texts=dict(target.texts),
        catalog=Catalog(sample.n_catalog, sample.n_repeated, sample.catalog_sha256),
        sample=Sampled(
            seed=plan.seed,
            n_wanted=plan.sample,
            n_entries=len(sample.entries),
            sha256=sample.sha256,
            n_without_text={
                kind: len(sample.entries) - sum(q.kind == kind for q in queries)
                for kind in target.texts
            },
        ),
        whole=group_of([i for i in items if i.state == "whole"]),
        partial=group_of([i for i in items if i.state == "partial"]),
        n_failed=sum(i.state == "failed" for i in items),
        errors=list(errors)[:MOST_ERRORS],
        calls=summarize_calls(calls)._asdict(),
        items=items,
    )
