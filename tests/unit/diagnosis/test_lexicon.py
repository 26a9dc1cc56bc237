"""What a corpus knows of words and names, on corpora small enough to count by hand."""

import random
from functools import cache

import polars as pl
import pytest

from searchmark.data.corpus import Corpus
from searchmark.diagnosis.lexicon import Lexicon, Named, name_fields
from searchmark.diagnosis.neighbours import Neighbours, distance
from searchmark.errors import InputError


def lexicon(*names: str, **columns: object) -> Lexicon:
    return Lexicon.of(Corpus(pl.DataFrame(columns)), names)


@pytest.fixture
def shop() -> Lexicon:
    return lexicon(
        doc_id=["svc-weather", "svc-2", "7", "70001"],
        title=["Sky-Lark Weather", "C++ Primer", "C# Primer", None],
        serviceName=["WeatherCo", None, "", "Polyglot"],
        sku=["WH-1000", None, None, "KT 40"],
        tags=[["weather", "rain"], ["code"], [], None],
        text=["Weather for any city; weather!", "a city of invoices", None, "headphones"],
        price=[1.5, 2.0, 3.0, 4.0],
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sky-Lark Weather", ("svc-weather", "title")),
        ("skylark  WEATHER!", ("svc-weather", "title")),
        ("weather co", ("svc-weather", "serviceName")),
        ("wh1000", ("svc-weather", "sku")),
        ("kt-40", ("70001", "sku")),
        ("svc-weather", ("svc-weather", "doc_id")),
        ("70001", ("70001", "doc_id")),
        ("c++ primer", ("svc-2", "title")),
        ("C# primer", ("7", "title")),  # letters alone would give svc-2
        ("7", None),  # a short number is a row, no name
        ("weather", None),
        ("rain", None),  # a tag is no name
        ("", None),
        ("++", None),
    ],
)
def test_a_name_is_found_without_case_blanks_and_punctuation(
    shop: Lexicon, text: str, expected: tuple[str, str] | None
) -> None:
    assert shop.named(text) == (expected and Named(*expected))
    assert shop.is_name(text) == (expected and expected[0])


def test_of_two_documents_with_one_name_the_first_is_meant() -> None:
    twins = lexicon(doc_id=["b", "a"], title=["Smile", "smile"], text=["", ""])
    assert twins.is_name("SMILE") == "b"


def test_one_letter_is_not_enough_of_a_name_with_signs() -> None:
    assert lexicon(doc_id=["d1"], title=["C++"], text=[""]).is_name("c") is None


def test_fields_that_hold_names_are_told_by_what_they_are_called() -> None:
    columns = ["doc_id", "text", "serviceName", "brand_name", "title", "filename", "label", "Name"]
    assert name_fields(columns) == ("title", "label", "Name", "serviceName", "brand_name")


def test_given_names_replace_the_default_and_may_be_lists() -> None:
    films = lexicon("actors", doc_id=["d1"], title=["Frost"], actors=[["Ana Brook", "Bo"]])
    assert films.named("ana brook") == ("d1", "actors")
    assert films.is_name("frost") is None


def test_a_field_of_names_that_is_not_there_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"no field 'titel'; did you mean 'title'\?"):
        lexicon("titel", doc_id=["d1"], title=["Frost"]).is_name("frost")


def test_a_text_may_begin_one_name_or_several() -> None:
    tents = lexicon(
        doc_id=["a", "b", "c"], title=["Kite Tent", "Kite Rug", "Oak Bed"], text=[""] * 3
    )
    assert tents.begun_name("kite") == ("b", "title")  # "kiterug" is before "kitetent"
    assert tents.begun_name("kite", alone=True) is None
    assert tents.begun_name("oak b", alone=True) == ("c", "title")
    assert tents.begun_name("tent") is None
    assert tents.begun_name("?") is None


def test_a_document_counts_once_for_a_word_in_all_its_fields_of_text(shop: Lexicon) -> None:
    # weather: svc-weather has it in title, tags and twice in text; nobody else has it
    assert shop.document_frequency("weather") == 1
    assert shop.document_frequency("city") == 2
    assert shop.document_frequency("primer") == 2
    assert shop.document_frequency("polyglot") == 1
    assert shop.document_frequency("nowhere") == 0
    assert shop.document_frequency("svc") == 0  # an id is no text


def test_completions_are_the_words_that_begin_so_in_order(shop: Lexicon) -> None:
    assert shop.completions("we") == ("weather", "weatherco")
    assert shop.completions("weather") == ("weather", "weatherco")
    assert shop.completions("zz") == ()
    assert "rain" in shop.completions("")


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("invoices", True),
        ("invoice", True),
        ("invoiced", True),
        ("invoic", False),  # the stem of invoices, and no word
        ("headphone", True),
        ("headphon", False),
        ("cities", True),
        ("citi", False),
        ("wether", False),
    ],
)
def test_inflections_are_known_and_words_cut_short_are_not(
    shop: Lexicon, word: str, known: bool
) -> None:
    assert shop.knows(word) is known


def test_a_plural_in_es_is_no_sign_that_its_singular_is_cut_short() -> None:
    assert lexicon(doc_id=["d"], title=["boxes"], text=[""]).knows("box")


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("wether", "weather"),  # one letter missing
        ("waether", "weather"),  # two swapped: one edit
        ("wexthr", None),  # two edits, and six letters allow one
        ("hedphnes", "headphones"),  # two letters missing, and eight allow two edits
        ("hxdphnes", None),  # three edits
        ("rian", "rain"),
        ("ran", None),  # too short to tell
        ("weather", None),  # known
        ("invoise", "invoice"),  # the singular of what the corpus has
    ],
)
def test_the_nearest_word_is_within_one_edit_or_two_for_long_words(
    shop: Lexicon, word: str, near: str | None
) -> None:
    assert shop.nearest(word) == near


def test_a_closer_word_comes_before_a_more_frequent_one_and_that_before_the_alphabet() -> None:
    words = ["planets planet", "plants plants", "plants", "plant", "plane"]
    garden = lexicon(doc_id=list("abcde"), title=words, text=[""] * 5)
    # planxts: planets (1 edit, 1 document) and plants (1 edit, 2 documents), nothing else
    assert garden.near("planxts") == ("plants", "planets")
    # planxet: planet alone is 1 edit away
    assert garden.near("planxet") == ("planet",)


def test_words_with_a_colon_are_whole_values_or_parts_of_a_text() -> None:
    chains = lexicon(
        doc_id=["a", "b"], network=["Stellar:testnet", "base"], text=["use (display:grid).", "x: y"]
    )
    assert chains.field_of("stellar:TESTNET") == "network"
    assert chains.field_of("display:grid") is None
    assert chains.writes("display:grid")
    assert not chains.writes("x:y")


def test_the_fields_are_all_columns(shop: Lexicon) -> None:
    assert {"doc_id", "price", "tags", "serviceName"} < shop.fields


def test_a_corpus_without_words_knows_nothing() -> None:
    nothing = lexicon(doc_id=["d1"], title=[None], text=[""])
    assert nothing.nearest("weather") is None
    assert nothing.completions("w") == ()
    assert not nothing.knows("weather")


@cache
def edits(a: str, b: str) -> int:
    """Count edits by the recursive definition, one letter at a time from the end."""
    if not a or not b:
        return len(a) + len(b)
    found = [edits(a[:-1], b) + 1, edits(a, b[:-1]) + 1, edits(a[:-1], b[:-1]) + (a[-1] != b[-1])]
    if len(a) > 1 and len(b) > 1 and a[-2:] == b[-1] + b[-2]:
        found.append(edits(a[:-2], b[:-2]) + 1)
    return min(found)


def words(seed: int, n: int) -> list[str]:
    generator = random.Random(seed)
    letters = "abcdéüж"
    return ["".join(generator.choices(letters, k=generator.randint(1, 7))) for _ in range(n)]


def test_distance_is_that_of_the_recursive_definition() -> None:
    for a in words(1, 60):
        for b in words(2, 40):
            true = edits(a, b)
            for limit in (1, 2):
                assert min(distance(a, b, limit), limit + 1) == min(true, limit + 1), (a, b)


def test_ruling_out_by_letters_loses_no_neighbour() -> None:
    known = sorted(set(words(3, 300)))
    index = Neighbours(known)
    for word in words(4, 60):
        for limit in (1, 2):
            expected = {(w, edits(word, w)) for w in known if edits(word, w) <= limit}
            assert set(index.within(word, limit)) == expected
