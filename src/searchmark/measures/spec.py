"""What a measure is: its name, its parameters, its formula, and where the formula comes from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.view import View

Value = str | int | float
Values = NDArray[np.float64]
Compute = Callable[[View, "Measure"], Values]
Cutoff = Literal["required", "optional", "none"]

EMPTY = ("one", "zero", "skip")
MISSING = ("zero", "skip")


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: what it sets, its default, and the values it may take.

    `choices` list the allowed words; without them a value of the default's type is taken, at least
    `low` where that is given. A default of None means text that may be left out.
    """

    doc: str
    default: Value | None
    choices: tuple[str, ...] = ()
    low: float | None = None


REL = Param("the least grade that counts as relevant", 1, low=1)
DOCS = Param(
    "a true-or-false field of the corpus; only documents where it is true can be right", None
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


@dataclass(frozen=True, slots=True)
class Spec:
    """A family member that can be asked for by name.

    `compute` gives one value a query, NaN where the measure is undefined because nothing is
    relevant; `empty` and `missing` are applied afterwards, the same way for all. `profiles` maps a
    profile to the defaults it changes.
    """

    name: str
    summary: str
    compute: Compute = field(repr=False)
    cutoff: Cutoff = "optional"
    params: Mapping[str, Param] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    trec: str | None = None
    low: float = 0.0
    high: float | None = 1.0
    higher_is_better: bool = True
    has_ceiling: bool = True
    empty: Literal["one", "zero", "skip"] | None = "zero"
    has_missing: bool = True
    profiles: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    reference: str = ""

    def all_params(self) -> dict[str, Param]:
        """Return the measure's own parameters and the conventions that all measures share."""
        shared: dict[str, Param] = {}
        if self.empty is not None:
            shared["empty"] = Param(
                "the value of a query with nothing relevant", self.empty, choices=EMPTY
            )
        if self.has_missing:
            shared["missing"] = Param(
                "the value of a judged query that was not answered", "zero", choices=MISSING
            )
        return {**self.params, **shared}
