"""The keys of whatever is asked over HTTP: who asks, what is trusted, by what way, how much."""

from collections.abc import Iterator

import msgspec

from searchmark.errors import Problem
from searchmark.systems.http.address import proxy_problem, written_problem
from searchmark.systems.http.credentials import credential_problems
from searchmark.systems.http.tls import Tls

MOST_BYTES = 1_000_000_000


class Access(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of every system that is asked over HTTP; docs/systems/http.md tells of each."""

    headers: dict[str, str] = {}
    bearer: str | None = None
    basic: str | None = None
    api_key: str | None = None
    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    server_name: str | None = None
    verify: bool = True
    proxy: str | None = None
    max_bytes: int = 10_000_000

    @property
    def credentials(self) -> dict[str, str | None]:
        """What the system shows of itself, by key."""
        return {"bearer": self.bearer, "basic": self.basic, "api_key": self.api_key}

    @property
    def tls(self) -> Tls:
        """What is trusted and shown on an encrypted connection."""
        return Tls(self.ca_file, self.client_cert, self.client_key, self.server_name, self.verify)


def access_problems(config: Access) -> Iterator[Problem]:
    """Report what is wrong with these keys without asking anybody."""
    yield from credential_problems(bearer=config.bearer, basic=config.basic, api_key=config.api_key)
    if config.client_key is not None and config.client_cert is None:
        yield Problem("client_cert", "is missing: client_key belongs to a certificate")
    proxy = config.proxy
    if proxy is not None and (told := written_problem(proxy, proxy_problem)) is not None:
        yield Problem("proxy", told)
    if not 1 <= config.max_bytes <= MOST_BYTES:
        yield Problem("max_bytes", f"{config.max_bytes} is not from 1 to {MOST_BYTES:,}")
