"""The proxy that a system is reached through, and what is shown to it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from searchmark.errors import InputError
from searchmark.systems.http.address import proxy_problem
from searchmark.systems.http.credentials import packed
from searchmark.systems.secrets import Secrets

USER = re.compile(r"(http://)([^/@]*)@([^@]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Proxy:
    """Its address, without a user, and the headers that it alone gets."""

    address: str
    headers: Mapping[str, str] = field(default_factory=dict)


def open_proxy(text: str | None, secrets: Secrets) -> Proxy | None:
    """Return the proxy with the variables put in; what is wrong with it is an InputError.

    Variables of a user and a password stand for them as they are, whatever signs they hold; in a
    variable that holds the whole address they are percent-encoded.
    """
    if text is None:
        return None
    if (written := USER.fullmatch(text)) is not None:
        scheme, user, rest = written.groups()
        address = scheme + secrets.expand(rest, key="proxy")
        user = secrets.expand(unquote(user), key="proxy")
    else:
        address, user = _divided(secrets.expand(text, key="proxy"))
    told = proxy_problem(address)
    if told is not None:
        raise InputError(f"proxy: {told}")
    return Proxy(address, _headers(user))


def _divided(address: str) -> tuple[str, str]:
    """Return an address without its user, and that."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address, ""
    user, _, host = parts.netloc.rpartition("@")
    return (parts._replace(netloc=host).geturl() if user else address), unquote(user)


def _headers(user: str) -> dict[str, str]:
    return {"Proxy-Authorization": f"Basic {packed(user)}"} if user else {}
