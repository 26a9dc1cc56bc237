"""The values that order exact ties, read from the tables of the catalog."""

from collections.abc import Sequence
from typing import Any

from searchmark.retrieval.layout import SETTLEMENTS, UPDATED


def columns(ties: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the columns of the alias ``d`` that hold the values of ties, and their parameters."""
    pieces, names = [], {}
    for i, tie in enumerate(ties):
        if tie == SETTLEMENTS:
            pieces.append("d.settlement_count")
        elif tie == UPDATED:  # in microseconds, as `retrieval.instants` orders them
            pieces.append("(extract(epoch FROM d.last_updated) * 1000000)::bigint")
        else:
            pieces.append(f"d.fields -> %(tie{i})s::text")
            names[f"tie{i}"] = tie
    return ", ".join([*pieces, "0"]), names


def keys(rows: Sequence[tuple[Any, ...]], ties: Sequence[str]) -> list[list[Any]]:
    """Return one sequence of values a tie, as `retrieval.ordering.priority` takes them."""
    return [[row[i] for row in rows] for i in range(len(ties))]
