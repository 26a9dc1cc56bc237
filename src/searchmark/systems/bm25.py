"""The built-in keyword search."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from searchmark.errors import Problem
from searchmark.retrieval.analysis import Analyzer
from searchmark.retrieval.bm25f import BM25F
from searchmark.systems.catalog import (
    Catalog,
    ConstraintConfig,
    constraint_problems,
    open_catalog,
)
from searchmark.systems.protocol import Answer, Context, Entry, Kind, Query, System


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "bm25"``.

    `fields` are weighted (or listed, weighing 1 each). `candidates` "and" asks for every word of
    the query; with `fallback` the words are joined by OR where nothing has them all. `substring`
    names fields in which the whole query text may stand inside the value.
    """

    fields: dict[str, float] | list[str] = msgspec.field(default_factory=lambda: ["title", "text"])
    k1: float = 1.2
    b: float = 0.75
    candidates: Literal["and", "or"] = "and"
    fallback: bool = True
    substring: list[str] = []
    language: Literal["english", "none"] = "english"
    constraints: list[ConstraintConfig] = []
    ties: list[str] = []


@dataclass(frozen=True, slots=True, eq=False)
class Bm25System:
    """Keyword search over a finished-score index."""

    name: str
    catalog: Catalog
    index: BM25F
    config: Config
    tags: frozenset[str] = frozenset({"lexical"})
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the best `k` documents."""
        text, filters = self.catalog.understand(query)
        scored = self.index.scores(
            text,
            candidates=self.config.candidates,
            fallback=self.config.fallback,
            allowed=self.catalog.allowed(filters),
        )
        return self.catalog.answer(scored, k)


@contextmanager
def open_bm25(name: str, config: Config, context: Context) -> Iterator[System]:
    """Index the corpus."""
    corpus = context.corpus
    weights = _weights(config)
    catalog = open_catalog(corpus, ties=config.ties, constraints=config.constraints)
    index = BM25F.build(
        {f: corpus.texts(f) for f in weights},
        weights=weights,
        k1=config.k1,
        b=config.b,
        analyzer=Analyzer(config.language),
        substring={f: corpus.texts(f) for f in config.substring} or None,
    )
    yield Bm25System(name, catalog, index, config)


def _weights(config: Config) -> dict[str, float]:
    if isinstance(config.fields, dict):
        return dict(config.fields)
    return dict.fromkeys(config.fields, 1.0)


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report values that make no index."""
    found = constraint_problems(config.constraints)
    if not config.fields:
        found.append(Problem("fields", "names no field; give at least one"))
    found += [
        Problem(f"fields.{f}", f"the weight {w:g} is not above 0")
        for f, w in _weights(config).items()
        if not 0 < w < float("inf")
    ]
    if not 0 <= config.b <= 1:
        found.append(Problem("b", f"{config.b:g} is not from 0 to 1"))
    if not 0 <= config.k1 < float("inf"):
        found.append(Problem("k1", f"{config.k1:g} is not 0 or more"))
    return found


BM25 = Kind(Config, open_bm25, find_problems, frozenset({"lexical"}))
