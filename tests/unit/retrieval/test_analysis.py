from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.errors import InputError
from searchmark.retrieval.analysis import Analyzer, analyze, tokenize
from searchmark.retrieval.stopwords import ENGLISH


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" -- ... !", []),
        ("Low-Cost API", ["low", "cost", "api"]),
        (
            "https://a.example/v2?q=1&r=a%20b",
            ["https", "a", "example", "v2", "q", "1", "r", "a", "20b"],
        ),
        ("user_name don't 1.5 C++", ["user", "name", "don", "t", "1", "5", "c"]),
        ("WeatherCo", ["weatherco"]),
        ("Crème BRÛLÉE", ["crème", "brûlée"]),
        ("cre\u0300me", ["crème"]),  # the accent as a character of its own
        ("\ufb01nd \uff21\uff22\uff11", ["find", "ab1"]),  # a ligature; full-width letters
        ("Straße", ["strasse"]),
        ("co\u00adoperate", ["cooperate"]),  # soft hyphen
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),  # marks belong to their letter
        ("naïve_idea", ["naïve", "idea"]),
        ("東京タワー 2号", ["東京タワー", "2号"]),
        ("😀 ok", ["ok"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


@given(st.text())
def test_tokens_are_fixed_points(text: str) -> None:
    for token in tokenize(text):
        assert tokenize(token) == [token]


@given(st.text(), st.text())
def test_a_blank_between_two_texts_keeps_their_tokens(a: str, b: str) -> None:
    assert tokenize(f"{a} {b}") == tokenize(a) + tokenize(b)


@given(st.text(st.characters(max_codepoint=127)))
def test_the_ascii_path_gives_what_the_unicode_path_gives(text: str) -> None:
    assert tokenize(text + " é") == [*tokenize(text), "é"]


def test_english_drops_stop_words_before_stemming() -> None:
    # "doing" is a stop word and its stem "do" is one; "does" would stem to "doe", no stop word.
    assert analyze("What does the running of services cost, doing it?") == ["run", "servic", "cost"]
    assert analyze("the a is") == []


def test_stop_words_are_the_127_of_the_snowball_list() -> None:
    assert len(ENGLISH) == 127
    assert {"i", "don", "yourselves", "s", "t"} <= ENGLISH
    assert not {"us", "could", "would", "may", "one"} & ENGLISH


def test_repeated_terms_stay_repeated_and_in_order() -> None:
    assert analyze("snow rain snows") == ["snow", "rain", "snow"]


def test_each_half_of_english_can_be_switched_off() -> None:
    text = "the running services"
    assert Analyzer("none").terms(text) == ["the", "running", "services"]
    assert Analyzer(stemming=False).terms(text) == ["running", "services"]
    assert Analyzer(stop_words=False).terms(text) == ["the", "run", "servic"]


def test_an_unknown_language_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="unknown language 'englsh'; did you mean 'english'"):
        Analyzer("englsh")  # type: ignore[arg-type]


def test_an_analyzer_is_a_value() -> None:
    assert Analyzer() == Analyzer("english") != Analyzer("none")
    assert len({Analyzer(), Analyzer("english")}) == 1


def test_threads_may_analyze_at_once() -> None:
    texts = [f"generalizations nationally {i} relational hopefulness" for i in range(400)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyze, texts)) == [analyze(text) for text in texts]
