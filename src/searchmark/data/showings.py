"""Which of the lists that were shown for a query counts as its ranking."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from searchmark.data.logs import Placed, Showing

Choice = Literal["latest", "commonest", "mean"]
"""The last list; the one shown most often; or documents by their mean position in all."""


class Ranked(NamedTuple):
    """A document of a ranking; where positions were averaged, its mean position."""

    doc_id: str
    tokens: float | None = None
    mean_position: float | None = None


def rankings_of(
    showings: Iterable[Showing],
    choice: Choice,
    *,
    since: float | None = None,
    until: float | None = None,
) -> dict[str, tuple[Ranked, ...]]:
    """Return each query's ranking out of its showings from `since` to before `until`, in seconds.

    Lists with positions left out say nothing of what stood there: they count for the mean alone.
    """
    by_query: dict[str, list[Showing]] = {}
    for showing in showings:
        time = showing.time
        is_early = since is not None and (time is None or time < since)
        is_late = until is not None and (time is None or time >= until)
        if not is_early and not is_late and (choice == "mean" or showing.is_whole):
            by_query.setdefault(showing.query, []).append(showing)
    choose = {"latest": _latest, "commonest": _commonest, "mean": _mean}[choice]
    return {query: choose(shown) for query, shown in by_query.items()}


def _latest(shown: Sequence[Showing]) -> tuple[Ranked, ...]:
    """Return the last list; of several at the same time that which is logged last."""
    return _as_shown(max(shown, key=_when))


def _commonest(shown: Sequence[Showing]) -> tuple[Ranked, ...]:
    """Return the list that was shown most often; of equally common ones that shown last."""
    times = Counter(_ids(s) for s in shown)
    return _as_shown(max(shown, key=lambda s: (times[_ids(s)], _when(s))))


def _mean(shown: Sequence[Showing]) -> tuple[Ranked, ...]:
    """Return documents by mean position, then id; what a list lacks stands just past its end."""
    ends = [max((r.position for r in s.results), default=0) + 1 for s in shown]
    gains: Counter[str] = Counter()  # whole numbers, so that no order of the rows matters
    last: dict[str, Placed] = {}
    for showing, end in sorted(zip(shown, ends, strict=True), key=lambda pair: _when(pair[0])):
        best: dict[str, int] = {}
        for result in showing.results:
            best.setdefault(result.doc_id, result.position)
            last[result.doc_id] = result
        gains.update({doc_id: end - position for doc_id, position in best.items()})
    whole, n = sum(ends), len(shown)
    order = sorted(gains, key=lambda doc_id: (-gains[doc_id], doc_id))
    return tuple(Ranked(d, last[d].tokens, (whole - gains[d]) / n) for d in order)


def _when(showing: Showing) -> tuple[float, int]:
    return (float("-inf") if showing.time is None else showing.time, showing.row)


def _ids(showing: Showing) -> tuple[str, ...]:
    return tuple(result.doc_id for result in showing.results)


def _as_shown(showing: Showing) -> tuple[Ranked, ...]:
    return tuple(Ranked(result.doc_id, result.tokens) for result in showing.results)
