"""What the built-in systems share: rows and ids, hard filters, the order of exact ties."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from searchmark.data.corpus import Corpus
from searchmark.data.filters import Filter, allowed
from searchmark.errors import InputError, Problem, nearest
from searchmark.retrieval.constraints import Constraint, extract
from searchmark.retrieval.instants import instants, microseconds
from searchmark.retrieval.layout import UPDATED
from searchmark.retrieval.ordering import Scored, priority, top
from searchmark.systems.protocol import Answer, Hit, Query


class ConstraintConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pattern in the query text that becomes a hard filter and is cut from the text.

    Group 1 of `pattern` (or the group called value) is the value that `field` is compared with;
    `values` maps what people write to what the corpus stores.
    """

    pattern: str
    field: str
    op: str = "="
    values: dict[str, str] = {}


def constraints_of(configs: Sequence[ConstraintConfig]) -> tuple[Constraint, ...]:
    """Return the constraints a system was configured with; a bad pattern is an InputError."""
    return tuple(Constraint(c.pattern, c.field, op=c.op, values=c.values) for c in configs)


def constraint_problems(configs: Sequence[ConstraintConfig]) -> list[Problem]:
    """Report constraints that cannot be compiled."""
    found = []
    for i, config in enumerate(configs):
        try:
            constraints_of([config])
        except InputError as error:
            found.append(Problem(f"constraints[{i}]", str(error)))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Catalog:
    """The corpus as the built-in systems see it.

    `order` is each document's place among exact ties: the configured fields, greatest first, then
    the document id, last first.
    """

    frame: pl.DataFrame
    doc_ids: tuple[str, ...]
    order: NDArray[np.int64]
    constraints: tuple[Constraint, ...]

    def understand(self, query: Query) -> tuple[str, tuple[Filter, ...]]:
        """Return the text to search for and every hard filter that holds."""
        if not self.constraints:
            return query.text, query.filters
        found = extract(query.text, self.constraints)
        return found.text, (*query.filters, *found.filters)

    def allowed(self, filters: tuple[Filter, ...]) -> NDArray[np.bool_] | None:
        """Return which documents pass the filters; None where there are none."""
        return allowed(self.frame, filters) if filters else None

    def answer(self, scored: Scored, k: int, *, partial: bool = False) -> Answer:
        """Return the best `k` as an answer, ties in the configured order."""
        best = top(scored, self.order, k)
        return Answer(
            tuple(
                Hit(self.doc_ids[row], score)
                for row, score in zip(best.rows.tolist(), best.scores.tolist(), strict=True)
            ),
            partial,
        )


def open_catalog(
    corpus: Corpus, *, ties: Sequence[str] = (), constraints: Sequence[ConstraintConfig] = ()
) -> Catalog:
    """Prepare the corpus for one system; a field that does not exist is an InputError."""
    for name in (*ties, *(c.field for c in constraints)):
        if name not in corpus.frame.columns:
            raise InputError(
                f"the corpus has no field '{name}'",
                path=corpus.path,
                fix=nearest(name, corpus.frame.columns),
            )
    ids = corpus.doc_ids
    keys = [_values(corpus, name) for name in ties]
    return Catalog(corpus.frame, tuple(ids), priority(ids, *keys), constraints_of(constraints))


def _values(corpus: Corpus, name: str) -> Sequence[object]:
    """Return what orders ties; last updates by the moment, in whatever zone they are written."""
    if name == UPDATED:
        return [microseconds(moment) for moment in instants(corpus)]
    return corpus.frame[name].to_list()
