"""What an answer in the query DSL means: results, in their order, or a failure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from searchmark.errors import SystemFailedError
from searchmark.systems.http.reply import IN_PART, NOT_YET
from searchmark.systems.http.wire import Reply
from searchmark.systems.protocol import Answer
from searchmark.systems.querydsl.exchange import Parsed, engine_failure, reason_of
from searchmark.systems.querydsl.template import ID
from searchmark.systems.secrets import Secrets
from searchmark.systems.selection import (
    Path,
    Selection,
    compile_path,
    count_at,
    outline,
)

HITS = "hits.hits[*]"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Reads answers: `chosen` finds the results."""

    chosen: Selection
    secrets: Secrets

    def answer(self, found: Parsed, k: int) -> Answer:
        """Return the first `k` results of a search."""
        answer = self._answer(found.document, k, found.shown, found.size)
        return replace(answer, partial=answer.partial or found.in_part)

    def answers(self, found: Parsed, n: int, k: int) -> list[Answer | SystemFailedError]:
        """Return the result or the failure of each of `n` searches that were sent together."""
        document = found.document
        given = document.get("responses") if isinstance(document, Mapping) else None
        if not isinstance(given, list):
            raise SystemFailedError(
                f"{found.shown} answered without a list 'responses'; {outline(document)}"
            )
        if len(given) != n:
            raise SystemFailedError(f"{found.shown} gave {len(given)} answers to {n} searches")
        return [self._one(item, k, found.shown, in_part=found.in_part) for item in given]

    def _one(self, item: Any, k: int, shown: str, *, in_part: bool) -> Answer | SystemFailedError:
        status = item.get("status") if isinstance(item, Mapping) else None
        if isinstance(status, int) and (not 200 <= status < 300 or status == NOT_YET):
            reply = Reply(status, {}, msgspec.json.encode(item))
            return engine_failure(reply, shown, self.secrets)
        if isinstance(item, Mapping) and "error" in item:
            said = self.secrets.excerpt(reason_of(item) or str(item["error"]))
            return SystemFailedError(f"{shown}: {said}")
        try:
            answer = self._answer(item, k, shown)
            return replace(answer, partial=answer.partial or in_part or status in IN_PART)
        except SystemFailedError as error:
            return error

    def _answer(self, document: Any, k: int, shown: str, size: int | None = None) -> Answer:
        try:
            hits = self.chosen.hits(document)
            total = _total(document)
        except SystemFailedError as error:
            raise SystemFailedError(f"{shown}: {error}") from error
        if _shards(document, "failed") and not _shards(document, "successful"):
            raise SystemFailedError(f"{shown}: all shards failed", retry=True)
        return Answer(tuple(hits[:k]), _is_partial(document), total=total, size=size)


def reading(id_field: str, tokens: str | float | None, secrets: Secrets) -> Reading:
    """Return what reads the answers of one system."""
    ids = HITS + "._id" if id_field == ID else _field_path(id_field)
    chosen = Selection(
        Path("id_field", id_field, compile_path(ids, "id_field").tree),
        compile_path(HITS + "._score", "_score"),
        _cost(tokens) if isinstance(tokens, str) else tokens,
    )
    return Reading(chosen, secrets)


def _field_path(name: str) -> str:
    """Return the path of a field, whose source may be nested or hold the dots in its name."""
    whole, parts = _quoted(name), ".".join(_quoted(part) for part in name.split("."))
    if whole == parts:
        return f"{HITS}._source.{whole}"
    return f"map(&(_source.{whole} || _source.{parts}), hits.hits)"


def _quoted(name: str) -> str:
    return msgspec.json.encode(name).decode()


def _cost(tokens: str) -> Path:
    """Return the path of what each hit costs: an expression that looks at one hit."""
    compile_path(tokens, "tokens")
    return Path("tokens", tokens, compile_path(f"map(&({tokens}), hits.hits)", "tokens").tree)


_TOTAL = compile_path("hits.total", "hits.total")
_TOTAL_VALUE = compile_path("hits.total.value", "hits.total.value")
_RELATION = compile_path("hits.total.relation", "hits.total.relation")


def _total(document: Any) -> int | None:
    """Return how many match; None where the engine stopped counting or was told not to."""
    total = _TOTAL.find(document)
    if isinstance(total, Mapping):
        exact = _RELATION.find(document) in (None, "eq")
        return count_at(document, _TOTAL_VALUE) if exact else None
    return None if total == -1 else count_at(document, _TOTAL)


def _is_partial(document: Any) -> bool:
    clusters = document.get("_clusters")
    away = isinstance(clusters, Mapping) and any(
        clusters.get(key) for key in ("skipped", "partial", "failed")
    )
    return document.get("timed_out") is True or bool(_shards(document, "failed")) or away


def _shards(document: Any, key: str) -> int:
    shards = document.get("_shards")
    found = shards.get(key) if isinstance(shards, Mapping) else None
    return found if isinstance(found, int) else 0
