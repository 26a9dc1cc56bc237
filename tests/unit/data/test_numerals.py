"""Numbers as files write them."""

import pytest

from searchmark.data.numerals import finite_number, whole_number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        (" 12\n", 12),
        ("+7", 7),
        ("-3", -3),
        ("9" * 18, 10**18 - 1),
        *((text, None) for text in ("", "9" * 19, "9" * 5000, "1_0", "1.0", "1e3", "0x1", "+-1")),
        *((text, None) for text in ("\u0661", "\u00b2", "\uff11")),  # digits, but of no file format
    ],
)
def test_whole_numbers(text: str, expected: int | None) -> None:
    assert whole_number(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0.0),
        (" 1.5 ", 1.5),
        ("-.5", -0.5),
        ("2.", 2.0),
        ("+1E-2", 0.01),
        ("9" * 20, 1e20),
        *((text, None) for text in ("", ".", "1e999", "9" * 5000, "inf", "nan", "1_0", "1_0.5")),
        *((text, None) for text in ("\u0661", "\u0661.5", "\u00b2", "0x1p3", "1e", "1,5")),
    ],
)
def test_finite_numbers(text: str, expected: float | None) -> None:
    assert finite_number(text) == expected
