"""One answer out of several pages, by offset, page number or cursor."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from searchmark.errors import SystemFailedError
from searchmark.systems.protocol import Answer, Hit
from searchmark.systems.template import Values

PLACES = ("offset", "page", "cursor")
"""Placeholders that tell a page from the next one."""


class Page(NamedTuple):
    """One page: its results, what it says of the whole, and the cursor of the next one."""

    answer: Answer
    cursor: Any = None


FetchPage = Callable[[Values], Page]


@dataclass(frozen=True, slots=True)
class Paging:
    """How pages are asked for: `size` results each (None: all in one), at most `most` of them."""

    size: int | None = None
    most: int = 10
    first: int = 1
    by_cursor: bool = False

    def collect(self, fetch: FetchPage, k: int) -> Answer:
        """Return the first `k` results; a page that fails fails them all."""
        size = k if self.size is None else min(self.size, k)
        if not self._has_pages():
            return _cut([fetch(self._values(size, 0, 0, None)).answer], k)
        answers: list[Answer] = []
        found, cursor = 0, None
        for number in range(self.most):
            page = fetch(self._values(size, found, number, cursor))
            if answers and page.answer.hits:
                _refuse_repeated(answers[-1], page.answer, number + 1)
            answers.append(page.answer)
            found += len(page.answer.hits)
            cursor = page.cursor
            if found >= k or self._is_last(page, found):
                return _cut(answers, k)
        raise SystemFailedError(
            f"gave {found} of {k} results on {self.most} pages and has more (max_pages); raise "
            "max_pages or page_size, or lower the depth"
        )

    def _has_pages(self) -> bool:
        return self.size is not None or self.by_cursor

    def _values(self, size: int, found: int, number: int, cursor: Any) -> dict[str, Any]:
        return {"k": size, "offset": found, "page": self.first + number, "cursor": cursor}

    def _is_last(self, page: Page, found: int) -> bool:
        """Tell whether there is no further page; one that is short may still have a next one."""
        if self.by_cursor:
            return page.cursor is None
        total = page.answer.total
        return not page.answer.hits or (total is not None and found >= total)


def cursor_of(value: Any) -> str | int | None:
    """Return a cursor as the next request takes it, None at the end."""
    if value is None or value is False or value == "":
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        return value
    raise SystemFailedError("the answer's cursor is neither a text nor a number")


def _refuse_repeated(before: Answer, now: Answer, number: int) -> None:
    if [h.doc_id for h in before.hits] == [h.doc_id for h in now.hits]:
        raise SystemFailedError(
            f"page {number} is page {number - 1} again; does the server know the parameter that "
            "holds {offset}, {page} or {cursor}?"
        )


def _cut(answers: list[Answer], k: int) -> Answer:
    hits: list[Hit] = [hit for answer in answers for hit in answer.hits]
    sizes = [answer.size for answer in answers if answer.size is not None]
    return Answer(
        tuple(hits[:k]),
        any(answer.partial for answer in answers),
        total=answers[0].total,
        size=sum(sizes) if sizes else None,
    )
