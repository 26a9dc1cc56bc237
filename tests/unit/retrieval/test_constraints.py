import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.data.filters import Filter
from searchmark.errors import InputError
from searchmark.retrieval.constraints import Constraint, extract

NETWORK = Constraint(r"\b(?:on\s+)?(base|solana)\b", "network")
PRICE = Constraint(r"\b(?:under|below)\s*\$?(\d+(?:\.\d+)?)", "amount", "<=")


@pytest.mark.parametrize(
    ("text", "rest", "filters"),
    [
        ("weather", "weather", []),
        ("weather on Base", "weather", [Filter("network", "=", "Base")]),
        ("prices below $2.50 for stocks", "prices for stocks", [Filter("amount", "<=", 2.5)]),
        (
            "Solana prices UNDER 5",
            "prices",
            [Filter("network", "=", "Solana"), Filter("amount", "<=", 5.0)],
        ),
        ("on base on base news", "news", [Filter("network", "=", "base")]),
        ("baseball", "baseball", []),
        ("prices under five", "prices under five", []),
        ("on base", "on base", [Filter("network", "=", "base")]),  # nothing else left: text stays
        ("  on base!? ", "  on base!? ", [Filter("network", "=", "base")]),
        ("two   blanks", "two   blanks", []),  # nothing found: untouched
        ("", "", []),
    ],
)
def test_extract(text: str, rest: str, filters: list[Filter]) -> None:
    assert extract(text, [NETWORK, PRICE]) == (rest, tuple(filters))


def test_what_is_cut_leaves_a_gap() -> None:
    found = extract("news(on base)today", [Constraint(r"\(on (\w+)\)", "network")])
    assert found.text == "news today"


def test_overlapping_matches_both_count_whatever_the_order() -> None:
    one = Constraint(r"on (base)", "network")
    other = Constraint(r"(base) usdc", "asset")
    forth = extract("pay on base usdc now", [one, other])
    back = extract("pay on base usdc now", [other, one])
    assert forth.text == back.text == "pay now"
    assert (
        forth.filters
        == back.filters[::-1]
        == (
            Filter("network", "=", "base"),
            Filter("asset", "=", "base"),
        )
    )


def test_a_named_group_goes_before_group_one() -> None:
    constraint = Constraint(r"(max|at most) (?P<value>\d+)", "amount", "<=")
    assert extract("news at most 3", [constraint]).filters == (Filter("amount", "<=", 3.0),)


def test_values_map_what_people_write() -> None:
    constraint = Constraint(
        r"\b(eth\w*|main\s+net)\b",
        "network",
        values={"Ethereum": "eip155:1", "main net": "eip155:1"},
    )
    for text in ("gas ETHEREUM", "gas main   Net"):
        assert extract(text, [constraint]) == ("gas", (Filter("network", "=", "eip155:1"),))
    assert extract("gas eth", [constraint]).filters == (Filter("network", "=", "eth"),)


def test_words_become_numbers_through_values() -> None:
    constraint = Constraint(r"\b(free|cheap)\b", "amount", "<=", values={"free": "0"})
    assert extract("free weather", [constraint]) == ("weather", (Filter("amount", "<=", 0.0),))
    # "cheap" is no number and has no value: it states nothing
    assert extract("cheap weather", [constraint]) == ("cheap weather", ())


def test_a_group_that_took_no_part_states_nothing() -> None:
    assert extract("on base", [Constraint(r"on base|on (\w+)", "network")]) == ("on base", ())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pattern": "(", "field": "f"}, r"^pattern: '\(' is no regular expression"),
        ({"pattern": "(a){99999999999}", "field": "f"}, r"^pattern: .*no regular expression"),
        ({"pattern": "base", "field": "f"}, r"^pattern: 'base' has no group; put the value"),
        ({"pattern": "(a)", "field": "f", "op": "~"}, r"^op: .*unknown operator '~'"),
        (
            {"pattern": "(a)", "field": "f", "op": "<", "values": {"a": "few"}},
            r"^values.a: .*'few', no number",
        ),
    ],
)
def test_a_constraint_that_cannot_work_names_its_key(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Constraint(**arguments)  # type: ignore[arg-type]


def test_constraints_are_values() -> None:
    assert Constraint("(a)", "f") == Constraint("(a)", "f") != Constraint("(a)", "f", "<")
    assert len({Constraint("(a)", "f"), Constraint("(a)", "f")}) == 1


@given(st.lists(st.sampled_from(["weather", "on base", "under 5", "solana", "?", "  "])))
def test_nothing_that_is_cut_can_be_found_again(parts: list[str]) -> None:
    first = extract(" ".join(parts), [NETWORK, PRICE])
    again = extract(first.text, [NETWORK, PRICE])
    assert again.text == first.text
    assert not again.filters or again.filters == first.filters
