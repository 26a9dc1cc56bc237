"""What a system shows of itself in a header: a bearer token, or a user and a password."""

import re
from base64 import b64encode
from collections.abc import Iterator

from searchmark.errors import InputError, Problem
from searchmark.systems.secrets import Secrets

SCHEME = re.compile(r"(?:bearer|basic|apikey)\s", re.IGNORECASE)


def credential_problems(
    *, bearer: str | None = None, basic: str | None = None, api_key: str | None = None
) -> Iterator[Problem]:
    """Report credentials that are empty, or that say twice what they are."""
    for key, text in (("bearer", bearer), ("basic", basic), ("api_key", api_key)):
        if text is None:
            continue
        if not text.strip():
            yield Problem(key, "is empty; write ${NAME}, a variable that holds it")
        elif key != "api_key" and (word := SCHEME.match(text)) is not None:
            yield Problem(key, f"'{word[0].strip()}' is put in front of it anyway; leave it out")
    if basic is not None and basic.strip() and not re.match(r"\$\{|[^:]*:", basic):
        yield Problem("basic", 'must be a user and a password: "${USER}:${PASSWORD}"')


def credential(text: str, key: str, secrets: Secrets) -> str:
    """Return a credential with the variables put in; one that is empty then is an InputError."""
    found = secrets.expand(text, key=key)
    if not found.strip():
        raise InputError(
            f"{key}: the variable that it names is empty", fix="set it, or leave the key out"
        )
    return found


def bearer_header(text: str, key: str, secrets: Secrets) -> str:
    """Return the value of ``Authorization`` for a token."""
    return f"Bearer {credential(text, key, secrets)}"


def basic_header(text: str, secrets: Secrets) -> str:
    """Return the value of ``Authorization`` for a user and a password."""
    pair = credential(text, "basic", secrets)
    if ":" not in pair:
        raise InputError('basic: must be a user and a password: "${USER}:${PASSWORD}"')
    return f"Basic {packed(pair)}"


def packed(text: str) -> str:
    """Return text in base64."""
    return b64encode(text.encode("utf-8", "surrogateescape")).decode()
