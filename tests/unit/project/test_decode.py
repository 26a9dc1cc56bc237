"""One table into one struct, with everything that is wrong told at its own key."""

from datetime import date
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pytest

from searchmark.project.decode import decode_table

if TYPE_CHECKING:
    from searchmark.errors import Problem


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    size: int = 1


class Outer(msgspec.Struct, frozen=True, kw_only=True):
    inner: Inner | None = None
    many: list[Inner] = []
    weights: dict[str, float] | list[str] = []
    nested: dict[str, dict[str, float]] = {}
    words: list[str | list[str]] = []
    choice: Literal["and", "or"] = "and"
    flag: bool = False
    ratio: float = 0.5


def decode(table: dict[str, Any]) -> tuple[Outer | None, dict[str, str]]:
    problems: list[Problem] = []
    found = decode_table(table, Outer, "t", problems)
    return found, {p.key: p.message for p in problems}


def test_every_kind_of_value_is_converted() -> None:
    found, problems = decode(
        {
            "inner": {"name": "a"},
            "many": [{"name": "b", "size": 2}],
            "weights": {"x": 3},
            "nested": {"c": {"m": 1}},
            "words": ["a", ["b", "c"]],
            "choice": "or",
            "flag": True,
            "ratio": 1,
        }
    )
    assert problems == {}
    assert found == Outer(
        inner=Inner(name="a"),
        many=[Inner(name="b", size=2)],
        weights={"x": 3.0},
        nested={"c": {"m": 1.0}},
        words=["a", ["b", "c"]],
        choice="or",
        flag=True,
        ratio=1.0,
    )


@pytest.mark.parametrize(
    ("table", "key", "message"),
    [
        ({"inner": {"nmae": "a"}}, "t.inner.nmae", "unknown key; did you mean 'name'?"),
        ({"inner": {"size": 3}}, "t.inner.name", "is missing"),
        ({"inner": 3}, "t.inner", "must be a table, not a whole number"),
        ({"many": {}}, "t.many", "must be a list, not a table"),
        ({"many": [{"name": "a"}, 3]}, "t.many[1]", "must be a table, not a whole number"),
        ({"many": [{"name": "a", "size": "b"}]}, "t.many[0].size", "must be a whole number"),
        ({"weights": 3}, "t.weights", "must be a table or a list, not a whole number"),
        ({"weights": {"x": "y"}}, "t.weights.x", "must be a number, not text"),
        ({"weights": ["x", 1]}, "t.weights[1]", "must be text, not a whole number"),
        ({"nested": {"c": {"m": True}}}, "t.nested.c.m", "must be a number, not true or false"),
        ({"words": ["a", ["b", 1]]}, "t.words[1][1]", "must be text, not a whole number"),
        ({"choice": "xor"}, "t.choice", "cannot be 'xor'; did you mean 'or'?"),
        ({"choice": 3}, "t.choice", "must be text, not a whole number"),
        ({"flag": 1}, "t.flag", "must be true or false, not a whole number"),
        ({"ratio": date(2024, 1, 2)}, "t.ratio", "must be a number, not a date"),
    ],
)
def test_what_is_wrong_is_told_at_its_key(table: dict[str, Any], key: str, message: str) -> None:
    _, problems = decode(table)
    assert list(problems) == [key, *([] if key != "t.inner.nmae" else ["t.inner.name"])]
    assert problems[key].startswith(message)


def test_wrong_values_leave_the_right_ones_to_be_looked_at() -> None:
    found, problems = decode({"ratio": "x", "flag": True, "what": 1, "weights": {"a": 1, "b": ""}})
    assert found == Outer(flag=True)
    assert sorted(problems) == ["t.ratio", "t.weights.b", "t.what"]


def test_without_a_required_value_there_is_nothing() -> None:
    problems: list[Problem] = []
    assert decode_table({"name": 3}, Inner, "", problems) is None
    assert [p.key for p in problems] == ["name"]
