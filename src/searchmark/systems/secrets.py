"""Values of the environment: put into a configuration as ``${NAME}``, and kept out of what is told.

A configuration keeps the name, so that files and digests never hold the value. Whatever a system
says is searched for the values before it is stored, logged or shown.
"""

import base64
import json
import os
import re
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

from searchmark.errors import InputError

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""How a project file names a variable of the environment."""

_TELLING = re.compile(
    r"(?:^|_)(?:KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|AUTH|BEARER|CREDENTIALS?|DSN|COOKIE)"
    r"(?:$|_)",
    re.IGNORECASE,
)
_SHORTEST = 4
"""Shorter values are no secrets, and hiding them would garble every message."""


class Secrets:
    """Variables of the environment that are used, and those whose names say they are secret."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._hidden: dict[str, str] = {}
        for name, value in self._environment.items():
            if _TELLING.search(name) and not value.startswith("/"):  # PWD is a path
                self._hide(name, value)

    def expand(self, text: str, *, key: str) -> str:
        """Return text with every ``${NAME}`` replaced; one that is not set is an InputError.

        `key` is where the text stands in the project file, for the message.
        """

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name not in self._environment:
                raise InputError(
                    f"{key} needs the environment variable {name}, which is not set",
                    fix=f"set it: export {name}=...",
                )
            self._hide(name, self._environment[name])
            return self._environment[name]

        return REFERENCE.sub(value, text)

    def redact(self, text: str) -> str:
        """Return text in which every secret value is replaced by ``${NAME}``."""
        for value in sorted(self._hidden, key=len, reverse=True):
            if value in text:
                text = text.replace(value, "${" + self._hidden[value] + "}")
        return text

    def _hide(self, name: str, value: str) -> None:
        if len(value) < _SHORTEST:
            return
        raw = value.encode("utf-8", "surrogateescape")
        forms = (
            value,
            quote(raw, safe=""),
            quote_plus(raw),
            json.dumps(value)[1:-1],
            base64.b64encode(raw).decode(),
        )
        for form in forms:
            self._hidden.setdefault(form, name)
