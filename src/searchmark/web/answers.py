"""From a request's values to the answer: the two searches and the health of the service."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

import msgspec

from searchmark.retrieval.catalogs import Found
from searchmark.version import __version__
from searchmark.web.arm import Call, GuardedEncoder
from searchmark.web.cursors import Cursors, Position
from searchmark.web.limits import Limits
from searchmark.web.parameters import Parameter, filters_of
from searchmark.web.refusal import Refused
from searchmark.web.served import Served

P = TypeVar("P", int, str)

OWN = ("resource", "score", "bestText", "doc_id")
"""Names that a document's own fields do not take in an answer."""


def search(
    served: Served, values: Mapping[str, Any], known: Sequence[Parameter], pages: "Pages"
) -> dict[str, Any]:
    """Return a page of the ranking."""
    limit, scope = values.get("limit", pages.limits.usual_page), pages.scope("search", values)
    start = pages.read(values, scope, int, Position(0))
    filters = filters_of(values, known)
    with watched(served.guard, by_words_alone=start.is_lexical) as call:
        page = served.catalog.search(
            values["query"], limit + 1, int(start.at), mode=served.mode, filters=filters
        )
    is_lexical = bool(call.why) or page.is_lexical
    if start.at and is_lexical and not start.is_lexical:
        raise Refused(
            409,
            "the ranking that this cursor continues needs the search by meaning, which is "
            "away; ask again without the cursor",
            after_s=1,
        )
    end = int(start.at) + limit
    cursor = pages.cursors.write(Position(end, is_lexical), scope)
    return {
        "resources": [resource(found) for found in page.found[:limit]],
        "partialResults": page.is_partial,
        "total": page.total,
        "nextCursor": cursor if len(page.found) > limit else None,
    }


def resources(
    served: Served, values: Mapping[str, Any], known: Sequence[Parameter], pages: "Pages"
) -> dict[str, Any]:
    """Return a page of the catalog."""
    limit, scope = values.get("limit", pages.limits.usual_page), pages.scope("resources", values)
    start = pages.read(values, scope, str, Position(""))
    page = served.catalog.browse(filters_of(values, known), limit + 1, str(start.at) or None)
    shown = page.found[:limit]
    more = len(page.found) > limit
    return {
        "resources": [resource(found) for found in shown],
        "partialResults": False,
        "total": page.total,
        "nextCursor": pages.cursors.write(Position(shown[-1].doc_id), scope) if more else None,
    }


def health(served: Served) -> dict[str, Any]:
    """Return how the service is."""
    found = served.catalog.health()
    needs = served.guard is not None
    dense = "none" if not needs else (served.guard.why if served.guard else "") or found.dense
    partial = needs and (dense != "ok" or found.n_waiting > 0 or not found.n_vectors)
    return {
        "status": "partial" if partial else "ok",
        "partialResults": partial,
        "dense": dense,
        "documents": found.n_documents,
        "vectors": found.n_vectors,
        "waiting": found.n_waiting,
        "dead": found.n_dead,
        "generation": found.generation,
        "system": served.name,
        "version": __version__,
    }


def health_in_short(served: Served) -> dict[str, Any]:
    """Return what of the service's health everybody may know."""
    whole = health(served)
    return {name: whole[name] for name in ("status", "partialResults")}


def resource(found: Found) -> dict[str, Any]:
    """Return a document as it is shown; fields that hold nothing are left out."""
    shown: dict[str, Any] = {"resource": found.doc_id}
    for name, value in found.fields.items():
        if name not in OWN and value is not None:
            shown[name] = value
    if found.score is not None:
        shown["score"] = found.score
    if found.best_text is not None:
        shown["bestText"] = found.best_text
    return shown


def as_json(value: object) -> bytes:
    """Return JSON; what JSON does not know is written as text."""
    return msgspec.json.encode(value, enc_hook=str)


def watched(guard: GuardedEncoder | None, *, by_words_alone: bool) -> Any:
    """Return the guard's watch over a search; where there is no guard nothing can fail."""
    return nullcontext(Call()) if guard is None else guard.call(by_words_alone=by_words_alone)


class Pages:
    """Cursors out of requests and into answers."""

    def __init__(self, limits: Limits, key: bytes) -> None:
        self.limits, self.cursors = limits, Cursors(key)

    def scope(self, what: str, values: Mapping[str, Any]) -> str:
        """Return what a cursor belongs to: the request without its place."""
        asked = sorted((n, v) for n, v in values.items() if n not in ("limit", "cursor"))
        return msgspec.json.encode([what, asked]).decode()

    def read(
        self, values: Mapping[str, Any], scope: str, kind: type[P], first: Position
    ) -> Position:
        """Return where the page begins."""
        if "cursor" not in values:
            return first
        position = self.cursors.read(values["cursor"], scope)
        if position is None or not isinstance(position.at, kind):
            raise Refused(
                404,
                "there is no such page: the cursor was not given for this request, or before the "
                "service was started anew; ask without it for the first page",
            )
        return position
