"""What a program printed, read as an answer: JSON, JSON lines, or text by a pattern."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from searchmark.data.numerals import finite_number
from searchmark.errors import SystemFailedError
from searchmark.systems.command.matching import Found, Matching
from searchmark.systems.protocol import Answer, Hit
from searchmark.systems.selection import Path, Selection

PROJECTIONS = ("projection", "filter_projection", "value_projection")


@dataclass(frozen=True, slots=True)
class Printed:
    """An answer, and each of its results as it was printed, where that is asked for."""

    answer: Answer
    items: tuple[str, ...] = ()


class Output(Protocol):
    """Reads what a program printed."""

    def read(self, stdout: bytes, k: int) -> Printed:
        """Return the first `k` results, in the order they are printed."""
        ...


@dataclass(frozen=True, slots=True)
class JsonOutput:
    """JSON: one document, or a document a line, which make one list.

    `items` is where the whole results stand, if they are wanted.
    """

    selection: Selection
    items: Path | None = None
    is_lines: bool = False

    def read(self, stdout: bytes, k: int) -> Printed:
        """Return the first `k` results; ``[]`` is empty, nothing printed is not."""
        text = decoded(stdout)
        if not text.strip():
            empty = (
                "empty_regex says what stands for none" if self.is_lines else "[] stands for none"
            )
            raise SystemFailedError(f"printed nothing, which is no answer; {empty}")
        document = _lines(text) if self.is_lines else _document(text)
        answer = self.selection.answer(document, k, size=len(stdout))
        if self.items is None:
            return Printed(answer)
        found, n = self.items.find(document), len(self.selection.hits(document))
        if not isinstance(found, list) or len(found) != n:
            raise SystemFailedError(f"the results at {self.items.shown} are not as many as the ids")
        return Printed(answer, tuple(map(_as_printed, found[:k])))


def _document(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise SystemFailedError(f"printed no JSON ({_told(error)})") from None


def _lines(text: str) -> list[Any]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found.append(msgspec.json.decode(line))
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                told = f"printed no JSON on line {number} ({_told(error)})"
                raise SystemFailedError(told) from None
    return found


def _told(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)


def _as_printed(item: Any) -> str:
    """Return a text as it stands, and anything else as JSON without blanks."""
    return item if isinstance(item, str) else msgspec.json.encode(item).decode()


def items_of(ids: Path) -> Path | None:
    """Return where the results stand whose ids are at a path: ``hits[]`` for ``hits[].id``."""
    tree = _without_last_step(ids.tree)
    return None if tree is None else Path(ids.key, ids.expression, tree)


def _without_last_step(tree: Mapping[str, Any]) -> dict[str, Any] | None:
    children = list(tree["children"])
    if tree["type"] in PROJECTIONS:
        children[1] = {"type": "identity", "children": []}
    elif tree["type"] == "pipe" and (last := _without_last_step(children[1])) is not None:
        children[1] = last
    else:
        return None
    return {**tree, "children": children}


@dataclass(frozen=True, slots=True)
class TextOutput:
    """Text: every match of a pattern is a result.

    Its id is the group called ``id``, or else the first; groups ``score`` and ``tokens`` are taken
    where there are any.
    """

    pattern: Matching
    tokens: float | None = None

    def read(self, stdout: bytes, k: int) -> Printed:
        """Return the first `k` matches; none is no answer."""
        text = decoded(stdout)
        matches = self.pattern.find(text, k + 1)  # where the last result ends, the next one begins
        if not matches:
            what = "nothing that ids_regex matches" if text.strip() else "nothing"
            raise SystemFailedError(
                f"printed {what}, which is no answer; empty_regex says what stands for none"
            )
        hits = tuple(self._hit(match, i) for i, match in enumerate(matches[:k], 1))
        return Printed(Answer(hits, size=len(stdout)), _between(text, matches)[:k])

    def _hit(self, match: Found, i: int) -> Hit:
        groups, doc_id = match.groups, match.doc_id
        if not doc_id:
            raise SystemFailedError(f"result {i} has no id: its group in ids_regex is empty")
        tokens = self.tokens if "tokens" not in groups else _number(groups["tokens"], i, "tokens")
        return Hit(doc_id, _number(groups.get("score"), i, "score"), tokens)


def _number(text: str | None, i: int, group: str) -> float | None:
    """Return the number of a group; one that took no part in the match says nothing."""
    if text is None:
        return None
    number = finite_number(text)
    if number is None:
        raise SystemFailedError(f"result {i} has '{text[:40]}' as its {group}, which is no number")
    return number


def _between(text: str, matches: list[Found]) -> tuple[str, ...]:
    """Return each result's text: from the line its match begins on to where the next one's does."""
    begins, last = [], 0
    for match in matches:
        begins.append(max(text.rfind("\n", 0, match.start) + 1, last))
        last = match.end
    ends = [*begins[1:], len(text)]
    return tuple(text[a:b].strip() for a, b in zip(begins, ends, strict=True))


def decoded(stdout: bytes) -> str:
    """Return what was printed as text; a mark of byte order is none of it."""
    try:
        return stdout.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SystemFailedError(f"printed no UTF-8 (at byte {error.start + 1})") from None


def with_tokens(answer: Answer, counts: list[float]) -> Answer:
    """Return an answer whose results cost what was counted."""
    hits = zip(answer.hits, counts, strict=True)
    return replace(answer, hits=tuple(replace(hit, tokens=n) for hit, n in hits))
