"""A run file as a system: what was retrieved elsewhere, evaluated beside what is retrieved here."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from searchmark.data.files import sha256
from searchmark.data.judged import prepare
from searchmark.data.ordering import put_in_order
from searchmark.data.qrels import Qrels
from searchmark.data.run import Run, read_run
from searchmark.errors import Problem
from searchmark.systems.protocol import Answer, Context, Entry, Hit, Kind, Query, System, Tag


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "run"``: the file, relative to the project file.

    `tags` says what made it: lexical, vector, hybrid.
    """

    path: str
    tags: list[Tag] = []


@dataclass(frozen=True, slots=True, eq=False)
class RunSystem:
    """Answers each query with the ranking that the file holds for it."""

    name: str
    rankings: Mapping[str, tuple[Hit, ...]]
    identity: Mapping[str, str]
    tags: frozenset[str] = frozenset()

    def search(self, query: Query, k: int) -> Answer:
        """Return the first `k` documents of the stored ranking; a query not in it is missing."""
        found = self.rankings.get(query.query_id)
        return Answer(() if found is None else found[:k], is_given=found is not None)


@contextmanager
def open_run(name: str, config: Config, context: Context) -> Iterator[System]:
    """Read the file and put it in the one order that counts."""
    path = context.folder / config.path
    identity = {"run": sha256(path)}
    yield RunSystem(name, rankings(read_run(path)), identity, frozenset(config.tags))


def rankings(run: Run) -> dict[str, tuple[Hit, ...]]:
    """Return each query's documents in the order that counts for a run file."""
    query_ids = run.frame["query_id"].unique(maintain_order=True).to_list()
    ordered = put_in_order(run, prepare(Qrels.from_dict({}), query_ids=query_ids, complete=True))
    found: dict[str, list[Hit]] = {q: [] for q in query_ids}
    rows, by = ordered.rows, ordered.by
    doc_ids = rows.doc_ids.gather(by).to_list()
    scores = run.frame["score"].gather(rows.at[by]).to_list()
    for code, doc_id, score in zip(rows.code[by].tolist(), doc_ids, scores, strict=True):
        found[query_ids[code]].append(Hit(doc_id, score))
    return {q: tuple(hits) for q, hits in found.items()}


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report a path that no machine can hold."""
    return [Problem("path", "is no path")] if "\0" in config.path else []


RUN = Kind(Config, open_run, find_problems)
