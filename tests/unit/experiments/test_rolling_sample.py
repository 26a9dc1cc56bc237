"""Which entries are sampled, and what they are asked for by."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.experiments.rolling.sampling import Listed, digest_of_ids, draw
from searchmark.experiments.rolling.texts import (
    MOST_CHARS,
    MOST_WORDS,
    USUAL,
    KnownItemQuery,
    first_words,
    longest_words,
    texts_of,
)
from searchmark.systems.selection import compile_path

IDS = st.lists(st.text(min_size=1, max_size=5), unique=True, min_size=1, max_size=40)


def listed(ids: list[str]) -> list[Listed]:
    return [Listed(doc_id, {"name": doc_id}) for doc_id in ids]


def sampled(ids: list[str], size: int, seed: int = 0) -> list[str]:
    return [e.doc_id for e in draw(listed(ids), size, seed).entries]


@given(IDS, st.integers(1, 10), st.integers(-5, 5), st.randoms())
def test_the_same_seed_gives_the_same_sample_in_whatever_order_pages_come(
    ids: list[str], size: int, seed: int, chance: object
) -> None:
    first = draw(listed(ids), size, seed)
    mixed = list(ids)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    again = draw(iter(listed(mixed)), size, seed)
    assert again.entries == first.entries
    assert (again.sha256, again.catalog_sha256) == (first.sha256, first.catalog_sha256)
    assert len(first.entries) == min(size, len(ids))
    assert {e.doc_id for e in first.entries} <= set(ids)


@given(IDS, st.integers(1, 10), st.text(min_size=6, max_size=8))
def test_a_new_entry_changes_the_sample_by_itself_at_most(
    ids: list[str], size: int, new: str
) -> None:
    before, after = set(sampled(ids, size)), set(sampled([*ids, new], size))
    assert after - before <= {new}
    assert len(before - after) <= 1
    # and one that leaves makes room for one
    left = set(sampled(ids[1:], size))
    assert before - left <= {ids[0]}


def test_the_sample_is_of_the_smallest_hashes() -> None:
    ids = [f"d{i}" for i in range(50)]
    hashes = {i: sha256(f"7\n{i}".encode()).hexdigest() for i in ids}
    assert sampled(ids, 5, seed=7) == sorted(ids, key=lambda i: hashes[i])[:5]
    assert set(sampled(ids, 5, seed=8)) != set(sampled(ids, 5, seed=7))


def test_an_entry_that_is_listed_twice_is_there_once() -> None:
    found = draw(listed(["a", "b", "a"]), 10, 0)
    assert sorted(e.doc_id for e in found.entries) == ["a", "b"]
    assert (found.n_catalog, found.n_repeated) == (2, 1)


def test_digests_tell_sets_of_ids_apart() -> None:
    assert digest_of_ids(["a", "b"]) == digest_of_ids(["b", "a"])
    assert digest_of_ids(["ab", "c"]) != digest_of_ids(["a", "bc"])
    assert digest_of_ids(["\ud800"]) != digest_of_ids(["?"])  # JSON can hold half a character


def test_first_words_stop_after_sixteen_or_at_the_last_whole_one() -> None:
    assert first_words("  Weather\n for   any city ") == "Weather for any city"
    assert first_words("a " * 40) == " ".join("a" * MOST_WORDS)
    # 67 and 67 characters with blanks between make 135; with a third one it would be 203
    long = ("x" * 67 + " ") * 3
    assert first_words(long) == "x" * 67 + " " + "x" * 67
    assert first_words("y" * 500) == "y" * MOST_CHARS


def test_longest_words_are_the_text_s_own_in_its_order() -> None:
    # with, for and any are stop words or short; precipitation, real, time, weather, forecast, data,
    # city: the four longest are precipitation, forecast, weather and the first of four letters
    text = "Real-time weather forecast with precipitation data for any city"
    assert longest_words(text) == "real weather forecast precipitation"
    assert longest_words("it is of the") == ""


def test_an_entry_is_asked_for_by_what_it_has() -> None:
    places = {kind: compile_path(e, "texts") for kind, e in USUAL.items()}
    entry = {"serviceName": "WeatherCo\x00", "description": "", "tags": ["a"], "name": None}
    assert texts_of(entry, places) == {"name": "WeatherCo"}
    tags = {"tags": compile_path("tags", "texts.tags")}
    assert texts_of({"tags": ["red", 5, "fox"]}, tags) == {"tags": "red fox"}
    assert texts_of({"tags": {"a": 1}}, tags) == {}


def test_a_query_is_known_by_kind_entry_and_text() -> None:
    asked = KnownItemQuery("d1", "name", "Weather")
    assert asked.query_id == "name d1"
    assert asked.digest == sha256(b"Weather").hexdigest()[:12]
    assert asked._replace(text="weather").digest != asked.digest


@pytest.mark.parametrize("text", ["日本語" * 200, "e\u0301" * 300])
def test_a_text_without_blanks_is_cut(text: str) -> None:
    assert len(first_words(text)) == MOST_CHARS
