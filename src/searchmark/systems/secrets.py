"""Values of the environment: put into a configuration as ``${NAME}``, and kept out of what is told.

A configuration keeps the name, so that files and digests never hold the value. Whatever a system
says is searched for the values before it is stored, logged or shown.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, unquote_plus

from searchmark.errors import InputError, one_line
from searchmark.systems.disguises import forms

REFERENCE = re.compile(r"\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""How a project file names a variable of the environment; with a second ``$`` it is plain text."""

TELLING = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|API_?KEY|ACCESS_?KEY"
    r"|(?:^|_)(?:KEY|TOKEN|PASS|PWD|AUTH|AUTHORIZATION|BEARER|JWT|CREDENTIALS?|DSN|COOKIE)(?:$|_)",
    re.IGNORECASE,
)
"""Names that say that the value is secret."""

URL_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]*?:([^/?#\s]+)@")
URL_PARAMETER = re.compile(r"[?&]([^=&#\s]+)=([^&#\s]*)")
DSN_PASSWORD = re.compile(r"\b(?:password|pwd)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s;]+)", re.IGNORECASE)

_CERTAIN = re.compile(r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|API_?KEY|ACCESS_?KEY|TOKEN)$", re.I)
"""Names whose value is secret even where it is a plain word."""

_WORD = re.compile(r"[a-z]{1,15}|[A-Z]{1,15}|[A-Z]?[a-z]{1,14}|[0-9.,]+")
_SWITCH = {"true", "false", "none", "null", "enabled", "disabled", "default"}
_FOLDERS = {"PWD", "OLDPWD"}
_LEAST_USED = 4
_LEAST_GUESSED = 6
"""Shorter values are no secrets, and hiding them would garble every message."""


def has_reference(text: str) -> bool:
    """Tell whether a text names a variable of the environment, other than as plain text."""
    return any(not match[0].startswith("$$") for match in REFERENCE.finditer(text))


class Secrets:
    """Variables of the environment that are used, and those whose names say they are secret."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._hidden: dict[str, str] = {}
        self._finder: _Finder | None = None
        for name, value in self._environment.items():
            if TELLING.search(name) and _is_secret(name, value):
                self._hide(name, value)
            for part in _passwords(value):
                self._hide(name, part)

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

    def redact(self, text: str) -> str:
        """Return text in which every secret value, in whatever writing, becomes ``${NAME}``."""
        finder = self._finding()
        return text if finder is None else finder.pattern.sub(finder.name_of, text)

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
        shown = one_line(shown.replace("\r", "\n").replace("\0", "")).strip()
        return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"

    def _longest(self) -> int:
        return 6 * max(map(len, self._hidden), default=0)  # a character becomes six at most

    def _window(self, limit: int) -> int:
        return 4 * limit + 2 * self._longest()

    def _use(self, name: str, value: str) -> None:
        if len(value) >= _LEAST_USED and value.lower() not in _SWITCH:
            self._hide(name, value)
        for part in _passwords(value):
            self._hide(name, part)

    def _hide(self, name: str, value: str) -> None:
        if value not in self._hidden:
            self._hidden[value] = name
            self._finder = None

    def _finding(self) -> "_Finder | None":
        """Return what finds all values, made again after a new one."""
        finder = self._finder
        if finder is None and self._hidden:
            hidden = dict(self._hidden)
            values = sorted(hidden, key=len, reverse=True)  # a value may be part of another
            parts = [f"(?P<_{i}>{'|'.join(forms(v))})" for i, v in enumerate(values)]
            names = ["${" + hidden[v] + "}" for v in values]
            finder = self._finder = _Finder(re.compile("|".join(parts)), names)
        return finder


class _Finder(NamedTuple):
    """One expression for all values; the name of the group that matched numbers the variable."""

    pattern: re.Pattern[str]
    names: list[str]

    def name_of(self, match: re.Match[str]) -> str:
        return self.names[int(str(match.lastgroup)[1:])]


def _is_secret(name: str, value: str) -> bool:
    """Tell whether a variable with a telling name holds a secret: no switch, path or number."""
    if len(value) < _LEAST_GUESSED or value.lower() in _SWITCH or name in _FOLDERS:
        return False
    if value.startswith("/"):
        try:
            return not Path(value).exists()
        except (OSError, ValueError):
            return True
    return bool(_CERTAIN.search(name)) or not _WORD.fullmatch(value)


def _passwords(value: str) -> Iterator[str]:
    """Yield the passwords inside a URL or a DSN, as written and as meant."""
    found = [m[1] for m in URL_PASSWORD.finditer(value)]
    if "://" in value:
        found += [v for n, v in URL_PARAMETER.findall(value) if TELLING.search(n.replace("-", "_"))]
    found += [m[1].strip("'") for m in DSN_PASSWORD.finditer(value)]
    for part in found:
        for form in dict.fromkeys((part, unquote(part), unquote_plus(part))):
            if len(form) >= _LEAST_USED and form.lower() not in _SWITCH:
                yield form
