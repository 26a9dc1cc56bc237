"""What can go wrong, drawn first.

::

    SearchmarkError                     root; everything the program says on purpose
    ├── InputError          exit 2      the user's input: a file, a key, a name, a value
    │   └── ProjectError    exit 2      every problem of one project file at once
    ├── NotComparableError  exit 4      the baseline was made from other inputs
    └── OutsideError        exit 3      the outside world: a system under test, a service
        └── SystemFailedError exit 3      a system raised, timed out or broke its contract
            ├── SystemTimeoutError        it did not answer in time
            └── SystemDownError           it failed so often that it is not asked any more

Anything else that surfaces is our own fault (exit 5).
"""

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BAD_VERDICT = 1
"""Exit code of a command whose verdict is bad (a regression, a floor that was not held)."""

OWN_FAULT = 5
"""Exit code of a fault of our own."""


class SearchmarkError(Exception):
    """Root of everything Searchmark says on purpose; the message is one sentence for a person."""

    exit_code = OWN_FAULT


class InputError(SearchmarkError):
    """The user's input is wrong: what it is, where (file and line), and what to do about it."""

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        path: "Path | str | None" = None,
        line: int | None = None,
        fix: str | None = None,
    ) -> None:
        self.what, self.path, self.line, self.fix = what, path, line, fix
        place = "" if path is None else shown_path(path)
        where = "" if path is None else f"{place}:{line}: " if line is not None else f"{place}: "
        super().__init__(f"{where}{what}" + (f"; {fix}" if fix else ""))


class Problem(NamedTuple):
    """One thing wrong in a project file: the key path it stands at and what is wrong there."""

    key: str
    message: str


class ProjectError(InputError):
    """A project file with one or more problems, all of them told at once."""

    def __init__(self, path: "Path | str", problems: "Iterable[Problem]") -> None:
        self.problems = tuple(problems)
        n = len(self.problems)
        lines = "".join(f"\n  {one_line(p.key)}: {one_line(p.message)}" for p in self.problems)
        what = f"{n} problem{'s' if n != 1 else ''} in the project file:{lines}"
        super().__init__(what, path=one_line(str(path)))
        self.path = path


class NotComparableError(SearchmarkError):
    """The baseline and the candidate were made from different inputs, so no verdict is given.

    `reasons` are the differences, a sentence each.
    """

    exit_code = 4

    def __init__(self, message: str, *, reasons: "Iterable[str]" = ()) -> None:
        self.reasons = tuple(reasons)
        super().__init__(message)


class OutsideError(SearchmarkError):
    """Something outside failed: a system under test, a service, the network."""

    exit_code = 3


class SystemFailedError(OutsideError):
    """A system under test raised, timed out or broke its contract.

    `retry` says that the same call may go well a little later; `after_s` is for how many seconds
    the system asked to be left alone, `busy` that it asked for fewer calls (429). Whoever calls a
    system notes the attempts that were made, and how long the last one took.
    """

    attempts: int = 1
    latency_ms: "float | None" = None

    def __init__(
        self,
        message: str,
        *,
        retry: bool = False,
        after_s: "float | None" = None,
        busy: bool = False,
    ) -> None:
        self.retry, self.after_s, self.busy = retry, after_s, busy
        super().__init__(message)


class SystemTimeoutError(SystemFailedError, TimeoutError):
    """A system under test did not answer within its time limit."""


class SystemDownError(SystemFailedError):
    """A system under test failed or refused so often in a row that it is not asked any more.

    `why` says which of the two, as in "after 10 failed queries in a row".
    """

    why: str = ""


def shown_path(path: "Path | str") -> str:
    """Return a path as it is written where one stands: inside the working folder, without it."""
    text = str(path)
    try:
        here = os.getcwd() + os.sep  # noqa: PTH109 - a module that every start pays for
    except OSError:  # the folder was removed
        return text
    return text.removeprefix(here) or text


def one_line(text: str) -> str:
    """Return text on one line: values that errors tell of may hold line ends."""
    if "\n" not in text:
        return text
    return " ".join(part.strip() for part in text.split("\n") if part.strip())


def visible(text: str) -> str:
    """Return text of others as it can be shown: what a terminal would obey is written out."""
    if text.isprintable():
        return text
    shown = (c if c.isprintable() or c in _JOINERS else _written_out(c) for c in text)
    return "".join(shown)


_JOINERS = "\u200c\u200d"
"""Signs without width that some scripts need between letters."""


def _written_out(character: str) -> str:
    return " " if character.isspace() else character.encode("unicode_escape").decode("ascii")


LONGEST_ID = 80
"""Characters of an id that a message shows."""


def cut_line(text: str, limit: int = LONGEST_ID) -> str:
    """Return text of others as a message holds it: visible, on one line, cut where it is long."""
    shown = visible(one_line(text.replace("\r", "\n"))).strip()
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "\u2026"


def quoted(text: str) -> str:
    """Return an id, or another text of the user's files, in quotes as a message shows it."""
    return f"'{cut_line(text)}'"


def described(error: BaseException) -> str:
    """Return type and message of whatever was raised, on one line; a message may fail itself."""
    name = type(error).__name__
    try:
        text = one_line(str(error))
    except BaseException as broken:
        text = f"its message cannot be shown, {type(broken).__name__}"
    return f"{name}: {text}" if text else name


def failure_text(error: BaseException) -> str:
    """Return what is told of a failed call: what was raised on purpose says it all by itself."""
    return (str(error) if isinstance(error, SystemFailedError) else "") or described(error)


def nearest(name: str, known: "Iterable[str]") -> str:
    """Say what the unknown `name` may have meant: near matches, or the whole short list."""
    from difflib import get_close_matches

    names = sorted(known)
    lowered = {n.lower(): n for n in names}
    close = [lowered[m] for m in get_close_matches(name.lower(), lowered, n=3, cutoff=0.5)]
    if close:
        return "did you mean " + " or ".join(f"'{c}'" for c in close) + "?"
    if not names:
        return "there are none"
    return "known: " + ", ".join(names)
