"""What an engine under test is told to do: a behaviour, and the ids it answers with."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple


class Behaviour(StrEnum):
    """How an engine behaves; the first ones are answers, all the others are failures."""

    ANSWERS = "answers"
    """The ids of the plan, all of them whatever depth was asked for, with falling scores."""
    TIED = "tied"
    """The ids with one and the same score."""
    RISING = "rising"
    """The ids with rising scores: the order is the engine's, not that of the scores."""
    UNSCORED = "unscored"
    """The ids with scores that are null."""
    PARTLY_SCORED = "partly_scored"
    """The ids with falling scores, of which the second is null."""
    NUMBER_IDS = "number_ids"
    """The ids (digits in the plan) as JSON numbers."""
    ECHO = "echo"
    """Ids that only this query gets (`echo_ids`), so that mixed up answers are noticed."""
    EMPTY = "empty"
    """A whole, valid answer without results."""
    PARTIAL = "partial"
    """The ids, and the word that a part of the engine did not take part."""
    HUGE = "huge"
    """The ids, and 12 MB of other text in the same answer."""

    REFUSED = "refused"
    """Nobody listens any more, and open connections are closed."""
    CUT_EARLY = "cut_early"
    """The connection is closed before the first byte of an answer."""
    CUT_LATE = "cut_late"
    """The connection is closed half-way through an answer of known length."""
    CUT_CHUNKS = "cut_chunks"
    """The connection is closed half-way through an answer that comes in chunks."""
    RESET = "reset"
    """The connection is reset in the middle of the answer."""
    SLOW = "slow"
    """Nothing comes for a minute."""
    STALL = "stall"
    """Half of an answer comes, then nothing for a minute."""
    TRICKLE = "trickle"
    """A byte every 50 ms for a minute: each single wait is short."""
    TOO_MANY = "too_many"
    """Status 429 with `Retry-After` in seconds, or none where the plan's `after_s` is None."""
    TOO_MANY_DATE = "too_many_date"
    """Status 429 with `Retry-After` as an HTTP date."""
    ERROR_500 = "error_500"
    """Status 500; as with every status below, the body is a valid answer without results."""
    UNAVAILABLE = "unavailable"
    """Status 503."""
    BAD_REQUEST = "bad_request"
    """Status 400."""
    FORBIDDEN = "forbidden"
    """Status 403."""
    NOT_FOUND = "not_found"
    """Status 404."""
    FAILS = "fails"
    """The engine fails in the way of its kind: an exception, exit code 1, an SQL error, a 422."""
    BROKEN_JSON = "broken_json"
    """Something that is no JSON and looks a little like it."""
    TRUNCATED_JSON = "truncated_json"
    """The first half of the answer as if it were whole: lengths and status are right."""
    NOTHING = "nothing"
    """Status 200 and no body at all; a program that prints nothing."""
    HTML = "html"
    """Status 200 and a page that asks for a login."""
    WRONG_SHAPE = "wrong_shape"
    """Valid JSON of another shape: an object with an error in it, without any results."""
    WRONG_TYPE = "wrong_type"
    """Valid JSON in which the list of results is a text."""
    NULL_ID = "null_id"
    """The second id is null."""
    MISSING_ID = "missing_id"
    """The second result has no id."""
    BOOL_ID = "bool_id"
    """The second id is true."""
    FRACTION_ID = "fraction_id"
    """The second id is the number 1.5."""
    NESTED_ID = "nested_id"
    """The second id is an object."""
    NAN_SCORE = "nan_score"
    """The second score is NaN."""
    TEXT_SCORE = "text_score"
    """The second score is the text "high"."""


class Failure(NamedTuple):
    """What a failing behaviour has to become.

    `retry` is None where either is right. `is_timeout` says that only the time limit ends it.
    """

    retry: bool | None
    is_timeout: bool = False


_AGAIN, _NEVER, _LATE = Failure(retry=True), Failure(retry=False), Failure(False, is_timeout=True)

FAILURES: Mapping[Behaviour, Failure] = MappingProxyType(
    {
        Behaviour.REFUSED: _AGAIN,
        Behaviour.CUT_EARLY: _AGAIN,
        Behaviour.CUT_LATE: _AGAIN,
        Behaviour.CUT_CHUNKS: _AGAIN,
        Behaviour.RESET: _AGAIN,
        Behaviour.SLOW: _LATE,
        Behaviour.STALL: _LATE,
        Behaviour.TRICKLE: _LATE,
        Behaviour.TOO_MANY: _AGAIN,
        Behaviour.TOO_MANY_DATE: _AGAIN,
        Behaviour.ERROR_500: _AGAIN,
        Behaviour.UNAVAILABLE: _AGAIN,
        Behaviour.BAD_REQUEST: _NEVER,
        Behaviour.FORBIDDEN: _NEVER,
        Behaviour.NOT_FOUND: _NEVER,
        Behaviour.FAILS: Failure(retry=None),
        Behaviour.BROKEN_JSON: _NEVER,
        Behaviour.TRUNCATED_JSON: _NEVER,
        Behaviour.NOTHING: _NEVER,
        Behaviour.HTML: _NEVER,
        Behaviour.WRONG_SHAPE: _NEVER,
        Behaviour.WRONG_TYPE: _NEVER,
        Behaviour.NULL_ID: _NEVER,
        Behaviour.MISSING_ID: _NEVER,
        Behaviour.BOOL_ID: _NEVER,
        Behaviour.FRACTION_ID: _NEVER,
        Behaviour.NESTED_ID: _NEVER,
        Behaviour.NAN_SCORE: _NEVER,
        Behaviour.TEXT_SCORE: _NEVER,
    }
)
"""Every failing behaviour with what an adapter has to make of it."""


class Missing:
    """Stands for a value that is not there at all."""


class Row(NamedTuple):
    """One result as an engine gives it: any JSON value, or `Missing`, may stand for its id."""

    id: Any
    score: Any


@dataclass(frozen=True, slots=True)
class Plan:
    """What an engine does from now on.

    `ids` are what it answers with. With `times` it misbehaves on that many searches and answers
    well afterwards; without, for good. `after_s` is the time that a 429 asks for.
    """

    behaviour: Behaviour
    ids: tuple[str, ...] = ("a", "b", "c")
    times: int | None = None
    after_s: float | None = 1.0

    def rows(self, query: str) -> list[Row]:
        """Return the results for a query text, the odd ids and scores of the behaviour in them."""
        ids = self._ids(query)
        scores = _scores(self.behaviour, len(ids))
        return [Row(i, s) for i, s in zip(ids, scores, strict=True)]

    def after(self) -> "Plan":
        """Return what is done once a behaviour with `times` is over."""
        return Plan(Behaviour.ANSWERS, self.ids)

    def _ids(self, query: str) -> list[Any]:
        if self.behaviour is Behaviour.EMPTY:
            return []
        if self.behaviour is Behaviour.ECHO:
            return list(echo_ids(query))
        if self.behaviour is Behaviour.NUMBER_IDS:
            return [int(i) for i in self.ids]
        ids: list[Any] = list(self.ids)
        if self.behaviour in _ODD_IDS:
            ids[1] = _ODD_IDS[self.behaviour]
        return ids


_ODD_IDS: dict[Behaviour, Any] = {
    Behaviour.NULL_ID: None,
    Behaviour.MISSING_ID: Missing,
    Behaviour.BOOL_ID: True,
    Behaviour.FRACTION_ID: 1.5,
    Behaviour.NESTED_ID: {"id": "b"},
}
_ODD_SCORES: dict[Behaviour, Any] = {
    Behaviour.PARTLY_SCORED: None,
    Behaviour.NAN_SCORE: float("nan"),
    Behaviour.TEXT_SCORE: "high",
}


def _scores(behaviour: Behaviour, n: int) -> list[Any]:
    if behaviour is Behaviour.TIED:
        return [1.0] * n
    if behaviour is Behaviour.UNSCORED:
        return [None] * n
    falling: list[Any] = [float(n - i) for i in range(n)]
    if behaviour is Behaviour.RISING:
        return falling[::-1]
    if behaviour in _ODD_SCORES:
        falling[1] = _ODD_SCORES[behaviour]
    return falling


def echo_ids(query: str) -> tuple[str, ...]:
    """Return the three ids that `Behaviour.ECHO` answers this query text with."""
    digest = hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return tuple(f"{digest}-{i}" for i in range(3))
