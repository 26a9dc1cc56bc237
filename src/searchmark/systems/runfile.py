"""A run file as a system: what was retrieved elsewhere, or what users really saw."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from searchmark.data.files import sha256
from searchmark.data.judged import prepare
from searchmark.data.logs import LogColumns, Showing, folded, read_showings
from searchmark.data.ordering import put_in_order
from searchmark.data.qrels import Qrels
from searchmark.data.run import Run, read_run
from searchmark.data.showings import Choice, rankings_of
from searchmark.data.times import seconds, written
from searchmark.errors import InputError, Problem, quoted
from searchmark.systems.protocol import Answer, Context, Entry, Hit, Kind, Query, System, Tag


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "run"``: the file, relative to the project file.

    With `columns` the file is a log of results that users saw. `where` picks its rows, `since` and
    `until` its times; `showing` says which list counts where a query was shown several, `match`
    whether query texts must be the same to the letter. `tags` says what made it: lexical, vector,
    hybrid.
    """

    path: str
    columns: LogColumns | None = None
    where: dict[str, str] = {}
    showing: Choice = "latest"
    match: Literal["exact", "folded"] = "exact"
    since: str | None = None
    until: str | None = None
    tags: list[Tag] = []


Lookup = Literal["query_id", "text", "folded"]
"""By what a stored ranking is found."""


@dataclass(frozen=True, slots=True, eq=False)
class RunSystem:
    """Answers each query with the ranking that the file holds for it."""

    name: str
    rankings: Mapping[str, tuple[Hit, ...]]
    identity: Mapping[str, str]
    tags: frozenset[str] = frozenset()
    lookup: Lookup = "query_id"

    def search(self, query: Query, k: int) -> Answer:
        """Return the first `k` documents of the stored ranking; a query not in it is missing."""
        found = self.rankings.get(self._key(query))
        return Answer(() if found is None else found[:k], is_given=found is not None)

    def contrast(self, query: Query) -> str:
        """Return one of the file's queries beside one of the query set's that it does not hold."""
        first = next(iter(self.rankings), "")
        return (
            f"the file begins with {quoted(first)}, the query set with {quoted(self._key(query))}"
        )

    def _key(self, query: Query) -> str:
        if self.lookup == "query_id":
            return query.query_id
        return folded(query.text) if self.lookup == "folded" else query.text


@contextmanager
def open_run(name: str, config: Config, context: Context) -> Iterator[System]:
    """Read the file and put it in the one order that counts."""
    path = context.folder / config.path
    identity = {"run": sha256(path)}
    lookup: Lookup = "query_id"
    if config.columns is None:
        found = rankings(read_run(path))
    else:
        found = seen_rankings(path, config, config.columns)
        if config.columns.query is not None:
            lookup = "folded" if config.match == "folded" else "text"
    yield RunSystem(name, found, identity, frozenset(config.tags), lookup)


def seen_rankings(path: Path, config: Config, columns: LogColumns) -> dict[str, tuple[Hit, ...]]:
    """Return each query's documents as a log tells that they were shown.

    Raises InputError where no list counts.
    """
    shown = read_showings(path, columns, config.where, fold=config.match == "folded")
    since, until = seconds(config.since), seconds(config.until)
    chosen = rankings_of(shown, config.showing, since=since, until=until)
    if not chosen:
        raise _nothing_counts(path, config, shown)
    return {
        query: tuple(
            Hit(r.doc_id, None if r.mean_position is None else -r.mean_position, r.tokens)
            for r in ranked
        )
        for query, ranked in chosen.items()
    }


def _nothing_counts(path: Path, config: Config, shown: Sequence[Showing]) -> InputError:
    """Return what keeps every list of a log from counting: when it was shown, or its gaps."""
    since, until = seconds(config.since), seconds(config.until)
    if rankings_of(shown, "mean", since=since, until=until):
        return InputError(
            "no list of the log counts: ranks are left out in every one",
            path=path,
            fix='set showing = "mean", check columns.rank, or read a log of whole lists',
        )
    times = [s.time for s in shown if s.time is not None]
    span = f": its times are from {written(min(times))} to {written(max(times))}" if times else ""
    return InputError(
        f"no list of the log was shown in the time asked for{span}",
        path=path,
        fix="check 'since' and 'until'",
    )


def rankings(run: Run) -> dict[str, tuple[Hit, ...]]:
    """Return each query's documents in the order that counts for a run file."""
    query_ids = run.frame["query_id"].unique(maintain_order=True).to_list()
    ordered = put_in_order(run, prepare(Qrels.from_dict({}), query_ids=query_ids, complete=True))
    found: dict[str, list[Hit]] = {q: [] for q in query_ids}
    rows, by = ordered.rows, ordered.by
    doc_ids = rows.doc_ids.gather(by).to_list()
    scores = run.frame["score"].gather(rows.at[by]).to_list()
    has_tokens = "tokens" in run.frame.columns
    tokens = run.frame["tokens"].gather(rows.at[by]).to_list() if has_tokens else [None] * len(by)
    for code, *hit in zip(rows.code[by].tolist(), doc_ids, scores, tokens, strict=True):
        found[query_ids[code]].append(Hit(*hit))
    return {q: tuple(hits) for q, hits in found.items()}


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report a path that no machine can hold, and keys of a log that do not go together."""
    problems = [Problem("path", "is no path")] if "\0" in config.path else []
    columns = config.columns
    if columns is None:
        given = [key for key in ("where", "since", "until") if getattr(config, key)]
        given += ["showing"] if config.showing != "latest" else []
        given += ["match"] if config.match != "exact" else []
        return problems + [
            Problem(key, "is for logs, and without 'columns' the file is none") for key in given
        ]
    if (columns.query is None) == (columns.query_id is None):
        problems.append(Problem("columns", "must name one of 'query' and 'query_id'"))
    if config.match == "folded" and columns.query is None:
        problems.append(Problem("match", "is for texts, and 'columns' names a query id"))
    for key in ("since", "until"):
        value = getattr(config, key)
        if value is not None and seconds(value) is None:
            problems.append(Problem(key, f"'{value}' is no time, such as 2026-03-01T12:00:00Z"))
        elif value is not None and columns.time is None:
            problems.append(Problem(key, "needs columns.time"))
    since, until = seconds(config.since), seconds(config.until)
    if since is not None and until is not None and since >= until:
        why = f"'{config.until}' is not after since ('{config.since}'), so no list would count"
        problems.append(Problem("until", why))
    return problems


RUN = Kind(Config, open_run, find_problems)
