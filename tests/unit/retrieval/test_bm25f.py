from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.errors import InputError
from searchmark.retrieval.analysis import Analyzer
from searchmark.retrieval.bm25f import BM25F, IDF_FLOOR
from searchmark.retrieval.ordering import Scored

PLAIN = Analyzer("none")
WORDS = ["rain", "snow", "sun", "wind", "fog"]
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
catalogs = st.lists(st.tuples(texts, texts), min_size=1, max_size=8)


def index_of(*documents: str, **options: object) -> BM25F:
    return BM25F.build({"text": documents}, weights={"text": 1}, **options)  # type: ignore[arg-type]


def two_fields(documents: list[tuple[str, str]], **options: object) -> BM25F:
    fields = {"name": [n for n, _ in documents], "body": [b for _, b in documents]}
    return BM25F.build(fields, weights={"name": 3, "body": 1}, analyzer=PLAIN, **options)  # type: ignore[arg-type]


def found(scored: Scored) -> dict[int, float]:
    return dict(zip(scored.rows.tolist(), scored.scores.tolist(), strict=True))


def test_one_field_by_hand() -> None:
    index = index_of("rain rain snow", "snow", "", analyzer=PLAIN)
    # avglen = (3 + 1 + 0) / 3 = 4/3
    # rain: df 1, idf ln(2.5/1.5 + 1) = ln(8/3); row 0: x = 2 / (0.25 + 0.75 * 9/4) = 2 / 1.9375
    assert found(index.scores("rain")) == pytest.approx(
        {0: log(8 / 3) * (2 / 1.9375) / (2 / 1.9375 + 1.2)}
    )
    # snow: df 2, idf ln(1.5/2.5 + 1) = ln 1.6; row 0: x = 1 / 1.9375;
    # row 1: x = 1 / (0.25 + 0.75 * 3/4) = 1 / 0.8125
    assert found(index.scores("snow")) == pytest.approx(
        {
            0: log(1.6) / 1.9375 / (1 / 1.9375 + 1.2),
            1: log(1.6) / 0.8125 / (1 / 0.8125 + 1.2),
        }
    )


def test_fields_are_weighted_before_they_saturate_once() -> None:
    index = BM25F.build(
        {"name": ["rain", "sun", ""], "body": ["rain rain", "rain", "fog fog fog"]},
        weights={"name": 3, "body": 0.5},
        analyzer=PLAIN,
    )
    # name: avglen 2/3, row 0 has length 1: 1 / (0.25 + 0.75 * 1.5) = 1 / 1.375
    # body: avglen 2, row 0: 2 / (0.25 + 0.75) = 2, row 1: 1 / (0.25 + 0.375) = 1.6
    # df counts documents once: 2 of 3 have rain in any field, idf ln(1.5/2.5 + 1)
    x = {0: 3 / 1.375 + 0.5 * 2, 1: 0.5 * 1.6}
    assert found(index.scores("rain")) == pytest.approx(
        {row: log(1.6) * value / (value + 1.2) for row, value in x.items()}
    )


def test_k1_and_b_at_their_ends() -> None:
    # b = 0: length does not matter; k1 = 0: having the term is all that matters
    index = index_of("rain", "rain snow snow", "fog", b=0, k1=0)
    assert found(index.scores("rain")) == pytest.approx({0: log(1.6), 1: log(1.6)})
    # b = 1: x is tf / (len / avglen); avglen 5/3
    index = index_of("rain", "rain snow snow", "fog", b=1, k1=1)
    assert found(index.scores("rain")) == pytest.approx(
        {0: log(1.6) * (5 / 3) / (5 / 3 + 1), 1: log(1.6) * (5 / 9) / (5 / 9 + 1)}
    )


def test_a_term_that_is_twice_in_the_query_counts_twice() -> None:
    index = index_of("rain", "fog")
    once, twice = index.scores("rain"), index.scores("rain rains")
    assert twice.scores.tolist() == [2 * once.scores[0]]


def test_the_idf_has_a_floor() -> None:
    # every one of a million documents: ln(0.5 / 1000000.5 + 1) = 5.0e-7, below the floor
    index = BM25F.build({"f": ["rain"] * 1_000_000}, weights={"f": 1}, k1=0)
    assert index.scores("rain").scores[7] == IDF_FLOOR


def test_and_asks_for_every_term_in_any_field() -> None:
    index = two_fields([("rain", "snow"), ("rain rain", "rain"), ("sun", "snow rain")])
    assert list(found(index.scores("rain snow"))) == [0, 2]
    assert list(found(index.scores("rain snow", candidates="or"))) == [0, 1, 2]
    assert list(found(index.scores("rain rain"))) == [0, 1, 2]


def test_or_is_the_fallback_where_nothing_has_every_term() -> None:
    index = two_fields([("rain", ""), ("snow", ""), ("sun", "")])
    assert list(found(index.scores("rain snow"))) == [0, 1]
    assert list(found(index.scores("rain hail"))) == [0]  # a term that no document has
    assert found(index.scores("rain snow", fallback=False)) == {}
    assert found(index.scores("hail")) == {}


def test_whether_anything_qualifies_is_asked_of_the_allowed_documents() -> None:
    index = two_fields([("rain snow", ""), ("rain", ""), ("snow", "")])
    allowed = np.array([False, True, True])
    assert list(found(index.scores("rain snow", allowed=allowed))) == [1, 2]
    assert found(index.scores("rain snow", allowed=allowed, fallback=False)) == {}
    assert found(index.scores("rain", allowed=np.zeros(3, np.bool_))) == {}


def test_filters_change_no_score() -> None:
    index = two_fields([("rain snow", ""), ("rain", ""), ("snow", "")])
    allowed = np.array([False, True, True])
    every = found(index.scores("rain snow", candidates="or"))
    some = found(index.scores("rain snow", candidates="or", allowed=allowed))
    assert some == {1: every[1], 2: every[2]}


def test_a_query_without_terms_selects_nothing() -> None:
    index = index_of("the rain", "of it")
    for text in ("", "  ", "the of", "?!"):
        assert found(index.scores(text)) == found(index.scores(text, candidates="or")) == {}


def test_substring_adds_candidates() -> None:
    names = ["WeatherCo", "Bank of X", "", "Co"]
    index = BM25F.build(
        {"body": ["rain", "weatherco rain", "sun", "rain"]},
        weights={"body": 1},
        substring={"name": names, "url": ["", "", "https://a.example/WEATHERCO/v1", ""]},
    )
    scored = found(index.scores(" weatherco "))
    assert list(scored) == [0, 1, 2]
    assert scored[0] == scored[2] == 0 < scored[1]
    # "of" is a stop word, so the query has no term; one name contains it
    assert found(index.scores("OF")) == {1: 0}
    # found by its name, so there is no fallback to documents with one of the words
    assert found(index.scores("k of x")) == {1: 0}
    assert list(found(index.scores("k rain"))) == [0, 1, 3]
    # nothing contains a pattern sign, a separator or a blank text
    for text in ("%", "_", "\0", "", " "):
        assert found(index.scores(text)) == {}
    assert found(index.scores("weatherco", allowed=np.array([0, 0, 1, 1], np.bool_))) == {2: 0}


@given(
    st.lists(st.text("aA b\0ß", max_size=4), min_size=1, max_size=5),
    st.text("aA b\0ß", max_size=3),
)
def test_substring_is_containment(names: list[str], text: str) -> None:
    index = BM25F.build(
        {"f": [""] * len(names)}, weights={"f": 1}, substring={"a": names, "b": names[::-1]}
    )

    def plain(value: str) -> str:
        return value.casefold().replace("\0", " ").strip()

    has = [bool(plain(text)) and plain(text) in plain(name) for name in names]
    rows = [i for i, pair in enumerate(zip(has, has[::-1], strict=True)) if any(pair)]
    assert index.scores(text).rows.tolist() == rows


def test_every_field_may_be_empty() -> None:
    index = two_fields([("", ""), ("", "")])
    assert found(index.scores("rain")) == {}
    index = two_fields([("", "rain"), ("", "")])
    assert list(found(index.scores("rain"))) == [0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fields": {}}, "the fields have"),
        ({"fields": {"a": ["x"], "b": []}, "weights": {"a": 1, "b": 1}}, r"have \[0, 1\] texts"),
        ({"substring": {"n": ["x", "y"]}}, r"have \[1, 2\] texts"),
        ({"weights": {"a": 1, "title": 2}}, "'title' is not both a field and a weight"),
        ({"weights": {}}, "'a' is not both"),
        ({"weights": {"a": 0}}, "the weight of 'a' is 0"),
        ({"weights": {"a": float("nan")}}, "the weight of 'a' is nan"),
        ({"weights": {"a": float("inf")}}, "the weight of 'a' is inf"),
        ({"k1": -1}, "k1 = -1"),
        ({"b": 1.5}, "b = 1.5"),
    ],
)
def test_arguments_that_make_no_index_are_told(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BM25F.build(**{"fields": {"a": ["x"]}, "weights": {"a": 1}, **arguments})  # type: ignore[arg-type]


def test_explain_adds_up_to_the_score() -> None:
    index = BM25F.build(
        {"name": ["rain", "fog"], "body": ["rains and snow", "snow"]},
        weights={"name": 3, "body": 1},
    )
    shares = index.explain("snow rain hail rain", 0)
    assert [(s.term, s.query_count, s.df, s.counts) for s in shares] == [
        ("snow", 1, 2, {"body": 1}),
        ("rain", 2, 1, {"body": 1, "name": 1}),
        ("hail", 1, 0, {}),
    ]
    # df of 2 documents: 2, 1, 0
    assert [s.idf for s in shares] == pytest.approx([log(1.2), log(2), log(6)])
    assert shares[2].score == 0
    total = found(index.scores("snow rain hail rain"))[0]
    assert sum(s.score for s in shares) == pytest.approx(total)


def slow_scores(documents: list[tuple[str, str]], query: str) -> dict[int, float]:
    """Compute OR scores of `two_fields` term by term and document by document."""
    n = len(documents)
    scores: dict[int, float] = {}
    for term, times in Counter(query.split()).items():
        df = sum(term in f"{a} {b}".split() for a, b in documents)
        idf = log((n - df + 0.5) / (df + 0.5) + 1)
        for row, parts in enumerate(documents):
            x = 0.0
            for column, (weight, part) in enumerate(zip((3, 1), parts, strict=True)):
                average = sum(len(d[column].split()) for d in documents) / n
                count = part.split().count(term)
                if count:
                    x += weight * count / (0.25 + 0.75 * len(part.split()) / average)
            if x:
                scores[row] = scores.get(row, 0) + times * idf * x / (x + 1.2)
    return scores


@given(catalogs, texts)
def test_scores_are_those_of_the_formula(documents: list[tuple[str, str]], query: str) -> None:
    scored = two_fields(documents).scores(query, candidates="or")
    assert found(scored) == pytest.approx(slow_scores(documents, query), rel=1e-12)


@given(catalogs, texts, st.randoms(use_true_random=False))
def test_orders_change_no_bit(documents: list[tuple[str, str]], query: str, random: object) -> None:
    words, order = query.split(), list(range(len(documents)))
    random.shuffle(words)  # type: ignore[attr-defined]
    random.shuffle(order)  # type: ignore[attr-defined]
    plain = found(two_fields(documents).scores(query, candidates="or"))
    other = two_fields([documents[i] for i in order])
    shuffled = found(other.scores(" ".join(words), candidates="or"))
    assert {order[row]: score for row, score in shuffled.items()} == plain
    swapped = BM25F.build(
        {"body": [b for _, b in documents], "name": [n for n, _ in documents]},
        weights={"body": 1, "name": 3},
        analyzer=PLAIN,
    )
    assert found(swapped.scores(query, candidates="or")) == plain


@given(catalogs, texts, st.sampled_from(WORDS))
def test_one_more_word_in_the_query_lowers_no_score(
    documents: list[tuple[str, str]], query: str, word: str
) -> None:
    index = two_fields(documents)
    before = found(index.scores(query, candidates="or"))
    after = found(index.scores(f"{query} {word}", candidates="or"))
    assert all(after[row] >= score for row, score in before.items())


@given(catalogs, texts)
def test_and_is_a_part_of_or_with_the_same_scores(
    documents: list[tuple[str, str]], query: str
) -> None:
    index = two_fields(documents)
    every = found(index.scores(query, candidates="or"))
    strict = found(index.scores(query, fallback=False))
    assert strict.items() <= every.items()
    wanted = set(query.split())
    has_all = [
        i for i, (a, b) in enumerate(documents) if wanted and wanted <= {*a.split(), *b.split()}
    ]
    assert list(strict) == has_all


@given(st.lists(texts, min_size=1, max_size=6), st.sampled_from(WORDS))
def test_one_more_occurrence_at_equal_length_lowers_no_score(
    documents: list[str], word: str
) -> None:
    # the first document trades a word that no one asks for and no one else has
    before = index_of(f"filler {word} other", *documents, analyzer=PLAIN)
    after = index_of(f"{word} {word} other", *documents, analyzer=PLAIN)
    assert found(after.scores(word))[0] > found(before.scores(word))[0]
