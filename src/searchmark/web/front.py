"""What every request passes first: who may ask, limits of size, of an address, of all together."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote

from searchmark.web.access import OPEN, Admission, unknown
from searchmark.web.answers import as_json
from searchmark.web.limits import Limits
from searchmark.web.rates import Rates
from searchmark.web.refusal import Refused

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

KNOWN = "searchmark.is_known"
"""Key of a request's scope: whether who asks may know everything."""


class Front:
    """Lets requests through to the application, or answers them with an error."""

    def __init__(self, app: App, limits: Limits, access: Admission | None = None) -> None:
        self._app, self._limits, self._access = app, limits, access or Admission()
        self._rates = Rates(limits.per_second)
        self._n_open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = _of_this_server(scope)
        try:
            self._check(scope)
            scope[KNOWN] = self._is_known(scope)
            if await self._has_come(scope, receive):
                await self._counted(scope, receive, send)
        except Refused as refusal:
            await _answer(send, refusal)

    async def _has_come(self, scope: Scope, receive: Receive) -> bool:
        """Take a body whose length nobody told; False where the client went meanwhile."""
        is_more = any(name == b"transfer-encoding" for name, _ in scope["headers"])
        n = 0
        while is_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            n, is_more = n + len(message["body"]), message["more_body"]
            self._check_body(n)
        return True

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered, unless too many are already."""
        limits = self._limits
        if self._n_open >= limits.threads + limits.waiting:
            raise Refused(429, f"{self._n_open:,} requests are waiting already", after_s=1)
        self._n_open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._n_open -= 1

    def _is_known(self, scope: Scope) -> bool:
        self._access.check_host(scope["headers"])
        is_known = self._access.is_known(scope["headers"])
        if not is_known and scope["path"] != OPEN:
            raise unknown()
        return is_known

    def _check(self, scope: Scope) -> None:
        limits = self._limits
        client = scope.get("client")
        wait = self._rates.wait(str(client[0]) if client else "")
        if wait:
            raise Refused(
                429,
                f"more than {limits.per_second:g} requests a second came from this address; "
                "ask more slowly",
                after_s=wait,
            )
        n = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if n > limits.url_bytes:
            raise Refused(
                414, f"the address has {n:,} bytes, {limits.url_bytes:,} at most are read"
            )
        self._check_body(_body_bytes(scope))

    def _check_body(self, n: int) -> None:
        if n > self._limits.body_bytes:
            raise Refused(413, "the request has a long body, where none is needed")


def _of_this_server(scope: Scope) -> Scope:
    """Return a copy of a request, its address in the usual form: without scheme and host.

    A host in the address counts more than the one of the header (RFC 9112, 3.2.2).
    """
    address = scope.get("raw_path") or b""
    if address[:7].lower() != b"http://":
        return {**scope}
    host, slash, rest = address[7:].partition(b"/")
    raw = slash + rest or b"/"
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    return {
        **scope,
        "raw_path": raw,
        "path": unquote(raw.decode("latin-1")),
        "headers": [*headers, (b"host", host)],
    }


def _body_bytes(scope: Scope) -> int:
    lengths = [v for n, v in scope["headers"] if n == b"content-length"]
    return max((int(v) for v in lengths if v.isdigit()), default=0)


async def _answer(send: Send, refusal: Refused) -> None:
    body = as_json({"error": refusal.sentence})
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    headers |= {name.lower(): value for name, value in refusal.headers.items()}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
