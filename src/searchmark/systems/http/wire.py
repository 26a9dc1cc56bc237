"""One HTTP exchange: sent once, followed where that is allowed, read within time and size."""

import builtins
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPException, ImproperConnectionState, IncompleteRead, RemoteDisconnected
from time import monotonic
from typing import Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

from urllib3 import BaseHTTPResponse, PoolManager, Timeout
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
    TimeoutError,
)

from searchmark.data.numerals import MOST_DIGITS
from searchmark.errors import SystemFailedError, SystemTimeoutError, described
from searchmark.systems.http.address import address_problem
from searchmark.systems.http.body import raw, unpacked
from searchmark.systems.secrets import Secrets

MOST_REDIRECTS = 5
TUNNEL_STATUS = re.compile(r"Tunnel connection failed: (\d{3})")
REDIRECTS = (301, 302, 303, 307, 308)

Redirects = Literal["same-host", "any", "none"]
"""Where redirects are followed to."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request; `shown` names it in messages, `secret` are the headers for its own host only."""

    method: str
    url: str
    shown: str
    headers: Mapping[str, str] = field(default_factory=dict)
    secret: frozenset[str] = frozenset()
    body: bytes | None = None
    has_secret_body: bool = False


class Reply(NamedTuple):
    """What came back, unpacked: status, headers by their names in lower case, body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Wire:
    """Sends requests through one pool of connections; any number of threads at once."""

    manager: PoolManager
    secrets: Secrets
    timeout_s: float | None = None
    max_bytes: int = 10_000_000
    redirects: Redirects = "same-host"

    def end(self) -> float | None:
        """Return when an attempt that begins now has to be over, as the monotonic clock tells."""
        return None if self.timeout_s is None else monotonic() + self.timeout_s

    def send(self, request: Outgoing, end: float | None) -> Reply:
        """Return the reply, whatever its status, or raise what went wrong."""
        for _ in range(MOST_REDIRECTS + 1):
            reply = self._once(request, end)
            if reply.status not in REDIRECTS or self.redirects == "none":
                return reply
            request = self._followed(request, reply)
        raise SystemFailedError(f"{request.shown} redirects more than {MOST_REDIRECTS} times")

    def _once(self, request: Outgoing, end: float | None) -> Reply:
        left = None if end is None else end - monotonic()
        if left is not None and left <= 0:
            raise self._late(request)
        with self._failures(request):
            response = self.manager.urlopen(
                request.method,
                request.url,
                body=request.body,
                headers=request.headers,
                timeout=Timeout(total=left),
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            try:
                if response.status < 200:  # what it announces must not be the next one's answer
                    raise SystemFailedError(
                        f"{request.shown} answered {response.status}, after which an answer has to "
                        "come that is not waited for"
                    )
                body = self._body(response, request)
            except BaseException:
                response.close()  # what is still to come must not be the next request's answer
                raise
            response.release_conn()
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status, headers, body)

    def _body(self, response: BaseHTTPResponse, request: Outgoing) -> bytes:
        packing = response.headers.get("Content-Encoding", "").strip().lower()
        if packing not in ("", "identity", "gzip", "x-gzip"):
            raise SystemFailedError(
                f"{request.shown} answered in the encoding '{packing[:40]}', which was not asked "
                "for; make the server send gzip or plain JSON"
            )
        declared = response.headers.get("Content-Length", "")
        if re.fullmatch("[0-9]+", declared) and (
            len(declared) > MOST_DIGITS or int(declared) > self.max_bytes
        ):
            raise self._too_long(request)
        pieces = raw(response)
        if packing in ("gzip", "x-gzip"):
            pieces = unpacked(pieces, request.shown)
        return self._joined(pieces, request)

    def _joined(self, pieces: Iterator[bytes], request: Outgoing) -> bytes:
        found = bytearray()
        for piece in pieces:
            found += piece
            if len(found) > self.max_bytes:
                raise self._too_long(request)
        return bytes(found)

    def _too_long(self, request: Outgoing) -> SystemFailedError:
        return SystemFailedError(
            f"{request.shown} answered with more than {self.max_bytes:,} bytes (max_bytes); ask "
            "for fewer fields, or raise max_bytes"
        )

    def _late(self, request: Outgoing) -> SystemTimeoutError:
        return SystemTimeoutError(
            f"{request.shown} did not answer within {self.timeout_s or 0:g} s (timeout_s)"
        )

    def _followed(self, request: Outgoing, reply: Reply) -> Outgoing:
        """Return the request that a redirect leads to; what is secret stays with its own host."""
        target = reply.headers.get("location", "")
        url = _led_to(request.url, target)
        said = f"{request.shown} redirects ({reply.status}) to '{self.secrets.excerpt(url, 100)}'"
        if not target or address_problem(url) is not None:
            raise SystemFailedError(f"{said}, which is no address that can be followed")
        if reply.status == 303:
            request = replace(request, method="GET", body=None, has_secret_body=False)
        elif reply.status in (301, 302) and request.method != "GET":
            raise SystemFailedError(f"{said}, which may lose the body; write that address as url")
        if _is_same_host(request.url, url):
            return replace(request, url=url)
        if self.redirects != "any" or request.has_secret_body:
            raise SystemFailedError(
                f"{said}, another host, which is not followed; write that address as url if it is "
                "right"
            )
        left = {n: v for n, v in request.headers.items() if n.lower() not in request.secret}
        return replace(request, url=url, headers=left)

    @contextmanager
    def _failures(self, request: Outgoing) -> Iterator[None]:
        """Say in one sentence what the library raises in many."""
        shown = request.shown
        try:
            yield
        except NameResolutionError as error:
            raise SystemFailedError(
                f"{shown}: the host's name cannot be resolved", retry=True
            ) from error
        except NewConnectionError as error:
            raise SystemFailedError(
                f"{shown}: no connection ({self._cause(error)}); is the server running there?",
                retry=True,
            ) from error
        except (ConnectTimeoutError, ReadTimeoutError, TimeoutError) as error:
            raise self._late(request) from error
        except SSLError as error:
            is_cut = "EOF" in str(error)
            fix = "" if is_cut else "; ca_file, server_name and client_cert tell what to trust"
            raise SystemFailedError(
                f"{shown}: TLS failed ({self._cause(error)}){fix}", retry=is_cut
            ) from error
        except ProxyError as error:
            raise SystemFailedError(
                f"{shown}: the proxy failed ({self._cause(error)})", retry=_may_pass(error)
            ) from error
        except (ProtocolError, OSError) as error:
            if any(isinstance(reason, builtins.TimeoutError) for reason in _reasons(error)):
                raise self._late(request) from error  # the request could not be sent in time
            if (said := _no_http(error)) is not None:
                raise SystemFailedError(
                    f"{shown}: what answers does not speak HTTP as it should "
                    f"({self.secrets.excerpt(said, 120)})",
                    retry=True,
                ) from error
            raise SystemFailedError(
                f"{shown}: the connection was cut before the answer was complete "
                f"({self._cause(error)})",
                retry=True,
            ) from error
        except (HTTPError, ValueError) as error:
            raise SystemFailedError(
                f"{shown}: the request cannot be sent, or its answer not be read "
                f"({self._cause(error)})"
            ) from error

    def _cause(self, error: BaseException) -> str:
        """Return the innermost reason, without the address, that may hold a query or a secret."""
        inner = list(_reasons(error))[-1]
        if isinstance(inner, OSError) and inner.strerror:
            return self.secrets.excerpt(inner.strerror, 120)
        return (
            type(inner).__name__
            if "://" in str(inner)
            else self.secrets.excerpt(described(inner), 120)
        )


def _reasons(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and what it was raised from, innermost last."""
    inner: BaseException | None = error
    while inner is not None:
        yield inner
        inner = inner.__cause__


def _may_pass(error: ProxyError) -> bool:
    """Tell whether a proxy may do its work a little later: one that refused (407) will not."""
    told = TUNNEL_STATUS.search(str(error))
    return told is None or told[1] in ("429", "500", "502", "503", "504")


def _no_http(error: BaseException) -> str | None:
    """Return what is wrong with the first lines of an answer; None where none came at all."""
    inner = error.args[1] if isinstance(error, ProtocolError) and len(error.args) > 1 else error
    if isinstance(inner, RemoteDisconnected | IncompleteRead | ImproperConnectionState):
        return None
    return described(inner) if isinstance(inner, HTTPException) else None


def _led_to(url: str, target: str) -> str:
    """Return where a redirect leads to; what is no address at all is left as it came."""
    try:
        return urljoin(url, target)
    except ValueError:
        return target


def _is_same_host(url: str, other: str) -> bool:
    """Tell whether both are one server; from http to https at the usual ports is allowed."""
    old, new = _origin(url), _origin(other)
    upgraded = ("https", old[1], 443) if old == ("http", old[1], 80) else old
    return new in (old, upgraded)


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or usual
