import pytest

from searchmark.data.filters import Filter
from searchmark.web.limits import Limits
from searchmark.web.parameters import (
    cursor_parameter,
    field_parameter,
    filters_of,
    limit_parameter,
    price_parameter,
    read_parameters,
    text_parameter,
)
from searchmark.web.refusal import Refused

LIMITS = Limits()
KNOWN = (
    text_parameter("query", "", 10, is_required=True),
    limit_parameter(LIMITS),
    cursor_parameter(LIMITS),
    field_parameter("network", "network", LIMITS),
    price_parameter("amount"),
)


def refusal(raw: bytes) -> str:
    with pytest.raises(Refused) as caught:
        read_parameters(raw, KNOWN)
    assert caught.value.status == 400
    return caught.value.sentence


def test_values_are_read() -> None:
    raw = b"query=a+b%20c%2B%C3%A4&limit=7&max_price=1.5e-3&network=base"
    values = read_parameters(raw, KNOWN)
    assert values == {"query": "a b c+ä", "limit": 7, "max_price": 0.0015, "network": "base"}
    assert filters_of(values, KNOWN) == (
        Filter("network", "=", "base"),
        Filter("amount", "<=", 0.0015),
    )


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "the parameter 'query' is missing"),
        (b"query=", "the parameter 'query' is empty"),
        (b"query", "the parameter 'query' is empty"),
        (b"qurey=a", "there is no parameter 'qurey' here; did you mean 'query'?"),
        (b"query=a&query=a", "the parameter 'query' is given twice"),
        (b"query=12345678901", "the parameter 'query' has 11 characters, 10 at most are read"),
        (b"query=a%00", "the parameter 'query' holds a NUL character"),
        (b"query=%ff", "the parameters are not UTF-8; write them percent-encoded"),
        (b"query=\xff", "the parameters are not UTF-8; write them percent-encoded"),
        (b"query=%ed%a0%80", "the parameters are not UTF-8; write them percent-encoded"),
        (b"&".join([b"a=b"] * 101), "more than 100 parameters are given"),
    ],
)
def test_what_is_wrong_is_one_sentence(raw: bytes, sentence: str) -> None:
    assert refusal(raw) == sentence


@pytest.mark.parametrize(
    "text", ["0", "101", "-1", "1.0", "1e1", "%2B5", "+5", "", "x", "9" * 5000]
)
def test_no_limit(text: str) -> None:
    assert refusal(f"query=a&limit={text}".encode()).startswith("the parameter 'limit' is '")


def test_digits_of_other_scripts_are_no_limit() -> None:
    assert "no whole number" in refusal(b"query=a&limit=%D9%A3")  # ARABIC-INDIC THREE


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1e16", "1_0", "0x1", "", "1,5", "9" * 5000])
def test_no_price(text: str) -> None:
    assert "no number from 0 to 1e+15" in refusal(f"query=a&max_price={text}".encode())


@pytest.mark.parametrize(("text", "value"), [("0", 0.0), ("-0.0", 0.0), ("1e15", 1e15)])
def test_a_price(text: str, value: float) -> None:
    assert read_parameters(f"query=a&max_price={text}".encode(), KNOWN)["max_price"] == value


def test_what_is_shown_of_a_value_is_short_and_plain() -> None:
    sentence = refusal(b"query=a&limit=%1b%5b2J" + b"x" * 1000)
    assert "\x1b" not in sentence
    assert len(sentence) < 150
