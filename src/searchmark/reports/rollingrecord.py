"""The record of a rolling evaluation: a line of its history, and what `--format json` prints."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from searchmark.version import __version__

FORMAT = "searchmark/rolling/1"

LABEL = "known-item upper bound"
"""What every number here is; it stands wherever one is shown."""

State = Literal["whole", "partial", "failed"]


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One query: the entry it was made of, its kind, a digest of its text, and what came of it.

    `rank` is where the entry stood, None where it did not come back, or nobody knows (failed).
    """

    doc_id: str
    kind: str
    text_sha256: str
    state: State = "whole"
    rank: int | None = None

    @property
    def query_id(self) -> str:
        """The query's id."""
        return f"{self.kind} {self.doc_id}"


class Measured(msgspec.Struct, frozen=True):
    """One measure's mean over queries, with its interval and how that was found."""

    mean: float | None
    low: float | None
    high: float | None
    interval: str | None
    interval_note: str | None
    n_queries: int


class Group(msgspec.Struct, frozen=True):
    """The measures of the queries whose answers were whole, or of those that were partial."""

    n_queries: int
    n_entries: int
    n_not_found: int
    measures: Mapping[str, Measured]
    by_kind: Mapping[str, Mapping[str, Measured]]


class Catalog(msgspec.Struct, frozen=True):
    """What was listed; `sha256` tells sets of ids apart."""

    n_entries: int
    n_repeated: int
    sha256: str


class Sampled(msgspec.Struct, frozen=True):
    """What was asked for: `n_wanted` entries, as far as there were so many.

    `n_without_text` counts entries that have nothing that a query of a kind is made of.
    """

    seed: int
    n_wanted: int
    n_entries: int
    sha256: str
    n_without_text: Mapping[str, int]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One rolling evaluation. `whole` is the measurement; None where no answer was whole.

    Queries whose call failed are in none of the means. `calls` are the counts and percentiles that
    `searchmark run` gives too.
    """

    format: str = FORMAT
    label: str = LABEL
    searchmark: str = __version__
    made: str
    api: str
    depth: int
    texts: Mapping[str, str]
    catalog: Catalog
    sample: Sampled
    whole: Group | None
    partial: Group | None
    n_failed: int
    errors: list[str]
    calls: Mapping[str, Any]
    items: list[Item]

    @property
    def shown(self) -> tuple[State, Group | None]:
        """The group that stands for the record: whole answers, or partial where none is whole."""
        return ("whole", self.whole) if self.whole is not None else ("partial", self.partial)

    def in_state(self, state: State) -> list[Item]:
        """Return the items of a state."""
        return [item for item in self.items if item.state == state]
