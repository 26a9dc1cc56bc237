"""What every request passes first: the limits of its size, of its address, of all together."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from searchmark.web.answers import as_json
from searchmark.web.limits import Limits
from searchmark.web.rates import Rates
from searchmark.web.refusal import Refused

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Front:
    """Lets requests through to the application, or answers them with an error."""

    def __init__(self, app: App, limits: Limits) -> None:
        self._app, self._limits = app, limits
        self._rates = Rates(limits.per_second)
        self._n_open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
        except Refused as refusal:
            await _answer(send, refusal)
            return
        self._n_open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._n_open -= 1

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
        if _body_bytes(scope) > limits.body_bytes:
            raise Refused(413, "the request has a long body, where none is needed")
        if self._n_open >= limits.threads + limits.waiting:
            raise Refused(429, f"{self._n_open:,} requests are waiting already", after_s=1)


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
