"""From answers to values, intervals and differences of a rolling evaluation."""

from collections.abc import Sequence
from math import log2

import pytest

from searchmark.errors import InputError
from searchmark.experiments.journal import Call
from searchmark.experiments.rolling.floors import not_held, read_floors
from searchmark.experiments.rolling.measuring import group_of, items_of
from searchmark.experiments.rolling.since import in_both, since
from searchmark.experiments.rolling.texts import KnownItemQuery
from searchmark.reports.rollingrecord import Catalog, Item, Record, Sampled, State


def item(doc_id: str, rank: int | None, kind: str = "name", state: State = "whole") -> Item:
    return Item(doc_id, kind, "abc", state, rank)


def record(items: Sequence[Item], *, depth: int = 20, made: str = "2026-01-01") -> Record:
    kept = {s: [i for i in items if i.state == s] for s in ("whole", "partial", "failed")}
    ids = sorted({i.doc_id for i in items})
    return Record(
        made=made,
        api="http://x",
        depth=depth,
        texts={"name": "name"},
        catalog=Catalog(len(ids), 0, " ".join(ids)),
        sample=Sampled(0, 10, len(ids), " ".join(ids), {"name": 0}),
        whole=group_of(kept["whole"]),
        partial=group_of(kept["partial"]),
        n_failed=len(kept["failed"]),
        errors=[],
        calls={},
        items=list(items),
    )


def test_values_of_known_ranks() -> None:
    ranks = [1, 2, 4, None, 15]
    found = group_of([item(f"d{i}", rank) for i, rank in enumerate(ranks)])
    assert found is not None
    means = {name: m.mean for name, m in found.measures.items()}
    # one right document: nDCG@10 is 1 / log2(1 + rank) to rank 10, and 0 beyond
    assert means["nDCG@10"] == pytest.approx((1 + 1 / log2(3) + 1 / log2(5)) / 5)
    assert means["RR"] == pytest.approx((1 + 1 / 2 + 1 / 4 + 0 + 1 / 15) / 5)
    assert means["R@20"] == pytest.approx(4 / 5)
    assert means["Success@1"] == pytest.approx(1 / 5)
    assert (found.n_queries, found.n_entries, found.n_not_found) == (5, 5, 1)
    for measured in found.measures.values():
        assert measured.low is not None and measured.high is not None and measured.mean is not None
        assert measured.low <= measured.mean <= measured.high


def test_nothing_found_is_zero_and_not_left_out() -> None:
    found = group_of([item("a", None), item("b", None)])
    assert found is not None
    assert {m.mean for m in found.measures.values()} == {0.0}
    assert {m.n_queries for m in found.measures.values()} == {2}
    assert group_of([]) is None


def test_kinds_have_means_of_their_own_and_entries_are_taken_together() -> None:
    items = [item(f"d{i}", 1, "name") for i in range(8)]
    items += [item(f"d{i}", 2, "words") for i in range(8)]
    found = group_of(items)
    assert found is not None
    assert {k: m["RR"].mean for k, m in found.by_kind.items()} == {"name": 1.0, "words": 0.5}
    # each entry has the mean 0.75 in RR: nothing varies between what is independent
    rr = found.measures["RR"]
    assert (rr.mean, rr.low, rr.high) == (0.75, None, None)
    assert "8 clusters" in (rr.interval_note or "")
    assert found.n_entries == 8


def test_a_failed_call_is_no_miss_and_a_partial_answer_is_told_apart() -> None:
    asked = [KnownItemQuery(f"d{i}", "name", "t") for i in range(5)]
    calls = [
        Call("name d0", "ok", 1.0, ["x", "d0"], [None, None]),
        Call("name d1", "error", 1.0, error="down"),
        Call("name d2", "ok", 1.0, ["d2"], [None], partial=True),
        Call("name d3", "empty", 1.0),
        Call("name d4", "ok", 1.0, ["x", "x", "d4", "d4"], [3.0, 2.0, 9.0, 9.0]),
    ]
    found = [(i.state, i.rank) for i in items_of(asked, calls)]
    # an id that is repeated takes one place, and the order is the answer's, not the scores'
    assert found == [
        ("whole", 2),
        ("failed", None),
        ("partial", 1),
        ("whole", None),
        ("whole", 2),
    ]


def test_ranks_that_are_recorded_give_the_values_of_the_answers() -> None:
    asked = [KnownItemQuery(f"d{i}", "name", "t") for i in range(30)]
    calls = [
        Call(a.query_id, "ok", 1.0, [*(f"x{n}" for n in range(i)), a.doc_id], [None] * (i + 1))
        for i, a in enumerate(asked)
    ]
    found = group_of(items_of(asked, calls))
    assert found is not None
    rr = sum(1 / rank for rank in range(1, 31)) / 30
    assert found.measures["RR"].mean == pytest.approx(rr)
    assert found.measures["R@20"].mean == pytest.approx(20 / 30)
    assert found.measures["Success@1"].mean == pytest.approx(1 / 30)


def test_a_difference_is_over_the_queries_that_both_asked() -> None:
    before = record([item(f"d{i}", 2) for i in range(12)])
    now = record([item(f"d{i}", 1) for i in range(2, 14)], made="2026-01-02")
    found = since(before, now)
    assert (found.n_common, found.n_sampled_in_both, found.same_catalog) == (10, 10, False)
    assert found.family is not None
    by_name = {c.measure: c for c in found.family.comparisons}
    rr = by_name["RR"]
    assert (rr.mean_a, rr.mean_b, rr.delta, rr.wins, rr.words) == (0.5, 1.0, 0.5, 10, "better")
    assert by_name["R@20"].words == "same"


def test_only_the_same_text_is_the_same_query() -> None:
    before, now = record([item("a", 1)]), record([item("a", 2)])
    other = Item("a", "name", "another", "whole", 2)
    assert in_both(before, now)[1].now == now.items
    assert in_both(before, record([other]))[1].now == []
    assert since(before, record([other])).family is None


def test_partial_answers_are_compared_with_partial_ones_where_none_is_whole() -> None:
    before = record([item("a", 1), item("b", 3, state="partial")])
    now = record([item("a", 1, state="partial"), item("b", 2, state="partial")])
    state, both = in_both(before, now)
    assert (state, [i.doc_id for i in both.now]) == ("partial", ["b"])


def test_both_are_seen_to_the_same_depth() -> None:
    deep, shallow = record([item("a", 40)], depth=50), record([item("a", None)], depth=20)
    found = since(deep, shallow)
    assert found.depth == 20
    assert found.family is not None
    assert {c.words for c in found.family.comparisons} == {"same"}  # 40 is beyond 20


def test_floors() -> None:
    floors = read_floors(["RR=0.8", "Success@1=0"])
    assert floors == {"RR": 0.8, "Success@1": 0.0}
    good, bad = record([item("a", 1)]), record([item("a", 2)])
    assert list(not_held(good, floors)) == []
    assert list(not_held(bad, floors)) == [
        "RR (known-item upper bound) is 0.500000, under 0.8",
    ]
    assert list(not_held(bad, {"RR": 0.5})) == []  # reached is held
    unknown = record([item("a", 1, state="partial")])
    assert "no answer was whole" in next(iter(not_held(unknown, floors)))


@pytest.mark.parametrize("text", ["RR", "RR=", "RR=x", "RR=1.5", "RR=nan", "MRR=0.5", "=1"])
def test_a_floor_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match="--fail-under"):
        read_floors([text])
