"""Texts and filters as PostgreSQL gets them, as far as no server is needed to see it."""

import pytest

from searchmark.data.filters import Filter
from searchmark.retrieval.postgres.facets import conditions, facets_of
from searchmark.retrieval.postgres.words import (
    LONGEST,
    MARK,
    is_storable,
    parts,
    words_and_terms,
    words_for,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Running services", ["running", "services"]),  # left to PostgreSQL to stem
        ("low-cost 1.5", ["low", "cost", "1", "5"]),
        ("web2apps v2", ["web2app", "v2"]),  # stemmed here: PostgreSQL would not
        ("12e4th 5g", [f"{MARK}12e4th", f"{MARK}5g"]),  # its parser would cut these
        ("東京", ["東京"]),
        ("\ud800", []),
        ("", []),
    ],
)
def test_words_as_the_parser_of_postgres_keeps_them(text: str, words: list[str]) -> None:
    assert words_for(text) == words


def test_a_word_it_would_leave_out_is_its_digest_and_others_are_others() -> None:
    long, longer = words_for("x" * (LONGEST + 1)), words_for("x" * (LONGEST + 2))
    assert len(long[0]) == 65
    assert long != longer
    assert words_for("x" * LONGEST) == ["x" * LONGEST]
    assert words_for("a❷b")[0].startswith(MARK)


def test_parts_hold_no_word_more_often_than_a_tsvector_counts() -> None:
    assert [len(part.split()) for part in parts(["rain"] * 600)] == [255, 255, 90]
    assert parts([]) == [""]


def test_what_can_be_stored() -> None:
    assert is_storable("é東")
    assert not is_storable("a\0")
    assert not is_storable("\ud800")


def test_facets_are_texts_without_case_numbers_and_what_reads_as_a_number() -> None:
    fields = {"a": "Base", "b": 5, "c": " 2.50 ", "d": True, "e": ["X", 1.5], "f": None, "g": {}}
    assert facets_of(fields) == {
        "a": {"text": ["base"]},
        "b": {"number": [5.0]},
        "c": {"text": [" 2.50 "], "read": [2.5]},
        "d": {"text": ["true"], "read": [1.0]},
        "e": {"text": ["x"], "number": [1.5]},
    }


def test_filters_bind_what_they_compare_and_paste_none_of_it() -> None:
    sql, values = conditions([Filter("x'; --", "=", "'; DROP"), Filter("%(q)s", "<", 5)])
    assert "DROP" not in sql
    assert "--" not in sql
    assert values["f0text"] == '{"x\'; --":{"text":["\'; drop"]}}'
    assert (values["f1f"], values["f1"]) == ("%(q)s", 5.0)
    assert conditions([]) == ("", {})


def test_a_long_word_is_the_digest_of_its_stem() -> None:
    one, many, another = (words_for("ax" * 150 + end)[0] for end in ("", "s", "a"))
    assert one == many != another
    # a word that is that long but for its ending is left to PostgreSQL, as the shorter one is
    assert words_for("ax" * (LONGEST // 2) + "s") == ["ax" * (LONGEST // 2) + "s"]


def test_words_know_the_terms_that_sums_are_ordered_by() -> None:
    long = "ax" * 150
    found = words_and_terms(f"Running 12e4th {long}s the")
    assert [term for _, term in found] == ["run", "12e4th", long, "the"]
    assert [word for word, _ in found] == words_for(f"Running 12e4th {long}s the")
