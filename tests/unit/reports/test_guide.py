"""What a document looks like while it is judged."""

import re

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.diagnosis.documents import Documents
from searchmark.reports.guide import (
    Page,
    document_lines,
    head_lines,
    question_lines,
    rubric_lines,
)
from searchmark.reports.table import Look

PLAIN = Look(width=60)


def documents(**fields: object) -> Documents:
    return Documents(
        Corpus(pl.DataFrame({"doc_id": ["d1"], **{n: [v] for n, v in fields.items()}}))
    )


def test_words_of_the_query_are_marked_in_any_inflection() -> None:
    shown = document_lines(
        documents(title="Flight delays", text="Delayed flights and the weather."),
        "d1",
        "the delay of a flight",
        PLAIN,
    )
    assert shown == [
        "Document: *Flight* *delays* (d1)",
        "text: *Delayed* *flights* and the weather.",  # "the" is too common to be marked
    ]


def test_colour_only_adds_to_the_stars() -> None:
    seen = documents(title="Flight delays", text="a delay " * 40)
    plain = document_lines(seen, "d1", "delays", PLAIN)
    coloured = document_lines(seen, "d1", "delays", PLAIN._replace(color=True))
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in coloured] == plain
    assert coloured != plain


def test_short_fields_come_first_and_empty_ones_not_at_all() -> None:
    shown = document_lines(
        documents(title="T", text="x" * 300, brand=None, note="  ", price=9.5), "d1", "q", PLAIN
    )
    assert shown[:2] == ["Document: T (d1)", "price: 9.5"]
    assert shown[2].startswith("text: ") or shown[2] == "text:"
    assert not any(line.startswith(("brand", "note", "title")) for line in shown)


@pytest.mark.parametrize("bad", ["\x1b[2J", "\x9b2J", "\u202e", "\x07", "\x02", "\x03"])
def test_nothing_in_a_document_or_a_query_moves_the_cursor(bad: str) -> None:
    seen = documents(title=f"T{bad}x", text=f"one{bad}two\r\nthree")
    lines = document_lines(seen, "d1", "one", PLAIN)
    lines += head_lines(Page(f"a{bad}b", 1, 2, 3, 4), PLAIN)
    assert all(line.isprintable() for line in lines), lines
    assert "*one*" in " ".join(lines)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_line_fits_the_window(width: int) -> None:
    look = Look(width=width)
    seen = documents(
        title="A title " * 9, text="unbroken" * 30, url="https://example.org/" + "a" * 90
    )
    lines = document_lines(seen, "d1", "title of something quite long to ask", look)
    lines += head_lines(Page("a query " * 9, 1, 2, 3, 4), look)
    assert max(map(len, lines)) < width


def test_a_text_beyond_reading_is_cut_and_says_so() -> None:
    shown = document_lines(documents(title="T", text="word " * 5_000), "d1", "q", PLAIN)
    assert " ".join(" ".join(shown).split()).endswith(
        "(and 5,000 characters more)"
    )  # 25,000 - 20,000


def test_rubric_and_questions_are_whole_in_a_narrow_window() -> None:
    narrow = Look(width=40)
    for lines in (rubric_lines(narrow), question_lines(narrow)):
        assert max(map(len, lines)) <= 40
        text = " ".join(" ".join(lines).split())
        assert all(word in text for word in ("Intent", "Content", "Click"))
