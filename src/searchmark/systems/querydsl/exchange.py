"""The way of both clients' requests: sent once, bounded in time and size, read or refused."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from searchmark.errors import InputError, SystemFailedError
from searchmark.systems.http.address import is_header_value
from searchmark.systems.http.credentials import (
    basic_header,
    bearer_header,
    credential,
    packed,
)
from searchmark.systems.http.deadline import open_manager
from searchmark.systems.http.proxy import open_proxy
from searchmark.systems.http.reply import IN_PART, document_of, failed_status
from searchmark.systems.http.wire import Outgoing, Reply, Wire
from searchmark.systems.protocol import Context
from searchmark.systems.querydsl.config import Config, node_problem
from searchmark.systems.secrets import Secrets
from searchmark.version import __version__


class Parsed(NamedTuple):
    """An answer, how many bytes it was, the request as messages name it, whether it is a part."""

    document: Any
    size: int
    shown: str
    in_part: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """Sends what a client has composed; `own` are the headers that go to the engine alone."""

    wire: Wire
    headers: Mapping[str, str]
    own: Mapping[str, str]

    def send(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[Reply, Parsed]:
        """Return the reply and its document; whatever is no answer is raised."""
        shown = f"{method} {url.split('?')[0]}"
        request = Outgoing(
            method,
            url,
            self.wire.secrets.redact(shown),
            headers={**headers, **self.headers, **self.own},
            secret=frozenset(name.lower() for name in self.own),
            body=body,
        )
        reply = self.wire.send(request, self.wire.end())
        if 200 <= reply.status < 300:
            document = document_of(reply, request.shown, self.wire.secrets, in_part=True)
        elif (document := _unmatched(reply)) is None:
            raise engine_failure(reply, request.shown, self.wire.secrets)
        in_part = reply.status in IN_PART
        return reply, Parsed(document, len(reply.body), request.shown, in_part)


def _unmatched(reply: Reply) -> Any:
    """Return the document of an explanation that finds no document: an answer, for all its 404."""
    if reply.status != 404:
        return None
    document = _decoded(reply.body)
    return document if isinstance(document, Mapping) and "matched" in document else None


def engine_failure(reply: Reply, shown: str, secrets: Secrets) -> SystemFailedError:
    """Return the failure that a status stands for, with the reason the engine gives."""
    reason = reason_of(_decoded(reply.body))
    told = reply if reason is None else reply._replace(body=reason.encode("utf-8", "replace"))
    return failed_status(told, shown, secrets)


def reason_of(document: Any) -> str | None:
    """Return what an engine says is wrong: its innermost reason, with the kind of the error."""
    error = document.get("error") if isinstance(document, Mapping) else None
    if isinstance(error, str):
        return error or None
    if not isinstance(error, Mapping):
        return None
    roots = error.get("root_cause")
    root = roots[0] if isinstance(roots, list) and roots else error
    root = root if isinstance(root, Mapping) and root.get("reason") else error
    told = [str(root[key]) for key in ("type", "reason") if root.get(key)]
    inner = _innermost(error)
    if inner is not None and inner not in told:
        told.append(inner)
    return ": ".join(told) or None


def _innermost(error: Mapping[str, Any]) -> str | None:
    found, cause = None, error.get("caused_by")
    for _ in range(20):
        if not isinstance(cause, Mapping):
            break
        found = str(cause["reason"]) if cause.get("reason") else found
        cause = cause.get("caused_by")
    return found


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


@contextmanager
def open_exchange(config: Config, context: Context) -> Iterator[Exchange]:
    """Open a pool of connections; nothing is sent yet."""
    secrets = context.secrets
    proxy = open_proxy(config.proxy, secrets)
    own = {
        name: secrets.expand(text, key=f"headers.{name}") for name, text in config.headers.items()
    } | _authorization(config, secrets)
    for name, value in own.items():
        if not is_header_value(value):
            raise InputError(f"{name}: the value has characters that no header can hold")
    usual = {"User-Agent": f"searchmark/{__version__}", "Accept-Encoding": "gzip"}
    manager = open_manager(proxy, context.calls.concurrency, **config.tls.options(context.folder))
    try:
        yield Exchange(
            Wire(manager, secrets, context.calls.timeout_s, config.max_bytes), usual, own
        )
    finally:
        manager.clear()


def _authorization(config: Config, secrets: Secrets) -> dict[str, str]:
    """Return the header that says who asks."""
    if config.bearer is not None:
        return {"Authorization": bearer_header(config.bearer, "bearer", secrets)}
    if config.basic is not None:
        return {"Authorization": basic_header(config.basic, secrets)}
    if config.api_key is not None:
        key = credential(config.api_key, "api_key", secrets)
        return {"Authorization": f"ApiKey {packed(key) if ':' in key else key}"}
    return {}


def addresses(config: Config, secrets: Secrets) -> list[str]:
    """Return the hosts with the values of the environment put in."""
    found = []
    for address in config.addresses:
        expanded = secrets.expand(address, key="hosts").rstrip("/")
        told = node_problem(expanded)
        if told is not None:
            raise InputError(f"hosts: '{address}' {told}")
        found.append(expanded)
    return found
