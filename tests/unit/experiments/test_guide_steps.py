"""Which step comes next, what there is to judge, and how queries are made."""

from itertools import pairwise

import pytest

from searchmark.experiments.guiding.generated import Source, StandIn, stand_ins
from searchmark.experiments.guiding.log import Pair
from searchmark.experiments.guiding.pool import (
    QueryPool,
    n_left,
    n_pooled,
    next_item,
    pools_of,
)
from searchmark.experiments.guiding.steps import STEPS, Facts, heading, next_step
from searchmark.experiments.journal import Call


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        (Facts(), "documents"),
        (Facts(has_queries=True), "documents"),
        (Facts(has_documents=True), "queries"),
        (Facts(has_documents=True, has_queries=True), "project"),
        (Facts(has_project=True), "run"),  # it names documents and queries itself
        (Facts(has_project=True, n_unanswered=1, n_unjudged=0), "run"),
        (Facts(has_project=True, n_unanswered=0), "judge"),
        (Facts(has_project=True, n_unanswered=0, n_unjudged=1), "judge"),
        (Facts(has_project=True, n_unanswered=0, n_unjudged=0), "metrics"),
    ],
)
def test_the_next_step_is_the_first_unfinished_one(facts: Facts, step: str) -> None:
    assert next_step(facts) == step


def test_a_heading_counts_from_one() -> None:
    assert heading("documents").startswith("Step 1 of 8, documents: ")
    assert heading("next").startswith("Step 8 of 8, next: ")
    assert len(STEPS) == 8


def call(query_id: str, *doc_ids: str, status: str = "ok") -> Call:
    return Call(query_id, status, 1.0, [*doc_ids], [None] * len(doc_ids))


CALLS = {
    "one": [call("q1", "a", "b", "c"), call("q2"), call("q3", "x", "a")],
    # the repeated document counts once, so c is at rank 2; "strange" is in no corpus
    "two": [call("q1", "b", "b", "c"), call("q2", status="error"), call("q3", "strange", "d")],
}
QUERIES = [("q1", "first"), ("q2", "second"), ("q3", "third")]
KNOWN = frozenset("abcdx")


def test_a_pool_joins_the_top_of_all_systems_once() -> None:
    pools = pools_of(CALLS, QUERIES, 2, known=KNOWN, seed=1)
    assert [(p.query_id, p.text, {*p.doc_ids}) for p in pools] == [
        ("q1", "first", {"a", "b", "c"}),
        ("q3", "third", {"x", "a", "d"}),
    ]
    assert n_pooled(pools) == 6


def test_the_order_depends_on_seed_and_query_and_never_on_systems() -> None:
    ids = [f"d{n}" for n in range(20)]
    forwards = {"one": [call("q1", *ids), call("q2", *ids)]}
    backwards = {"two": [call("q2", *ids[::-1])], "one": [call("q1", *ids[::-1])]}
    pools = pools_of(forwards, QUERIES, 20, known=ids, seed=1)
    assert pools == pools_of(backwards, QUERIES, 20, known=ids, seed=1)
    other = pools_of(forwards, QUERIES, 20, known=ids, seed=2)
    orders = [pools[0].doc_ids, pools[1].doc_ids, other[0].doc_ids, tuple(ids)]
    assert len({*orders}) == 4
    assert all({*a} == {*b} for a, b in pairwise(orders))


def test_the_next_document_is_the_first_that_nothing_was_decided_of() -> None:
    pools = [QueryPool("q1", "first", ("a", "b")), QueryPool("q3", "third", ("b", "a", "c"))]
    decided = {Pair("q1", "a"), Pair("q1", "b"), Pair("q3", "a"), Pair("q9", "c")}
    item = next_item(pools, decided)
    assert item is not None
    assert item.pair == ("q3", "b")
    assert (item.query, item.n_queries, item.document, item.n_documents) == (2, 2, 1, 3)
    assert n_left(pools, decided) == 2
    assert next_item(pools, {*decided, Pair("q3", "b"), Pair("q3", "c")}) is None


SOURCES = [
    Source("d1", "Weather forecast", "Rain and sun for the coming week at any place on the map."),
    Source("d2", "Currency converter", "Rates of all central banks for money of many countries."),
    Source("d3", "Address checker", "Looks whether a letter will arrive where it is sent to."),
    Source("d4", "Flight delays", "Planes that land after their time, and how late they are."),
]


def test_kinds_take_turns_and_each_document_comes_once_before_any_comes_twice() -> None:
    made = stand_ins(SOURCES, 4, seed=1)
    assert [q.kind for q in made] == ["exact", "fuzzy", "autocomplete", "semantic"]
    assert {q.doc_id for q in made} == {"d1", "d2", "d3", "d4"}
    twice = stand_ins(SOURCES, 8, seed=1)
    assert twice[:4] == made
    assert {q.doc_id for q in twice[4:]} == {"d1", "d2", "d3", "d4"}


def test_the_same_seed_gives_the_same_queries_whatever_the_order_of_the_documents() -> None:
    made = stand_ins(SOURCES, 6, seed=3)
    assert made == stand_ins(SOURCES[::-1], 6, seed=3)
    assert made != stand_ins(SOURCES, 6, seed=4)


def of_kind(source: Source, kind: str) -> list[StandIn]:
    return [q for q in stand_ins([source], 10, seed=1) if q.kind == kind]


def test_each_kind_is_made_by_its_rule() -> None:
    source = SOURCES[0]
    exact, fuzzy, begun, phrase = (
        of_kind(source, k)[0].text for k in ("exact", "fuzzy", "autocomplete", "semantic")
    )
    assert exact == "Weather forecast"
    first, slip = fuzzy.split()
    assert first == "weather"
    assert slip != "forecast"
    assert sorted(slip) == sorted("forecast")  # two letters changed places
    assert slip[0] == "f"
    assert slip[-1] == "t"
    assert begun == "weather forec"  # 8 // 2 + 1 = 5 letters of the second word
    # every word of the text occurs once, so the earliest run with the fewest common words wins
    assert phrase in " ".join(source.text.lower().split())
    assert "weather" not in phrase


def test_a_phrase_is_the_rarest_run_of_words() -> None:
    common = "alpha beta gamma delta epsilon zeta"
    sources = [Source(f"d{n}", "", common) for n in range(3)]
    rare = Source("r", "", f"{common} quartz violin harbour lantern meadow {common}")
    (query,) = [q for q in stand_ins([*sources, rare], 20, seed=1) if q.doc_id == "r"]
    assert query == StandIn("quartz violin harbour lantern meadow", "semantic", "r")


def test_a_slip_never_gives_another_word_of_the_documents() -> None:
    # "trial" has the inner pairs ri and ia: "tiral" and "trail"; the second one is a word here
    sources = [Source("a", "trial", ""), Source("b", "", "a trail")]
    assert [q.text for q in stand_ins(sources, 9, seed=1) if q.kind == "fuzzy"] == ["tiral"]


def test_documents_without_names_and_text_give_nothing() -> None:
    assert stand_ins([Source("a", "", ""), Source("b", "", "two words")], 5, seed=1) == []


def test_names_that_are_the_same_give_one_query() -> None:
    made = stand_ins([Source("a", "Tea", ""), Source("b", "tea", "")], 9, seed=1)
    assert [q.text.lower() for q in made] == ["tea"]
