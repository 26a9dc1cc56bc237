"""Ids, scores, flags and totals out of an engine's answer; only an empty list is empty."""

from typing import Any

import pytest

from searchmark.errors import InputError, SystemFailedError
from searchmark.systems.protocol import Answer, Hit
from searchmark.systems.selection import (
    compile_path,
    count_at,
    flag_at,
    ids_at,
    numbers_at,
    path_problem,
    selection,
    selection_problems,
)

IDS = compile_path("hits[].id", "ids")
SCORES = compile_path("hits[].score", "scores")


def failure(call: Any, *arguments: Any) -> str:
    with pytest.raises(SystemFailedError) as caught:
        call(*arguments)
    assert not caught.value.retry
    return str(caught.value)


def test_ids_are_texts_in_the_order_given() -> None:
    document = {"hits": [{"id": "b"}, {"id": 12}, {"id": 3.0}, {"id": "b"}, {"id": " x "}]}
    assert ids_at(document, IDS) == ["b", "12", "3", "b", " x "]
    assert ids_at({"hits": [{"id": 2**70}]}, IDS) == ["1180591620717411303424"]


def test_only_a_list_without_elements_is_empty() -> None:
    assert ids_at({"hits": []}, IDS) == []
    for document in ({}, {"hits": None}, [], None, "text", 3, {"error": "no index"}):
        assert "the answer has nothing at ids = 'hits[].id'" in failure(ids_at, document, IDS)
    assert "it holds error, code" in failure(ids_at, {"error": 1, "code": 2}, IDS)
    whole = compile_path("hits", "ids")
    assert "has a text at ids = 'hits', where a list" in failure(ids_at, {"hits": "a"}, whole)
    assert "has an object at" in failure(ids_at, {"hits": {}}, whole)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "there is nothing where"),
        (True, "there is true where"),
        (1.5, "there is the number 1.5 where"),
        (1e17, "there is the number 1e+17 where"),
        (["a"], "there is a list of 1 where"),
        ({"a": 1}, "there is an object where"),
        ("", "there is an empty text where"),
    ],
)
def test_what_is_no_id_is_told_with_its_place(value: Any, told: str) -> None:
    document = {"hits": [{"id": "a"}, {"id": value}, {"id": "c"}]}
    message = failure(ids_at, document, IDS)
    assert message.startswith("result 2 has no id at ids = 'hits[].id'")
    assert told in message


@pytest.mark.parametrize("path", ["hits[].id", "hits[*].id", "hits[?ok].id", "hits[].[id][]"])
def test_a_hit_without_an_id_does_not_vanish(path: str) -> None:
    document = {"hits": [{"id": "a", "ok": 1}, {"ok": 1}, {"id": "c", "ok": 1}]}
    assert failure(ids_at, document, compile_path(path, "ids")).startswith("result 2 has no id")
    assert "result 2" in failure(ids_at, {"hits": [{"id": "a"}, None]}, IDS)


def test_standard_expressions_work() -> None:
    document = {"groups": [{"docs": [{"id": "a"}]}, {}, {"docs": [{"id": "b"}, {"id": "c"}]}]}
    assert ids_at(document, compile_path("groups[].docs[].id", "ids")) == ["a", "b", "c"]
    assert ids_at(["a", "b"], compile_path("@", "ids")) == ["a", "b"]
    assert ids_at({"a": {"id": "x"}, "b": {"id": "y"}}, compile_path("*.id", "ids")) == ["x", "y"]
    kept = compile_path("hits[?score > `0.5`].id", "ids")
    assert ids_at({"hits": [{"id": "a", "score": 1}, {"id": "b", "score": 0}]}, kept) == ["a"]
    either = compile_path("hits[].id || hits[].key", "ids")
    assert ids_at({"hits": [{"key": "k"}]}, either) == ["k"]
    or_empty = compile_path("hits[].id || `[]`", "ids")
    assert ids_at({"hits": None}, or_empty) == []
    assert "result 1 has no id" in failure(ids_at, {"hits": [{"key": "k"}]}, or_empty)


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("[].id", [[], []]),
        ("@[].id", [[]]),
        ("[]", [["a"], ["b"]]),
        ("hits[].id", {"hits": [[], []]}),
        ("hits[].id", {"hits": [{"id": "a"}, []]}),
        ("hits[][].id", {"hits": [[], []]}),
        ("of.hits[].id", {"of": {"hits": [[{"id": "a"}], [{"id": "b"}]]}}),
        ("of | hits[].id", {"of": {"hits": [[]]}}),
        ("of[0][].id", {"of": [[[], []]]}),
        ("hits[].id || `[]`", {"hits": [[], []]}),
    ],
)
def test_lists_in_the_answer_are_not_put_end_to_end(path: str, document: Any) -> None:
    """Several lists without elements are no empty answer, and several rankings are not one."""
    message = failure(ids_at, document, compile_path(path, "ids"))
    assert message.startswith(f"the answer does not fit ids = '{path}': of ")
    assert "are lists, where one list of results is expected; take one of them as in" in message


@pytest.mark.parametrize(
    ("path", "document", "expected"),
    [
        ("hits[*][].id", {"hits": [[], []]}, []),
        ("hits[*][].id", {"hits": [[{"id": "a"}], [{"id": "b"}]]}, ["a", "b"]),
        ("hits[0][].id", {"hits": [[{"id": "a"}], [{"id": "b"}]]}, ["a"]),
        ("hits[0]", {"hits": [["a", "b"]]}, ["a", "b"]),
        ("groups[].docs[].id", {"groups": [{"docs": []}, {"docs": []}]}, []),
        ("[exact, near][].id", {"exact": [{"id": "a"}], "near": []}, ["a"]),
        ("of.[exact, near][].id", {"of": {"exact": [], "near": [{"id": "b"}]}}, ["b"]),
    ],
)
def test_lists_that_the_expression_gathers_are_joined(
    path: str, document: Any, expected: list[str]
) -> None:
    assert ids_at(document, compile_path(path, "ids")) == expected


def test_flags_may_look_at_lists_of_lists() -> None:
    assert flag_at({"warnings": [["slow"], []]}, compile_path("warnings[]", "partial"))


def test_scores_stay_with_their_ids() -> None:
    document = {"hits": [{"id": "a"}, {"id": "b", "score": 2}, {"id": "c", "score": 0.5}]}
    assert numbers_at(document, SCORES, 3) == [None, 2.0, 0.5]
    told = "has 3 values at scores = 'hits[].score' and 2 ids"
    assert told in failure(numbers_at, document, SCORES, 2)


@pytest.mark.parametrize("value", ["1.5", True, [1], float("nan"), float("inf"), 10**400])
def test_what_is_no_number_is_told_with_its_place(value: Any) -> None:
    assert "result 1 has " in failure(numbers_at, {"hits": [{"score": value}]}, SCORES, 1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((v, True) for v in (True, 2, "omitted", ["w"])),
        *((v, False) for v in (False, None, 0, "false", "", [])),
    ],
)
def test_flags(value: Any, expected: bool) -> None:
    assert flag_at({"partial": value}, compile_path("partial", "partial")) is expected
    failed = compile_path("timed_out || _shards.failed > `0`", "partial")
    assert flag_at({"timed_out": False, "_shards": {"failed": 1}}, failed)
    assert not flag_at({"timed_out": False, "_shards": {"failed": 0}}, failed)


def test_counts() -> None:
    total = compile_path("total", "total")
    assert [count_at({"total": v}, total) for v in (7, 7.0, 0, None)] == [7, 7, 0, None]
    assert count_at({"total": 2**63 - 1}, total) == 2**63 - 1
    for value in (-1, 1.5, True, "7", [7], 2**63, 10**30, 2.0**63, 1e300):
        assert "no count" in failure(count_at, {"total": value}, total)


def test_a_path_that_is_no_expression() -> None:
    assert path_problem("hits[].id") is None
    assert "'hits[' is no JMESPath expression" in (path_problem("hits[") or "")
    assert path_problem("") is not None
    with pytest.raises(InputError, match="scores: 'a b' is no JMESPath"):
        compile_path("a b", "scores")
    found = selection_problems(ids="a", scores="[", tokens=3.0, total=None)
    assert [p.key for p in found] == ["scores"]


def test_a_function_that_does_not_fit_is_the_answers_fault() -> None:
    path = compile_path("sort(hits)", "ids")
    assert "does not fit ids = 'sort(hits)'" in failure(ids_at, {"hits": [1, "a"]}, path)
    assert path_problem("a.nope(hits)") == "JMESPath has no function nope()"


def test_an_answer_is_cut_at_k_and_never_reordered() -> None:
    chosen = selection("h[].i", "h[].s", 3.0, partial="p", total="n")
    document = {"h": [{"i": "a", "s": 1}, {"i": "b", "s": 2}, {"i": "c"}], "p": True, "n": 9}
    expected = Answer((Hit("a", 1.0, 3.0), Hit("b", 2.0, 3.0)), True, total=9, size=50)
    assert chosen.answer(document, 2, size=50) == expected
    assert chosen.answer({"h": []}, 2) == Answer(())
    assert selection("h", "s").answer({"h": []}, 2) == Answer(())
    costs = selection("h[].i", tokens="h[].s")
    assert [h.tokens for h in costs.hits(document)] == [1.0, 2.0, None]
