"""The built-in fusion: several systems asked for one query, their rankings joined by rank alone."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from searchmark.errors import Problem, SystemDownError, SystemFailedError, failure_text
from searchmark.retrieval.fusion import reciprocal_rank_fusion
from searchmark.systems.catalog import (
    Catalog,
    ConstraintConfig,
    constraint_problems,
    open_catalog,
)
from searchmark.systems.parts import part_problem
from searchmark.systems.protocol import Answer, Context, Entry, Kind, Query, System

_log = logging.getLogger(__name__)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "hybrid"``.

    `of` names the systems that are fused, `k` is the constant of reciprocal rank fusion, `depth`
    how many results each is asked for, whatever is wanted of the fusion. Hard filters found by
    `constraints` are cut from the text before the systems see it and hold for all of them; `ties`
    order exact ties.
    """

    of: list[str]
    k: float = 60
    depth: int = 1000
    constraints: list[ConstraintConfig] = []
    ties: list[str] = []


@dataclass(frozen=True, slots=True, eq=False)
class HybridSystem:
    """Reciprocal rank fusion.

    `partial` is set when an arm failed or answered partially. A run file without the query found
    nothing for it, as such files leave out what has no results; where none has it, it is missing.
    """

    name: str
    catalog: Catalog
    arms: tuple[System, ...]
    config: Config
    row_of: Mapping[str, int]
    tags: frozenset[str] = frozenset({"hybrid"})
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the best `k` documents of the fused ranking.

        Every arm is asked for `depth`, however many are wanted: another depth would be another
        ranking, and its next page would not go on where this one ends.
        """
        text, filters = self.catalog.understand(query)
        inner = Query(query.query_id, text, filters)
        mask = self.catalog.allowed(filters)
        answers = [self._ask(arm, inner, self.config.depth) for arm in self.arms]
        given = [a for a in answers if isinstance(a, Answer)]
        if not given:
            why = next(failure_text(a) for a in answers if isinstance(a, Exception))
            raise SystemFailedError(f"every arm of '{self.name}' failed: {why}")
        if not any(a.is_given for a in given):
            return Answer((), partial=len(given) < len(answers), is_given=False)
        fused = reciprocal_rank_fusion([self._rows(a, mask) for a in given], k=self.config.k)
        partial = len(given) < len(answers) or any(a.partial for a in given)
        return self.catalog.answer(fused, k, partial=partial)

    def _ask(self, arm: System, query: Query, depth: int) -> Answer | Exception:
        """Ask one arm; what it raises is returned, so that the others still answer.

        One that is down is no slip: what the others make alone would pass for the fusion.
        """
        try:
            return arm.search(query, depth)
        except SystemDownError as error:
            raise SystemFailedError(f"its arm '{arm.name}' is down: {error}") from error
        except Exception as error:
            why = failure_text(error)
            _log.warning("%s: arm %s failed on %s: %s", self.name, arm.name, query.query_id, why)
            return error

    def _rows(self, answer: Answer, mask: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Return an arm's ranking as rows; arms that know no filters are filtered here."""
        rows = dict.fromkeys(self.row_of[h.doc_id] for h in answer.hits if h.doc_id in self.row_of)
        found = np.array(list(rows), np.int64)
        return found if mask is None else found[mask[found]]


@contextmanager
def open_hybrid(name: str, config: Config, context: Context) -> Iterator[System]:
    """Open the arms."""
    catalog = open_catalog(context.corpus, ties=config.ties, constraints=config.constraints)
    arms = tuple(context.open(arm) for arm in config.of)
    identity = {f"{a.name}.{k}": v for a in arms for k, v in a.identity.items()}
    row_of = {d: i for i, d in enumerate(catalog.doc_ids)}
    yield HybridSystem(name, catalog, arms, config, row_of, identity=identity)


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report arms that do not exist or contain the system itself, and values that cannot be."""
    found = constraint_problems(config.constraints)
    if not config.of:
        found.append(Problem("of", "names no system; give at least one"))
    for i, arm in enumerate(config.of):
        if problem := part_problem(name, arm, systems, f"of[{i}]"):
            found.append(problem)
    if len(set(config.of)) < len(config.of):
        found.append(Problem("of", "names a system twice"))
    if not 0 <= config.k < float("inf"):
        found.append(Problem("k", f"{config.k:g} is not 0 or more"))
    if config.depth < 1:
        found.append(Problem("depth", f"{config.depth} is not 1 or more"))
    return found


HYBRID = Kind(Config, open_hybrid, find_problems, frozenset({"hybrid"}))
