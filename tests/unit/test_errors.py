"""How texts of others stand in messages."""

import pytest

from searchmark.errors import cut_line, quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("d1", "'d1'"),
        ("a\nb\r\nc", "'a b c'"),  # one line
        ("a\x1b[2Jb", r"'a\x1b[2Jb'"),  # what would clear a screen is written out
        ("a\0b", r"'a\x00b'"),
        ("a\ud800", r"'a\ud800'"),  # half of a character, which no stream could write
        ("x" * 80, f"'{'x' * 80}'"),
        ("x" * 5000, f"'{'x' * 79}…'"),  # 79 and the sign are 80
        ("\x1b" * 5000, "'" + (r"\x1b" * 20)[:79] + "…'"),  # cut as it is shown: 4 signs for one
    ],
)
def test_an_id_in_a_message_is_short_and_harmless(text: str, shown: str) -> None:
    assert quoted(text) == shown


def test_a_line_is_cut_where_it_is_told_to_be() -> None:
    assert cut_line("one two three", 8) == "one two…"  # 7 and the sign; no blank before it
    assert cut_line("one two", 7) == "one two"
