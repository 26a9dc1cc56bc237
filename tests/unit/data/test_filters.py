import math

import polars as pl
import pytest

from searchmark.data.filters import Filter, allowed, as_number, parse_filters
from searchmark.errors import InputError

FRAME = pl.DataFrame(
    {
        "doc_id": ["a", "b", "c", "d"],
        "network": ["base", "Solana", None, "BASE"],
        "amount": [5, 10, None, -1],
        "price": ["1000000", " 2.5 ", "nan", "cheap"],
        "rate": [0.5, math.nan, math.inf, None],
        "tags": [["Weather", "rain"], [], None, ["rain", None]],
        "sizes": [[1, 20], [3], [], None],
        "live": [True, False, None, True],
        "nothing": [[], [], [], []],
        "shape": [{"x": 1}] * 4,
    }
)


def passing(filters: dict[str, object]) -> str:
    passed = allowed(FRAME, parse_filters(filters))
    return "".join(FRAME["doc_id"].filter(pl.Series(passed)))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "abcd"),
        ({"network": "bAsE"}, "ad"),
        ({"network": "bas"}, ""),
        ({"amount": 5}, "a"),
        ({"amount": "5.0"}, "a"),
        ({"amount": "five"}, ""),
        ({"amount": {"<=": 5}}, "ad"),
        ({"amount": {"<": 5}}, "d"),
        ({"amount": {">": "-1"}}, "ab"),
        ({"amount": {">=": -1, "<": 10}}, "ad"),
        ({"amount": {"=": 10}, "network": "solana"}, "b"),
        ({"amount": {"=": 10}, "network": "base"}, ""),
        ({"price": {">=": 2.5}}, "ab"),  # texts that are numbers; "nan" and "cheap" are none
        ({"price": {"<": 1000}}, "b"),
        ({"price": 1e6}, "a"),
        ({"price": "1e6"}, ""),  # a text asks for that text
        ({"rate": {">": 0}}, "a"),  # neither NaN nor infinity is a price
        ({"tags": "weather"}, "a"),
        ({"tags": "RAIN"}, "ad"),
        ({"sizes": {">": 10}}, "a"),
        ({"sizes": {"<": 4}}, "ab"),
        ({"nothing": "x"}, ""),
        ({"live": True}, "ad"),
        ({"live": "false"}, "b"),
    ],
)
def test_which_documents_pass(filters: dict[str, object], expected: str) -> None:
    assert passing(filters) == expected


def test_fixed_width_lists_are_lists() -> None:
    frame = pl.DataFrame({"pair": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2))})
    assert allowed(frame, [Filter("pair", ">", 2)]).tolist() == [False, True]


def test_an_unknown_field_has_near_matches() -> None:
    with pytest.raises(InputError, match=r"'netwrk = base' names no field.*did you mean 'network'"):
        passing({"netwrk": "base"})


@pytest.mark.parametrize("filters", [{"shape": "x"}, {"shape": {"<": 1}}])
def test_a_field_that_cannot_be_compared_is_told(filters: dict[str, object]) -> None:
    with pytest.raises(InputError, match="cannot be applied to a field of type Struct"):
        passing(filters)


def test_dates_are_no_numbers() -> None:
    frame = pl.DataFrame({"day": ["2026-01-01"]}).with_columns(pl.col("day").str.to_date())
    assert allowed(frame, [Filter("day", "=", "2026-01-01")]).tolist() == [True]
    with pytest.raises(InputError, match="of type Date"):
        allowed(frame, [Filter("day", ">", 5)])


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"amount": {"~": 5}}, "'amount' has the unknown operator '~'; known: =, <"),
        ({"amount": {"<": "cheap"}}, "'amount <' compares with 'cheap', no number"),
        ({"amount": {"<": True}}, "compares with True, no number"),
        ({"amount": {"<": math.nan}}, "compares with nan, no number"),
        ({"amount": {}}, "'amount' is empty"),
        ({"amount": None}, "'amount' compares with None"),
        ({"tags": ["a", "b"]}, "'tags' compares with"),
    ],
)
def test_filters_that_mean_nothing_name_their_key(filters: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_filters(filters)


def test_parsed_filters_are_values_in_order() -> None:
    assert parse_filters({"network": "base", "amount": {">": 1, "<=": 5}}) == (
        Filter("network", "=", "base"),
        Filter("amount", ">", 1),
        Filter("amount", "<=", 5),
    )


@pytest.mark.parametrize(
    ("value", "number"),
    [("5", 5.0), (" 2.5 ", 2.5), (3, 3.0), ("", None), ("x", None), (True, None), ("inf", None)],
)
def test_numbers_in_texts(value: str | float | bool, number: float | None) -> None:
    assert as_number(value) == number


def test_a_number_too_large_is_none() -> None:
    assert as_number(10**400) is None


@pytest.mark.parametrize("text", ["1_0", "\u0661"])
def test_what_only_python_reads_as_a_number_is_a_text(text: str) -> None:
    assert as_number(text) is None
