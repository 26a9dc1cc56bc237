"""JSON posted to one address, such as a model's, over what `http` is built on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import msgspec

from searchmark.errors import InputError, Problem
from searchmark.systems.http.address import (
    address_problem,
    is_header_value,
    parameters_problem,
    written_problem,
)
from searchmark.systems.http.credentials import bearer_header, credential_problems
from searchmark.systems.http.deadline import open_manager
from searchmark.systems.http.reply import document_of
from searchmark.systems.http.wire import Outgoing, Wire
from searchmark.systems.literals import literal_secret_problems
from searchmark.systems.protocol import Context
from searchmark.systems.template import encoded, texts_in

PATIENCE_S = 120.0
"""How long one call may take where the project file sets no time limit."""


class ApiConfig(Protocol):
    """What the configurations of such adapters have in common; `key` goes as a bearer token."""

    @property
    def url(self) -> str:
        """The API's address."""
        ...

    @property
    def key(self) -> str | None:
        """The token, as ``${NAME}``."""
        ...

    @property
    def max_bytes(self) -> int:
        """The longest answer that is read."""
        ...


class Posted(NamedTuple):
    """A parsed answer and its length in bytes."""

    document: Any
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class JsonApi:
    """Posts JSON values; any number of threads at once."""

    wire: Wire
    request: Outgoing

    def post(self, body: object) -> Posted:
        """Return the parsed answer; whatever is no good answer is a SystemFailedError."""
        try:
            raw = msgspec.json.encode(body)
        except UnicodeEncodeError:
            encoded("".join(text for _, text in texts_in(body)))  # says which character
            raise
        reply = self.wire.send(replace(self.request, body=raw), self.wire.end())
        document = document_of(reply, self.request.shown, self.wire.secrets)
        return Posted(document, len(reply.body))


@contextmanager
def open_api(
    address: ApiConfig, path: str, context: Context, *, table: str = ""
) -> Iterator[JsonApi]:
    """Open the API below its `url`, which may name the `path` already."""
    url, key = address.url, address.key
    at = f"{table}." if table else ""
    base = context.secrets.expand(url, key=f"{at}url").rstrip("/")
    if (told := _base_problem(base)) is not None:
        raise InputError(f"{at}url: {told}")
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key is not None:
        headers["Authorization"] = bearer_header(key, f"{at}key", context.secrets)
        if not is_header_value(headers["Authorization"]):
            raise InputError(f"{at}key: the value has characters that no header can hold")
    request = Outgoing(
        "POST",
        base if base.endswith(path) else base + path,
        f"POST {shown_url(url, path)}",
        headers=headers,
        secret=frozenset({"authorization"}),
    )
    manager = open_manager(None, context.calls.concurrency)
    try:
        limit = context.calls.timeout_s or PATIENCE_S
        yield JsonApi(Wire(manager, context.secrets, limit, address.max_bytes), request)
    finally:
        manager.clear()


def shown_url(url: str, path: str) -> str:
    """Return the address as messages show it: with the names of secrets, without parameters."""
    base = url.split("?")[0].rstrip("/")
    return base if base.endswith(path) else base + path


def _base_problem(url: str) -> str | None:
    return address_problem(url, instead="the token as key") or parameters_problem(url)


def api_problems(address: ApiConfig, *, table: str = "") -> list[Problem]:
    """Report an address that is none, and secrets that are written out."""
    url, key = address.url, address.key
    at = f"{table}." if table else ""
    found = [
        Problem(f"{at}{p.key}", p.message)
        for p in literal_secret_problems(url=url, values={"key": key})
    ]
    found += [Problem(f"{at}key", p.message) for p in credential_problems(bearer=key)]
    if (told := written_problem(url, _base_problem)) is not None:
        found.append(Problem(f"{at}url", told))
    if address.max_bytes < 1:
        found.append(Problem(f"{at}max_bytes", f"{address.max_bytes} is not 1 or more"))
    return found
