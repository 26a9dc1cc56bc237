"""Values of the environment: put into a configuration as ``${NAME}``, and kept out of what is told.

A configuration keeps the name, so that files and digests never hold the value. Whatever a system
says is searched for the values before it is stored, logged or shown.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.errors import InputError, cut_line
from searchmark.systems.disguises import ESCAPED, forms
from searchmark.systems.pieces import (
    LEAST_GUESSED,
    LEAST_USED,
    SWITCH,
    TELLING,
    WORD,
    credentials,
    passwords,
)

REFERENCE = re.compile(r"\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""How a project file names a variable of the environment; with a second ``$`` it is plain text."""

_CERTAIN = re.compile(r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|API_?KEY|ACCESS_?KEY|TOKEN)$", re.I)
"""Names whose value is secret even where it is a plain word."""

_FOLDERS = {"PWD", "OLDPWD"}


def has_reference(text: str) -> bool:
    """Tell whether a text names a variable of the environment, other than as plain text."""
    return any(not match[0].startswith("$$") for match in REFERENCE.finditer(text))


class Secrets:
    """Variables of the environment that are used, and those whose names say they are secret."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._hidden: dict[str, str] = {}
        self._noted: dict[str, str] = {}
        self._finder: _Finder | None = None
        self._thorough: _Finder | None = None
        for name, value in self._environment.items():
            if TELLING.search(name) and _is_secret(name, value):
                self._hide(name, value, *credentials(value))
            self._hide(name, *passwords(value))

    def expand(self, text: str, *, key: str) -> str:
        """Return text with every ``${NAME}`` replaced; one that is not set is an InputError.

        `key` is where the text stands in the project file, for the message. ``$${NAME}`` is no
        reference: it becomes ``${NAME}``.
        """

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if match[0].startswith("$$"):
                return match[0][1:]
            if name not in self._environment:
                raise InputError(
                    f"{key} needs the environment variable {name}, which is not set",
                    fix=f"set it: export {name}=...",
                )
            self._use(name, self._environment[name])
            return self._environment[name]

        return REFERENCE.sub(value, text)

    def expand_in(self, value: Any, *, key: str) -> Any:
        """Return a value of tables, lists and texts with the references in all its texts replaced.

        Names of keys stay as they are; whatever is no text is passed on.
        """
        if isinstance(value, str):
            return self.expand(value, key=key)
        if isinstance(value, Mapping):
            return {name: self.expand_in(v, key=f"{key}.{name}") for name, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.expand_in(v, key=f"{key}[{i}]") for i, v in enumerate(value)]
        return value

    @contextmanager
    def noting(self) -> Iterator[dict[str, str]]:
        """Give the variables that are put in meanwhile, with their values; it may be nested."""
        before, self._noted = self._noted, {}
        try:
            yield self._noted
        finally:
            self._noted = before

    def note(self, values: Mapping[str, str]) -> None:
        """Note variables as put in that were read in another way."""
        self._noted.update(values)

    def note_set(self, names: Iterable[str]) -> None:
        """Note those of some variables that are set: a library reads them by itself."""
        self.note({n: self._environment[n] for n in names if n in self._environment})

    def redact(self, text: str) -> str:
        """Return text in which every secret value, in whatever writing, becomes ``${NAME}``."""
        if not self._hidden:
            return text
        if (finder := self._finder) is None:  # a new value may come meanwhile, in another thread
            finder = self._finder = _finder(dict(self._hidden))
        shown = finder.pattern.sub(finder.name_of, text)
        if ESCAPED.search(shown) is None:
            return shown
        if (thorough := self._thorough) is None:
            thorough = self._thorough = _finder(dict(self._hidden), is_thorough=True)
        return thorough.pattern.sub(thorough.name_of, shown)

    def excerpt(self, text: str | bytes, limit: int = 200) -> str:
        """Return the beginning of what a system said: one line, redacted, then cut at `limit`.

        A secret at the cut is hidden whole, which it is not where a text is cut first.
        """
        if isinstance(text, bytes):
            text = text[: 4 * self._window(limit)].decode("utf-8", "replace")
        head = text[: self._window(limit)]
        shown = self.redact(head)
        if len(head) < len(text):  # a secret may be cut off at the end of the window
            shown = shown[: max(limit + 1, len(shown) - self._longest())]
        return cut_line(shown.replace("\0", ""), limit)

    def _longest(self) -> int:
        return 8 * max(map(len, self._hidden), default=0)  # a character becomes eight: \\\\u0062

    def _window(self, limit: int) -> int:
        return 4 * limit + 2 * self._longest()

    def _use(self, name: str, value: str) -> None:
        self._noted[name] = value
        if len(value) >= LEAST_USED and value.lower() not in SWITCH:
            self._hide(name, value, *credentials(value))
        self._hide(name, *passwords(value))

    def _hide(self, name: str, *values: str) -> None:
        for value in values:
            if value not in self._hidden:
                self._hidden[value] = name
                self._finder = self._thorough = None


class _Finder(NamedTuple):
    """One expression for all values; the name of the group that matched numbers the variable."""

    pattern: re.Pattern[str]
    names: list[str]

    def name_of(self, match: re.Match[str]) -> str:
        return self.names[int(str(match.lastgroup)[1:])]


def _finder(hidden: Mapping[str, str], *, is_thorough: bool = False) -> _Finder:
    """Return what finds the values of some variables; a thorough one, in escaped letters too."""
    values = sorted(hidden, key=len, reverse=True)  # a value may be part of another
    parts = [
        f"(?P<_{i}>{'|'.join(forms(v, is_thorough=is_thorough))})" for i, v in enumerate(values)
    ]
    return _Finder(re.compile("|".join(parts)), ["${" + hidden[v] + "}" for v in values])


def _is_secret(name: str, value: str) -> bool:
    """Tell whether a variable with a telling name holds a secret: no switch, path or number."""
    if len(value) < LEAST_GUESSED or value.lower() in SWITCH or name in _FOLDERS:
        return False
    if value.startswith("/"):
        try:
            return not Path(value).exists()
        except (OSError, ValueError):
            return True
    return bool(_CERTAIN.search(name)) or not WORD.fullmatch(value)
