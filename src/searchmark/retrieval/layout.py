"""Which fields of a catalog's documents are searched, and how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from searchmark.errors import InputError
from searchmark.retrieval.constraints import Constraint
from searchmark.retrieval.synthetic import synthetic_queries

SETTLEMENTS, UPDATED = "settlement_count", "last_updated"
"""Fields that change with every settlement; by default they order exact ties."""


class TextOfDocument(NamedTuple):
    """One text that is embedded: `kind` is ``own`` or ``synthetic``, `number` counts from 0."""

    kind: str
    number: int
    text: str


def _default_weights() -> dict[str, float]:
    return {"serviceName": 3.0, "tags": 3.0, "description": 1.0, "resource": 0.5}


@dataclass(frozen=True, slots=True)
class Layout:
    """The roles of fields.

    `weights` are those of BM25F. A document's own text is `name`, `description` and `tags` joined
    by blanks; three queries are made from the same fields by templates. A document also qualifies
    where one of the fields `substring` contains the whole query. `constraints` are hard filters in
    the query's text; `ties` order exact ties, the greatest value first. `relax` lets any word match
    where no document has them all, never inside fusion.
    """

    weights: Mapping[str, float] = field(default_factory=_default_weights, hash=False)
    name: str | None = "serviceName"
    description: str | None = "description"
    tags: str | None = "tags"
    substring: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    ties: tuple[str, ...] = (SETTLEMENTS, UPDATED)
    relax: bool = False
    id_field: str = "doc_id"
    k1: float = 1.2
    b: float = 0.75

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field that must exist, each once."""
        embedded = [f for f in (self.name, self.description, self.tags) if f is not None]
        filtered = [c.field for c in self.constraints]
        return tuple(dict.fromkeys([*self.weights, *self.substring, *embedded, *filtered]))

    @property
    def indexed(self) -> dict[str, Any]:
        """What stored documents depend on: a catalog filled with another value needs filling again.

        Weights, constraints and ties are applied to a search and may change at any time.
        """
        return {
            "words": sorted(self.weights),
            "substring": sorted(self.substring),
            "embedded": [self.name, self.description, self.tags],
        }

    def texts(self, document: Mapping[str, Any]) -> list[TextOfDocument]:
        """Return the texts of a document that are embedded; blank ones resemble nothing."""
        embedded = [f for f in (self.name, self.description, self.tags) if f is not None]
        own = " ".join(filter(None, (text_of(document.get(f)) for f in embedded)))
        made = synthetic_queries(
            self._text(document, self.name) or None,
            self._text(document, self.description) or None,
            self._tags(document),
        )
        found = [TextOfDocument("own", 0, own)]
        found += [TextOfDocument("synthetic", i, text) for i, text in enumerate(made)]
        return [one for one in found if one.text.strip()]

    def _text(self, document: Mapping[str, Any], name: str | None) -> str:
        return "" if name is None else text_of(document.get(name))

    def _tags(self, document: Mapping[str, Any]) -> list[str]:
        value = None if self.tags is None else document.get(self.tags)
        if isinstance(value, list | tuple):
            return [text_of(v) for v in value]
        return [text_of(value)] if value else []

    def doc_id(self, document: Mapping[str, Any]) -> str:
        """Return a document's id; InputError where it has none."""
        value = document.get(self.id_field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            raise InputError(
                f"a document has no id in the field '{self.id_field}' (it holds {value!r:.60})",
                fix="give every document an id of text",
            )
        return value


def text_of(value: object) -> str:
    """Return a value as searched text: lists joined by blanks, nothing as an empty text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return " ".join(text_of(v) for v in value)
    return str(value)
