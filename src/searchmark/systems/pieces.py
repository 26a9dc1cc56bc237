"""The parts of a value that are secret by themselves: a password in a URL, a token in a header."""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from urllib.parse import unquote, unquote_plus

TELLING = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|API_?KEY|ACCESS_?KEY"
    r"|(?:^|_)(?:KEY|TOKEN|PASS|PWD|AUTH|AUTHORIZATION|BEARER|JWT|CREDENTIALS?|DSN|COOKIE)(?:$|_)",
    re.IGNORECASE,
)
"""Names that say that the value is secret."""

URL_PASSWORD = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s:]*:([^/?#\s]+)@")
URL_PARAMETER = re.compile(r"[?&]([^=?&#\s]+)=([^&#\s]*)")
DSN_PASSWORD = re.compile(r"\b(?:password|pwd)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s;]+)", re.IGNORECASE)

SCHEME = re.compile(r"\s*(?:[\w-]+:\s*)?([A-Za-z][\w-]*)\s+([^\s,;]+)\s*")
"""The value of ``Authorization``, with or without that name: a scheme and what it is shown."""

KNOWN_SCHEME = re.compile(r"bearer|basic|token|api-?key|key|jwt|oauth|negotiate|ntlm", re.I)
"""Schemes behind which even a plain word is a secret."""

PAIR = re.compile(r"""(?<![\w.-])["']?([A-Za-z_][\w.-]*)["']?\s*[=:]\s*["']?([^\s"',;&{}\[\]]+)""")
"""A cookie of several, a header, a parameter, a member of a JSON object."""

_NOT_SECRET = re.compile(
    r"path|domain|expires|max-?age|samesite|type|url|uri|host|user(name)?", re.I
)
"""Names whose values are none, of cookies and of keys for a service."""

WORD = re.compile(r"[a-z]{1,15}|[A-Z]{1,15}|[A-Z]?[a-z]{1,14}|[0-9.,]+")
SWITCH = frozenset({"true", "false", "none", "null", "enabled", "disabled", "default"})
LEAST_USED = 4
LEAST_GUESSED = 6
"""Shorter values are no secrets, and hiding them would garble every message."""


def passwords(value: str) -> Iterator[str]:
    """Yield the passwords inside a URL or a DSN, as written and as meant."""
    found = [m[1] for m in URL_PASSWORD.finditer(value)]
    if "://" in value:
        found += [v for n, v in URL_PARAMETER.findall(value) if TELLING.search(n.replace("-", "_"))]
    found += [m[1].strip("'") for m in DSN_PASSWORD.finditer(value)]
    for part in found:
        for form in dict.fromkeys((part, unquote(part), unquote_plus(part))):
            if len(form) >= LEAST_USED and form.lower() not in SWITCH:
                yield form


def credentials(value: str) -> Iterator[str]:
    """Yield what a secret value holds beside names and signs: ``X`` of ``Bearer X`` or ``sid=X``.

    A plain word or a number is none, so that messages stay readable.
    """
    if "://" in value:
        return
    if (shown := SCHEME.fullmatch(value)) is not None:
        yield from _told(shown[2], is_certain=KNOWN_SCHEME.fullmatch(shown[1]) is not None)
        yield from _basic(shown[2]) if shown[1].lower() == "basic" else ()
    for name, part in PAIR.findall(value):
        if not _NOT_SECRET.fullmatch(name):
            yield from _told(part, is_certain=TELLING.search(name.replace("-", "_")) is not None)


def _told(part: str, *, is_certain: bool) -> Iterator[str]:
    """Yield a part that is a secret by its name or its looks, as written and as meant."""
    least = LEAST_USED if is_certain else LEAST_GUESSED
    if len(part) < least or part.lower() in SWITCH or (WORD.fullmatch(part) and not is_certain):
        return
    yield part
    if (meant := unquote(part)) != part and len(meant) >= LEAST_USED:
        yield meant


def _basic(packed: str) -> Iterator[str]:
    """Yield the password of ``user:password`` in base64."""
    try:
        user, colon, password = b64decode(packed, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return
    if colon and len(password) >= LEAST_USED and password != user:
        yield password
