"""Differences that a hand or an ear makes, and those that make another word."""

import pytest

from searchmark.diagnosis.slips import is_slip
from searchmark.diagnosis.words import COMMON, is_common


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("wether", "weather"),  # a letter missing
        ("weatther", "weather"),  # doubled
        ("wheather", "weather"),  # a silent h
        ("weathger", "weather"),  # g lies beside h
        ("weahter", "weather"),  # swapped
        ("ewather", "weather"),  # swapped at the start
        ("weathee", "weather"),  # e lies beside r
        ("currancy", "currency"),  # a vowel for another
        ("currensy", "currency"),  # s sounds like c
        ("transaltoin", "translation"),  # two swaps keep the consonants' order
        ("rian", "rain"),
        ("goodd", "good"),
    ],
)
def test_these_are_slips(word: str, near: str) -> None:
    assert is_slip(word, near)


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("night", "right"),  # another first letter
        ("commute", "compute"),  # p and m are neither near nor alike
        ("want", "went"),  # four letters
        ("maxima", "maxim"),  # a letter more at the end
        ("tamil", "tail"),  # m lies beside neither a nor i
        ("pings", "pngs"),  # an abbreviation
        ("sequence", "sentence"),  # two edits, other consonants
        ("analysis", "analytics"),
    ],
)
def test_these_make_another_word(word: str, near: str) -> None:
    assert not is_slip(word, near)


@pytest.mark.parametrize(
    "word", ["cook", "cooking", "cheaper", "bigger", "easiest", "larger", "taken", "colour", "don"]
)
def test_common_words_are_known_in_their_inflections(word: str) -> None:
    assert is_common(word)


@pytest.mark.parametrize("word", ["invoic", "servic", "ledger", "zebu", "", "wether"])
def test_stems_cut_short_and_rare_words_are_not_common(word: str) -> None:
    assert not is_common(word)


def test_common_words_are_words_in_lower_case() -> None:
    assert [w for w in COMMON if not (w.isalpha() and w.islower() and w.isascii())] == []
