"""What a measure is: its name, its parameters, its formula, and where the formula comes from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.view import View

Value = str | int | float
Values = NDArray[np.float64]
Compute = Callable[[View, "Measure"], Values]
Cutoff = Literal["required", "optional", "none"]
Aggregate = Literal["mean", "sum", "geometric"]
Kind = Literal["word", "whole number", "number"]
Ties = Literal["better-first", "unaffected", "sampled", "unknown"]

EMPTY = ("one", "zero", "skip")


class Param(NamedTuple):
    """One parameter: what it sets, its default, and the values it may take.

    `choices` list the allowed words; without them a value of `kind` is taken, from `low` to `high`
    where those are given. A default of None means that it may be left out.
    """

    doc: str
    default: Value | None
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    kind: Kind = "word"


REL = Param("the least grade that counts as relevant", 1, low=1, kind="whole number")
DOCS = Param(
    "a true-or-false field of the corpus; only documents where it is true can be right", None
)
NEGATIVE = Param(
    "what a negative grade says: judged and not relevant, or, as in trec_eval, not judged at all",
    "judged",
    choices=("judged", "unjudged"),
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with every parameter in force, such as ``nDCG(dcg=exp-log2, ...)@10``.

    `written` is its short notation, which heads columns; `full` states every convention.
    """

    spec: "Spec" = field(repr=False)
    cutoff: int | None
    params: tuple[tuple[str, Value | None], ...] = field(repr=False)
    written: str

    def __getitem__(self, name: str) -> Value | None:
        return dict(self.params)[name]

    def integer(self, name: str) -> int:
        """Return a parameter known to be a whole number."""
        return int(str(self[name]))

    def number(self, name: str) -> float:
        """Return a parameter known to be a number."""
        return float(str(self[name]))

    def text(self, name: str) -> str | None:
        """Return a parameter known to be text, or None."""
        value = self[name]
        return None if value is None else str(value)

    @property
    def full(self) -> str:
        """Name, every parameter in force and the cutoff: the conventions of a number."""
        inside = ",".join(f"{k}={v}" for k, v in self.params if v is not None)
        at = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.spec.name}({inside}){at}" if inside else f"{self.spec.name}{at}"

    def __str__(self) -> str:
        return self.written


class Edges(NamedTuple):
    """What a measure does where data run out, a phrase each; made into the reference.

    `nothing_judged` speaks of results none of which was judged.
    """

    nothing_relevant: str = "undefined; `empty` decides"
    nothing_retrieved: str = "0; `missing` decides for a query without an answer"
    nothing_judged: str = "the results count as not relevant"
    fewer_results: str = "the missing ranks count as not relevant"
    negative_grades: str = "judged, not relevant"


_ORDINARY = Edges()


@dataclass(frozen=True, slots=True)
class Spec:
    """A family member that can be asked for by name.

    `compute` gives one value a query, NaN where the measure is undefined because nothing is
    relevant; `empty` and `missing` are applied afterwards, the same way for all (None: the measure
    has no such parameter). `at` names the parameter that ``@`` sets where it is no cutoff.
    `profiles` maps a profile to the defaults it changes. `trec` is trec_eval's name, `trec_cut`
    its name for the same with a number behind it, which is the cutoff or the parameter `trec_at`.
    `ties` says how the order inside ties moves the value.
    """

    name: str
    summary: str
    compute: Compute = field(repr=False)
    cutoff: Cutoff = "optional"
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)
    aliases: tuple[str, ...] = ()
    trec: str | None = None
    trec_cut: str | None = None
    trec_at: str | None = None
    at: str | None = None
    low: float | None = 0.0
    high: float | None = 1.0
    higher_is_better: bool = True
    has_ceiling: bool = True
    empty: Literal["one", "zero", "skip"] | None = "zero"
    missing: Literal["zero", "skip", "keep"] | None = "zero"
    aggregate: Aggregate = "mean"
    profiles: Mapping[str, Mapping[str, Value]] = field(default_factory=dict, hash=False)
    reference: str = ""
    ties: Ties = "better-first"
    edges: Edges = _ORDINARY

    def all_params(self) -> dict[str, Param]:
        """Return the measure's own parameters and the conventions that all measures share."""
        shared: dict[str, Param] = {}
        if self.empty is not None:
            shared["empty"] = Param(
                "the value of a query with nothing relevant", self.empty, choices=EMPTY
            )
        if self.missing is not None:
            shared["missing"] = Param(
                "what a judged query that was not answered counts as",
                self.missing,
                choices=("keep" if self.missing == "keep" else "zero", "skip"),
            )
        return {**self.params, **shared}

    def names(self) -> tuple[str, ...]:
        """Return every way to write the name without a cutoff, the proper one first."""
        return (self.name, *self.aliases, *([self.trec] if self.trec else []))
