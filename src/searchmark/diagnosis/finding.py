"""What diagnosis says: one finding a fact, with the evidence it rests on and what to try."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["HIGH", "MEDIUM", "LOW"]
SEVERITIES: tuple[Severity, ...] = ("HIGH", "MEDIUM", "LOW")
"""Worst first."""

Tag = Literal[
    "MODEL_SELECTION",
    "INDEX_MAPPING",
    "QUERY_TUNING",
    "SEARCH_PIPELINE",
    "EMBEDDING_FIELDS",
    "JUDGMENTS",
    "RELIABILITY",
]
"""Where the fix lies: in the model, the index, the query, the pipeline around them, the fields that
are embedded, the judgments themselves, or in what keeps a system answering."""

Number = float | int | str
"""What evidence may hold: numbers as measured, and words."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One diagnosed fact.

    `rule` is the name in the table of rules. `query_id` is None where the whole setup is meant.
    `systems` are those that have the fault, `documents` those it shows in, `evidence` the numbers
    that a rule compared, by name. `what` says in one sentence what is wrong, `fix` what to try.
    `repaired` maps a system to the value (nDCG@k, 0 to 1) that this query would have if the fault
    were mended; it is empty where no value can be told.
    """

    rule: str
    severity: Severity
    tag: Tag
    what: str
    fix: str
    query_id: str | None = None
    systems: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    evidence: Mapping[str, Number] = field(default_factory=dict)
    repaired: Mapping[str, float] = field(default_factory=dict)
