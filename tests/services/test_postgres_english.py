"""The English analysis against a real PostgreSQL's ``to_tsvector('english', ...)``."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from searchmark.retrieval.analysis import analyze
from searchmark.retrieval.stopwords import ENGLISH

# Newer Snowball versions than PostgreSQL's no longer reduce these to one stem with unrelated words
# (university to univers, organization to organ, ...): see docs/decisions/0002-retrieval.md.
KNOWN_TO_DIFFER = re.compile(r"inter|later|organ|past|univers")

LEXEMES = """
    select word, array(select lexeme from unnest(to_tsvector('english', word)))
    from unnest(%s::text[]) word
"""


@pytest.fixture(scope="module")
def postgres(postgres_server: Any) -> Iterator[psycopg.Connection]:
    with postgres_server.connect() as connection:
        yield connection


def stems(postgres: psycopg.Connection, words: list[str]) -> dict[str, list[str]]:
    return dict(postgres.execute(LEXEMES, (words,)).fetchall())


@pytest.fixture(scope="module")
def words(shared: Path) -> list[str]:
    found: set[str] = set()
    for name in ("cranfield", "x402-catalog", "web-guides"):
        for line in (shared / "data" / name / "corpus.jsonl").read_bytes().splitlines():
            document = json.loads(line)
            texts = (value for value in document.values() if isinstance(value, str))
            found |= set(re.findall("[a-z]+", " ".join(texts).lower()))
    return sorted(found)


def test_plain_words_become_the_same_terms(postgres: psycopg.Connection, words: list[str]) -> None:
    assert len(words) > 10_000
    expected = stems(postgres, words)
    differing = [word for word in words if analyze(word) != expected[word]]
    assert [word for word in differing if not KNOWN_TO_DIFFER.match(word)] == []
    assert len(differing) < len(words) / 500


def test_stop_words_are_dropped_and_nothing_else(
    postgres: psycopg.Connection, words: list[str]
) -> None:
    expected = stems(postgres, sorted({*words, *ENGLISH}))
    assert {word for word, lexemes in expected.items() if not lexemes} == ENGLISH


@pytest.mark.parametrize(
    "text",
    [
        "Don't stop the running services",
        "user_name and naïve cafés",
        "Forecasts, prices; (translations)!",
        "http2 v2 3d",
    ],
)
def test_texts_of_plain_words_become_the_same_terms(
    postgres: psycopg.Connection, text: str
) -> None:
    assert sorted(set(analyze(text))) == stems(postgres, [text])[text]


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ("low-cost", ["cost", "low"], ["cost", "low", "low-cost"]),
        ("1.5", ["1", "5"], ["1.5"]),
        ("me@mail.example", ["exampl", "mail"], ["me@mail.example"]),
        (
            "https://a.example/weather",
            ["exampl", "https", "weather"],
            ["/weather", "a.example", "a.example/weather"],
        ),
    ],
)
def test_what_is_no_plain_word_is_cut_into_parts(
    postgres: psycopg.Connection, text: str, ours: list[str], theirs: list[str]
) -> None:
    assert sorted(set(analyze(text))) == ours
    assert stems(postgres, [text])[text] == theirs
