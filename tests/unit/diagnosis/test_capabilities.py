"""Which capability a query is taken to ask for, and the reason that is shown."""

import json
import random
from pathlib import Path

import polars as pl
import pytest

from searchmark.data.corpus import Corpus
from searchmark.data.queries import Queries, read_queries
from searchmark.diagnosis.capabilities import (
    CAPABILITIES,
    Capability,
    capabilities_of,
    capability_of,
)
from searchmark.diagnosis.lexicon import Lexicon
from searchmark.errors import InputError

CORPUS = Corpus(
    pl.DataFrame(
        {
            "doc_id": ["svc-1", "svc-2", "svc-3", "svc-4"],
            "title": ["Skyglass", "Polyglot Pages", "Gas", "Mission:Control"],
            "text": [
                "weather forecasts for any city, and weather maps",
                "translation of documents, see the weather page",
                "what translators earn; set display:grid",
                "rockets",
            ],
            "network": ["base", "stellar:testnet", None, "base"],
            "sku": ["WH-1000", None, None, None],
        }
    )
)
LEXICON = Lexicon.of(CORPUS)


def told(text: str) -> tuple[str, str]:
    found = capability_of(text, LEXICON)
    assert not found.is_given
    return found.name, found.reason


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("sky glass", "exact", "is the title of svc-1"),
        ("wh1000", "exact", "is the sku of svc-1"),
        ("SVC-2", "exact", "is the id of svc-2"),
        ("gas", "exact", "is the title of svc-3"),  # though under 5 characters
        ("Mission:Control", "exact", "is the title of svc-4"),  # though it looks like a field
        ("the Skyglass service", "exact", '"skyglass" in it is the title of svc-1'),
        ("network:base", "structured", "network:base asks for a field of the corpus"),
        (
            "-Network:base AND title:sky*",
            "structured",
            "Network:base, title:sky* ask for fields of the corpus",
        ),
        (
            'title:"Polyglot Pages"',
            "structured",
            'title:"Polyglot Pages" asks for a field of the corpus',
        ),
        ("network: base", "structured", "network: base asks for a field of the corpus"),
        (
            "author:smith",
            "structured",
            "author:smith has the form field:value, though the corpus has no field 'author'",
        ),
        (
            "stellar:testnet",
            "structured",
            "stellar:testnet is a value of the field 'network'",
        ),
        (
            "weather maps network:base",
            "combined",
            'network:base asks for a field of the corpus, beside the words "weather maps"',
        ),
        (
            "weather on stellar:testnet.",
            "combined",
            "stellar:testnet is a value of the field 'network', beside the words \"weather on\"",
        ),
        ("inv", "autocomplete", '"inv" is under 5 characters'),
        ("transl", "autocomplete", 'no document has "transl", but 2 words begin with it'),
        ("weather foreca", "autocomplete", 'no document has "foreca", but 1 word begins with it'),
        ("polyglot pa", "autocomplete", 'no document has "pa", but 2 words begin with it'),
        ("polyglotpa", "autocomplete", "begins the title of svc-2"),
        ("wh-10", "autocomplete", "begins the sku of svc-1"),
        ("wether", "fuzzy", '"wether" looks like "weather" (in 2 documents)'),
        (
            "how do i read a forcast",
            "fuzzy",
            '"forcast" looks like "forecast" (in 1 document)',
        ),
        ("will it rain", "semantic", "free text, no name, prefix or misspelling"),
        (
            "zebu farming",
            "semantic",
            'free text, no name, prefix or misspelling; the corpus does not know "zebu"',
        ),
        ("🌧️", "semantic", "has no letters or digits"),
    ],
)
def test_each_form_has_its_reason(text: str, name: str, reason: str) -> None:
    assert told(text) == (name, reason)


@pytest.mark.parametrize(
    "text",
    [
        "http://example.com/page",
        "https://example.com:8080/page",
        "localhost:8080",
        "example.com:443",
        "mailto:someone",
        "meet at 12:30 tomorrow",
        "mix oil and water 3:1",
        "note: how do I return it",
        "std::vector of words",
        "grin :D",
        "C:\\temp files",
        "use display:grid here",  # the corpus writes it in a text
        "title: what is it about",  # a column, but a sentence after a blank
        "network:",
        'title:""',
        "注意:天气",
    ],
)
def test_a_colon_alone_makes_no_field(text: str) -> None:
    assert told(text)[0] not in ("structured", "combined")


@pytest.mark.parametrize(
    "text",
    [
        "price:<=5",
        "price:<= 5",
        "price:[1 TO 5]",
        "price:{1 TO 5}",
        "network:(base OR solana)",
        'note:"how do I"',
        "-network:base",
        "(network:base)",
        "title:what",
        "title: [a TO b]",
        "in network:base",
        "network\uff1abase",  # full-width, as Chinese keyboards type it
    ],
)
def test_values_may_be_ranges_groups_and_quoted_words(text: str) -> None:
    assert told(text)[0] == "structured"


def test_a_field_that_the_corpus_has_goes_before_a_name() -> None:
    corpus = Corpus(pl.DataFrame({"doc_id": ["a"], "title": ["text:gold"], "text": ["x"]}))
    assert capability_of("text:gold", Lexicon.of(corpus)).name == "structured"


@pytest.mark.parametrize("text", ["weather foreca?", "weather foreca.", "transl++"])
def test_a_last_word_with_a_sign_after_it_is_not_cut_short(text: str) -> None:
    assert told(text)[0] != "autocomplete"


def test_a_word_cut_short_goes_before_a_misspelling() -> None:
    assert told("wether foreca")[0] == "autocomplete"


@pytest.mark.parametrize("text", ["天气", "天気予報", "날씨", "ฝนตก"])
def test_writing_without_blanks_is_no_prefix_however_short(text: str) -> None:
    name, reason = told(text)
    assert name == "semantic"
    assert reason.startswith("is written without blanks between words")


def test_numbers_follow_the_rule_of_five_characters() -> None:
    assert told("2019") == ("autocomplete", '"2019" is under 5 characters')
    assert told("20191")[0] == "semantic"


def test_mostly_strange_words_are_another_language_and_no_misspelling() -> None:
    # one of three unknown words has a neighbour (forcast); with it alone the query is fuzzy
    assert told("forcast grzmot chmura")[0] == "semantic"
    assert told("forcast grzmot")[0] == "fuzzy"


def test_of_several_misspellings_the_most_frequent_word_is_shown() -> None:
    assert told("forcast of the wether")[1] == '"wether" looks like "weather" (in 2 documents)'


def test_any_text_has_a_capability() -> None:
    generator = random.Random(5)
    ranges = [(0, 0x7F), (0x80, 0x2FF), (0x300, 0x36F), (0x4E00, 0x4E80), (0xD800, 0xD810)]
    odd = ["", " ", "\x00", "::", ":", '"', "a:", ":a", "[", "-:", "١٢٣", "ﬁ", "\u200d", "\ufeffx"]
    for _ in range(400):
        first, last = generator.choice(ranges)
        letters = [chr(generator.randint(first, last)) for _ in range(generator.randint(1, 12))]
        odd.append(generator.choice(["", "title:", "weather "]).join(letters))
    for text in odd:
        found = capability_of(text, LEXICON)
        assert found.name in CAPABILITIES
        assert found.reason


def test_a_corpus_without_a_word_gives_a_capability() -> None:
    nothing = Corpus(pl.DataFrame({"doc_id": ["a"], "title": [None], "text": [""]}))
    assert capability_of("weather forecasts", Lexicon.of(nothing)).name == "semantic"


def write(path: Path, *lines: str) -> Queries:
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_queries(path)


def test_what_the_query_set_says_wins(tmp_path: Path) -> None:
    queries = write(
        tmp_path / "queries.jsonl",
        '{"_id": "q1", "text": "skyglass", "capability": "Semantic "}',
        '{"_id": "q2", "text": "skyglass", "capability": ""}',
        '{"_id": "q3", "text": "network:base"}',
    )
    found = capabilities_of(queries, Lexicon.of(CORPUS))
    assert list(found) == ["q1", "q2", "q3"]
    assert found["q1"] == Capability("semantic", "the query set says so", is_given=True)
    assert found["q2"] == Capability("exact", "is the title of svc-1", is_given=False)
    assert found["q3"].name == "structured"


def test_an_unknown_capability_names_file_query_and_the_nearest_name(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    queries = write(path, '{"_id": "q7", "text": "gas", "capability": "fuzy"}')
    with pytest.raises(InputError) as raised:
        capabilities_of(queries, Lexicon.of(CORPUS))
    assert str(raised.value) == (
        f"{path}: the query 'q7' has the unknown capability 'fuzy'; did you mean 'fuzzy'?"
    )


def test_an_id_and_a_capability_are_shown_on_one_line_and_cut(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    queries = write(path, json.dumps({"_id": "q\x1b7", "text": "gas", "capability": "x" * 5000}))
    with pytest.raises(InputError) as raised:
        capabilities_of(queries, Lexicon.of(CORPUS))
    cut = "x" * 79 + "\u2026"
    told = f"{path}: the query 'q\\x1b7' has the unknown capability '{cut}'; known: "
    assert str(raised.value).startswith(told)


def test_names_may_be_other_fields() -> None:
    queries = Queries(pl.DataFrame({"query_id": ["q"], "text": ["skyglass"]}), {})
    assert capabilities_of(queries, Lexicon.of(CORPUS))["q"].name == "exact"
    assert capabilities_of(queries, Lexicon.of(CORPUS, ["network"]))["q"].name == "semantic"
