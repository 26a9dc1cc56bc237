import io
import re
import sys

import pytest

from searchmark.cli.progress import progress_bar, progress_lines, rate_text, time_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_quick_says_nothing_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with progress_bar() as progress:
        for done in range(5):
            progress("asking words", done, 4)
    assert pipe.getvalue() == ""


def test_a_bar_shows_what_how_far_and_how_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress_bar() as progress:
        for done in (1, 2, 3):
            progress("asking words", done, 4)
    assert "asking words" in terminal.getvalue()
    assert "75%" in terminal.getvalue()
    assert re.search(r"\d/s", terminal.getvalue())


def test_a_pipe_is_told_every_half_minute_of_what_was_asked_since_the_start() -> None:
    at = [0.0]
    lines: list[str] = []
    told = progress_lines(lines.append, now=lambda: at[0])
    told("asking api", 100, 748)  # a hundred are kept from an earlier attempt
    at[0] = 29.0
    told("asking api", 130, 748)
    at[0] = 30.0
    told("asking api", 160, 748)  # 60 in 30 s are 2/s; 588 left take 294 s
    at[0] = 59.0
    told("asking api", 300, 748)
    at[0] = 60.0
    told("asking api", 340, 748)  # 240 in 60 s are 4/s; 408 left take 102 s
    at[0] = 100.0
    told("asking api", 748, 748)
    assert lines == [
        "asking api: 160 of 748, 2.0/s, about 4 min 54 s left",
        "asking api: 340 of 748, 4.0/s, about 1 min 42 s left",
    ]


def test_nothing_done_has_no_estimate() -> None:
    at = [0.0]
    lines: list[str] = []
    told = progress_lines(lines.append, now=lambda: at[0])
    told("asking api", 0, 10)
    at[0] = 31.0
    told("asking api", 0, 10)
    assert lines == ["asking api: 0 of 10, 0.00/s"]


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.4, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (3900, "1 h 5 min")]
)
def test_a_duration_in_two_units(seconds: float, told: str) -> None:
    assert time_text(seconds) == told


@pytest.mark.parametrize(("rate", "told"), [(0.04, "0.04/s"), (3.21, "3.2/s"), (1250.0, "1,250/s")])
def test_a_rate_with_what_tells_something(rate: float, told: str) -> None:
    assert rate_text(rate) == told
