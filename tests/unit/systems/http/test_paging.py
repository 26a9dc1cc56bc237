"""Pages are asked for until there is enough, no more, or a sign that something is wrong."""

from typing import Any

import pytest

from searchmark.errors import SystemFailedError
from searchmark.systems.http.paging import Page, Paging, cursor_of
from searchmark.systems.protocol import Answer, Hit


class Engine:
    """Holds documents 0 to n - 1 and gives `most` of them at once, however many are asked for."""

    def __init__(self, n: int, most: int = 100, **answer: Any) -> None:
        self.n, self.most, self.answer = n, most, answer
        self.asked: list[tuple[int, int, int]] = []

    def __call__(self, values: Any) -> Page:
        self.asked.append((values["k"], values["offset"], values["page"]))
        start = values["offset"]
        end = min(start + min(values["k"], self.most), self.n)
        hits = tuple(Hit(str(i)) for i in range(start, end))
        return Page(Answer(hits, size=10, **self.answer), end if end < self.n else None)


def count(answer: Answer) -> int:
    assert [h.doc_id for h in answer.hits] == [str(i) for i in range(len(answer.hits))]
    return len(answer.hits)


def test_without_pages_there_is_one_request() -> None:
    engine = Engine(50)
    assert count(Paging().collect(engine, 7)) == 7
    assert engine.asked == [(7, 0, 1)]
    assert count(Paging().collect(Engine(3), 7)) == 3


def test_the_size_of_a_page_stays_the_same() -> None:
    engine = Engine(50)
    answer = Paging(size=20, first=0).collect(engine, 45)
    assert count(answer) == 45
    assert engine.asked == [(20, 0, 0), (20, 20, 1), (20, 40, 2)]
    assert answer.size == 30
    few = Engine(50)
    Paging(size=20).collect(few, 5)
    assert few.asked == [(5, 0, 1)]


def test_an_engine_that_gives_less_than_asked_for_is_asked_on() -> None:
    engine = Engine(25, most=10)
    assert count(Paging(size=20).collect(engine, 100)) == 25
    assert [offset for _, offset, _ in engine.asked] == [0, 10, 20, 25]


def test_a_total_tells_the_end() -> None:
    engine = Engine(25, total=25)
    assert count(Paging(size=20).collect(engine, 100)) == 25
    assert len(engine.asked) == 2
    empty = Engine(0, total=0)
    assert Paging(size=20).collect(empty, 100) == Answer((), total=0, size=10)


def test_a_cursor_tells_the_end() -> None:
    engine = Engine(25, total=999)
    assert count(Paging(size=20, by_cursor=True).collect(engine, 100)) == 25
    assert len(engine.asked) == 2


def test_one_page_that_is_partial_makes_the_answer_partial() -> None:
    assert Paging(size=5).collect(Engine(9, partial=True), 9).partial


def test_pages_that_do_not_end_are_a_failure() -> None:
    with pytest.raises(SystemFailedError, match=r"gave 6 of 100 results on 3 pages"):
        Paging(size=2, most=3).collect(Engine(50), 100)

    def same(values: Any) -> Page:
        return Page(Answer((Hit("a"), Hit("b"))))

    with pytest.raises(SystemFailedError, match="page 2 is page 1 again"):
        Paging(size=2).collect(same, 10)


def test_cursors() -> None:
    assert [cursor_of(v) for v in (None, "", False, "x", 0, 12)] == [None, None, None, "x", 0, 12]
    for value in (True, 1.5, ["x"], {"a": 1}):
        with pytest.raises(SystemFailedError, match="neither a text nor a number"):
            cursor_of(value)
