"""Who is answered: those who send the token, and on this machine those who mean this machine.

A page of a browser may have its own name lead to 127.0.0.1 and read what answers there, unless that
looks at which name was asked for.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from hmac import compare_digest

from searchmark.errors import InputError, visible
from searchmark.systems.secrets import REFERENCE, Secrets
from searchmark.web.refusal import Refused

OPEN = "/health"
"""Answered in short without the token, for whoever looks after the process."""

LEAST = 16
"""So many characters a token has at least."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]@/]+)(?::\d*)?")
_CHALLENGE = 'Bearer realm="searchmark"'

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Admission:
    """`token` is what requests must send; `names` are hosts they may mean beside this machine's.

    Without a token everybody may ask; where `names` is None any host may be meant.
    """

    token: str | None = field(default=None, repr=False)
    names: frozenset[str] | None = None

    @property
    def statuses(self) -> tuple[int, ...]:
        """What is answered to those who may not ask."""
        needs = () if self.token is None else (401,)
        return (*needs, *(() if self.names is None else (421,)))

    def check_host(self, headers: Headers) -> None:
        """Refuse a request that means another host than this one, or does not say which."""
        if self.names is None:
            return
        given = [value.decode("latin-1") for name, value in headers if name == b"host"]
        others = [host for host in given if not self._is_meant(host)]
        if given and not others:
            return
        what = f"is for the host '{visible(others[0][:60])}'" if others else "names no host"
        raise Refused(421, f"the request {what}, and this service answers for {self._meant} alone")

    def is_known(self, headers: Headers) -> bool:
        """Tell whether a request may ask; a wrong token is refused."""
        if self.token is None:
            return True
        given = [value for name, value in headers if name == b"authorization"]
        if not given:
            return False
        scheme, _, sent = given[0].strip().partition(b" ")
        is_right = compare_digest(sent.strip(), self.token.encode())
        if len(given) == 1 and scheme.lower() == b"bearer" and is_right:
            return True
        raise Refused(
            401,
            "what the request sends as Authorization is not 'Bearer' and this service's token",
            headers={"WWW-Authenticate": f'{_CHALLENGE}, error="invalid_token"'},
        )

    @property
    def _meant(self) -> str:
        more = sorted(name for name in self.names or () if not _is_here(name))
        *first, last = ("127.0.0.1", "localhost", "[::1]", *more)
        return f"{', '.join(first)} and {last}"

    def _is_meant(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found["name"].lower()
        return name in (self.names or ()) or _is_here(name)


def unknown() -> Refused:
    """Return the answer to a request without a token."""
    return Refused(
        401,
        "this service answers those alone who send its token, as 'Authorization: Bearer TOKEN'",
        headers={"WWW-Authenticate": _CHALLENGE},
    )


def read_token(text: str, secrets: Secrets) -> str:
    """Return the token that a variable holds; one that is written out is refused, untold."""
    reference = REFERENCE.fullmatch(text)
    if reference is None or text.startswith("$$"):
        raise InputError(
            "--token takes the name of a variable alone, because all users of a machine see what "
            "is on a command line",
            fix="write --token '${NAME}', in single quotes, and set NAME in the environment",
        )
    token = secrets.expand(text, key="--token")
    if len(token) < LEAST or _TOKEN.fullmatch(token) is None:
        raise InputError(
            f"the variable {reference[1]} holds no token: {LEAST} or more letters, digits and "
            "- . _ ~ + /",
            fix="make one by: python -c 'import secrets; print(secrets.token_urlsafe())'",
        )
    return token


def _is_here(name: str) -> bool:
    """Tell whether a name is this machine's on any machine."""
    try:
        return name == "localhost" or ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
