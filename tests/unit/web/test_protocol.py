"""Connections that keep the service waiting, against a server in this process."""

import asyncio
import contextlib
import errno
import itertools
import json
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("uvicorn")

import h11

from searchmark.web import protocol
from searchmark.web.answers import as_json
from searchmark.web.front import Front, Receive, Scope, Send
from searchmark.web.limits import Limits
from searchmark.web.running import TAKEN, Server, bind, server_of

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]
WHOLE = b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"
HALF = b"GET /half HTTP/1.1\r\nHost: a\r\nX: "
CHUNKED = b"GET /chunked HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


class App:
    """Answers with the path, when the gate is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.n_begun, self.answer = 0, b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.n_begun += 1
        await self.gate.wait()
        body = self.answer or json.dumps(scope["path"]).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class Served:
    """A running server and what its clients do."""

    def __init__(self, app: App, server: Server, port: int) -> None:
        self.app, self.server, self.address = app, server, ("127.0.0.1", port)
        self._clients: list[asyncio.StreamWriter] = []

    async def client(self, sent: bytes = b"") -> Client:
        reader, writer = await asyncio.open_connection(*self.address)
        self._clients.append(writer)
        writer.write(sent)
        await writer.drain()
        return reader, writer

    async def leave(self) -> None:
        """End all clients."""
        for writer in self._clients:
            writer.transport.abort()
        await asyncio.sleep(0.01)

    @property
    def connections(self) -> list[Any]:
        """All that are open, as the server has them."""
        return list(self.server.server_state.connections)

    async def until(self, holds: Callable[[], object]) -> None:
        while not holds():
            await asyncio.sleep(0.01)

    async def ask(self, path: int = 1) -> tuple[int, Any, bytes]:
        return await answer(await self.client(WHOLE % path))


async def answer(client: Client) -> tuple[int, Any, bytes]:
    """Return status, JSON and head of the next answer."""
    reader, _ = client
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length: ")[2].split()[0])
    return int(head.split()[1]), json.loads(await reader.readexactly(length)), head


async def ended(client: Client) -> bytes:
    """Return what comes until the server closes the connection."""
    try:
        return await client[0].read()
    except ConnectionResetError:
        return b""


def run(script: Callable[[Served], Awaitable[None]], *, buffered: int | None = None) -> None:
    """Run a script; `buffered` bytes or so is all that the system keeps of what is sent."""

    async def main() -> None:
        app = App()
        with bind("127.0.0.1", 0) as bound:
            if buffered is not None:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffered)
            server = server_of(Front(app, Limits(per_second=0)))
            serving = asyncio.create_task(server.serve([bound]))
            while not server.started:
                await asyncio.sleep(0.01)
            served = Served(app, server, bound.getsockname()[1])
            try:
                async with asyncio.timeout(30):
                    await script(served)
            finally:
                app.gate.set()
                await served.leave()
                server.should_exit = True
                await serving

    asyncio.run(main())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "REQUEST_S", 0.2)
    monkeypatch.setattr(protocol, "READ_S", 0.2)
    monkeypatch.setattr(protocol, "DRAINED_S", 0.1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("sent", [HALF, CHUNKED, CHUNKED + b"3\r\nabc\r\n", b"G"])
def test_a_request_that_does_not_come_is_told_and_ended(sent: bytes) -> None:
    async def script(served: Served) -> None:
        client = await served.client(sent)
        status, body, head = await answer(client)
        assert status == 408
        assert body == {"error": "the request was not whole within 0.2 s"}
        assert b"connection: close" in head
        assert await ended(client) == b""
        assert served.app.n_begun == 0

    run(script)


def head_of(raw: bytes) -> tuple[int, dict[str, str]]:
    """Return status and headers of an answer that is all head."""
    head, end, rest = raw.lower().partition(b"\r\n\r\n")
    assert (end, rest) == (b"\r\n\r\n", b"")
    first, *lines = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in lines)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("behind", "status", "sentence"),
    [
        (b"", 408, "the request was not whole within 0.2 s"),
        (b"3\r\nabc\r\n", 408, "the request was not whole within 0.2 s"),
        (b"zz\r\n", 400, protocol.NO_HTTP),
    ],
)
def test_who_asks_for_the_head_is_refused_with_a_head(
    behind: bytes, status: int, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def script(served: Served) -> None:
        client = await served.client(CHUNKED.replace(b"GET", b"HEAD") + behind)
        got, headers = head_of(await ended(client))
        assert got == status
        assert int(headers["content-length"]) == len(as_json({"error": sentence}))
        assert headers["connection"] == "close"
        await served.until(lambda: not served.connections)

    run(script)
    assert [record for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("sent", [HALF, CHUNKED, CHUNKED + b"zz\r\n", b"\0\r\n\r\n"])
@pytest.mark.parametrize("broken", ["h11", "socket"])
def test_a_refusal_that_cannot_be_sent_ends_the_connection(
    sent: bytes,
    broken: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def raised(*given: object) -> None:
        raise h11.LocalProtocolError("no") if broken == "h11" else OSError(errno.ENOTCONN, "no")

    of = h11.Connection if broken == "h11" else asyncio.selector_events._SelectorSocketTransport  # type: ignore[attr-defined]
    monkeypatch.setattr(of, "send" if broken == "h11" else "write_eof", raised)

    async def script(served: Served) -> None:
        await ended(await served.client(sent))
        await served.until(lambda: not served.connections)

    run(script)
    assert [record for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.usefixtures("impatient")
def test_bytes_now_and_then_gain_no_time() -> None:
    async def script(served: Served) -> None:
        for sent in (HALF, CHUNKED):
            client = await served.client(sent)
            trickle = asyncio.create_task(trickled(client[1]))
            assert (await answer(client))[0] == 408
            trickle.cancel()

    async def trickled(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"1")
            await asyncio.sleep(0.02)

    run(script)


@pytest.mark.usefixtures("impatient")
def test_a_silent_connection_is_ended_without_a_word() -> None:
    async def script(served: Served) -> None:
        assert await ended(await served.client()) == b""

    run(script)


@pytest.mark.usefixtures("impatient")
def test_a_body_that_does_not_come_ends_the_connection_after_the_answer() -> None:
    async def script(served: Served) -> None:
        client = await served.client(WHOLE[:-2] % 1 + b"Content-Length: 9\r\n\r\n")
        assert (await answer(client))[:2] == (200, "/1")
        assert await ended(client) == b""
        late = await served.client(WHOLE[:-2] % 1 + b"Content-Length: 9\r\n\r\n")
        assert (await answer(late))[0] == 200
        late[1].write(b"123456789")  # uvicorn alone would keep this one for ever
        assert await ended(late) == b""

    run(script)


@pytest.mark.usefixtures("impatient")
def test_a_second_request_has_its_own_time() -> None:
    async def script(served: Served) -> None:
        client = await served.client(WHOLE % 1)
        assert (await answer(client))[:2] == (200, "/1")
        await asyncio.sleep(0.3)  # longer than a request may take: none has begun
        client[1].write(WHOLE % 2)
        assert (await answer(client))[:2] == (200, "/2")
        client[1].write(HALF)
        assert (await answer(client))[0] == 408

    run(script)


@pytest.mark.usefixtures("impatient")
def test_an_answer_may_take_longer_than_a_request() -> None:
    async def script(served: Served) -> None:
        served.app.gate.clear()
        client = await served.client(WHOLE % 1)
        await asyncio.sleep(0.4)
        served.app.gate.set()
        assert (await answer(client))[:2] == (200, "/1")

    run(script)


@pytest.mark.usefixtures("impatient")
def test_who_does_not_read_is_left() -> None:
    async def script(served: Served) -> None:
        served.app.answer = b"x" * 50_000_000
        client = await served.client(WHOLE % 1)
        client[1].transport.pause_reading()  # type: ignore[attr-defined]
        while served.app.n_begun == 0 or served.server.server_state.connections:
            await asyncio.sleep(0.02)

    run(script)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("head", [WHOLE % 1, (WHOLE[:-2] + b"Connection: close\r\n\r\n") % 1])
def test_who_does_not_read_a_short_rest_is_left_too(head: bytes) -> None:
    async def script(served: Served) -> None:
        served.app.answer = b"x" * 40_000  # less than the 65,536 that asyncio takes in any case
        reading = socket.socket()
        with reading:
            reading.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            reading.setblocking(False)
            await asyncio.get_running_loop().sock_connect(reading, served.address)
            await served.until(lambda: served.connections)
            (one,) = served.connections
            reading.sendall(head)
            await served.until(lambda: one.is_idle and one.cycle)
            assert 0 < one.transport.get_write_buffer_size() < 40_000
            await served.until(lambda: not served.connections)

    run(script, buffered=4096)


def test_who_reads_on_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "READ_S", 1.0)

    async def script(served: Served) -> None:
        served.app.answer = json.dumps("x" * 8_000_000).encode()
        client = await served.client()
        client[1].transport.pause_reading()  # type: ignore[attr-defined]
        client[1].write(WHOLE % 1)
        await served.until(lambda: served.connections)
        (one,) = served.connections
        await served.until(one.transport.get_write_buffer_size)
        client[1].transport.resume_reading()  # type: ignore[attr-defined]
        assert (await answer(client))[0] == 200
        await asyncio.sleep(1.2)  # longer than one that does not read is kept
        served.app.answer = b""
        client[1].write(WHOLE % 2)
        assert (await answer(client))[:2] == (200, "/2")

    run(script)


def test_a_new_client_finds_room_among_many_that_send_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "most_open", lambda: 5)

    async def script(served: Served) -> None:
        kept = await served.client(WHOLE % 7)
        assert (await answer(kept))[1] == "/7"
        crowd = [await served.client(sent) for sent in (HALF, CHUNKED, b"") * 10]
        assert (await served.ask())[:2] == (200, "/1")
        assert len(served.server.server_state.connections) <= 6
        assert await ended(kept) == b""  # it was idle for the longest time
        assert await ended(crowd[0]) == b""
        crowd[-1][1].write(WHOLE % 3)  # the latest is still there
        assert (await answer(crowd[-1]))[1] == "/3"

    run(script)


def test_answers_under_way_are_not_given_up_for_new_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "most_open", lambda: 3)

    async def script(served: Served) -> None:
        served.app.gate.clear()
        asking = [await served.client(WHOLE % i) for i in range(3)]
        while served.app.n_begun < 3:
            await asyncio.sleep(0.01)
        status, body, head = await served.ask()
        assert status == 503
        assert body["error"].startswith("all connections of this service are being answered")
        assert b"retry-after: 1" in head
        served.app.gate.set()
        assert [(await answer(c))[1] for c in asking] == ["/0", "/1", "/2"]

    run(script)


@pytest.mark.parametrize("n", [1, 3])
def test_who_ends_its_own_side_gets_all_answers(n: int) -> None:
    async def script(served: Served) -> None:
        served.app.gate.clear()
        client = await served.client(b"".join(WHOLE % i for i in range(n)))
        client[1].write_eof()
        while served.app.n_begun == 0:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)  # the end has come before the answer
        served.app.gate.set()
        assert [(await answer(client))[1] for _ in range(n)] == ["/0", "/1", "/2"][:n]
        assert await ended(client) == b""

        half = await served.client(HALF)
        half[1].write_eof()
        assert await ended(half) == b""

    run(script)


def test_where_files_are_scarce_whoever_only_waits_is_closed() -> None:
    async def script(served: Served) -> None:
        served.app.gate.clear()
        asking = await served.client(WHOLE % 1)
        waiting = [await served.client(sent) for sent in (HALF, CHUNKED, b"")]
        while len(served.server.server_state.connections) < 4 or not served.app.n_begun:
            await asyncio.sleep(0.01)
        error = OSError(errno.EMFILE, "Too many open files")
        asyncio.get_running_loop().call_exception_handler({"message": "m", "exception": error})
        for client in waiting:
            assert await ended(client) == b""
        served.app.gate.set()
        assert (await answer(asking))[1] == "/1"

    run(script)


def test_a_body_of_untold_length_has_a_limit() -> None:
    def chunks(n: int) -> bytes:
        chunk = b"x" * 1000
        return CHUNKED + b"3e8\r\n" + chunk + (b"\r\n3e8\r\n" + chunk) * (n - 1)

    async def script(served: Served) -> None:
        client = await served.client(chunks(65) + b"\r\n0\r\n\r\n")  # 65,000 bytes, 65,536 may be
        assert (await answer(client))[:2] == (200, "/chunked")
        client[1].write(WHOLE % 2)  # and the connection goes on
        assert (await answer(client))[1] == "/2"
        client = await served.client(chunks(66))
        status, body, _ = await answer(client)
        assert (status, body["error"][:27]) == (413, "the request has a long body")
        assert served.app.n_begun == 2

    run(script)


def test_an_address_with_a_host_is_the_path_behind_it() -> None:
    async def script(served: Served) -> None:
        client = await served.client(b"GET http://b:1/x%20y?q=1 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert (await answer(client))[:2] == (200, "/x y")

    run(script)


def test_rubbish_behind_an_answer_ends_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def script(served: Served) -> None:
        target = b"GET /" + b"x" * 70_000
        client = await served.client(CHUNKED.replace(b"GET /chunked", target))
        assert (await answer(client))[0] == 414  # before the body came
        client[1].write(b"no chunk\r\n")
        assert await ended(client) == b""

    run(script)
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


def test_a_refusal_reaches_who_is_still_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "DRAINED_S", 20.0)

    async def script(served: Served) -> None:
        def told() -> bytes:
            with socket.create_connection(served.address) as sending:
                sending.sendall(b"\0\r\n\r\n" + b"x" * 4_000_000)
                with sending.makefile("rb") as stream:
                    return stream.read()

        assert (await asyncio.to_thread(told)).startswith(b"HTTP/1.1 400 ")

    run(script)


@pytest.mark.usefixtures("impatient")
def test_who_is_refused_and_ends_its_side_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "DRAINED_S", 3600.0)

    async def script(served: Served) -> None:
        client = await served.client(CHUNKED)
        assert (await answer(client))[0] == 408
        client[1].write_eof()
        await served.until(lambda: not served.connections)

    run(script)


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_comes_after_the_refusal_is_nobodys(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(protocol, "DRAINED_S", 3600.0)

    async def script(served: Served) -> None:
        served.app.gate.clear()
        client = await served.client(WHOLE[:-2] % 1 + b"Content-Length: 9\r\n\r\n")
        assert (await answer(client))[0] == 408
        served.app.gate.set()
        await served.until(lambda: not served.server.server_state.tasks)
        client[1].write_eof()
        assert await ended(client) == b""

    run(script)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def test_room_is_made_by_who_asked_the_longest_time_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "most_open", lambda: 2)

    async def script(served: Served) -> None:
        first, second = await served.client(), await served.client()
        for client in (second, first):
            client[1].write(WHOLE % 1)
            await answer(client)
        third = await served.client(WHOLE % 3)
        assert (await answer(third))[1] == "/3"
        assert await ended(second) == b""
        first[1].write(WHOLE % 4)
        assert (await answer(first))[1] == "/4"

    run(script)


def test_an_answer_that_is_still_read_is_not_cut_for_a_new_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "most_open", lambda: 1)

    async def script(served: Served) -> None:
        served.app.answer = json.dumps("x" * 20_000_000).encode()
        reading = await served.client()
        reading[1].transport.pause_reading()  # type: ignore[attr-defined]
        reading[1].write((WHOLE[:-2] + b"Connection: close\r\n\r\n") % 1)
        await served.until(lambda: served.connections)
        (one,) = served.connections
        await served.until(one.transport.is_closing)
        assert (await served.ask())[0] == 503
        reading[1].transport.resume_reading()  # type: ignore[attr-defined]
        assert (await answer(reading))[0] == 200

    run(script)


def test_a_burst_of_connections_waits_and_is_taken_bit_by_bit() -> None:
    async def script(served: Served) -> None:
        with contextlib.ExitStack() as crowd:
            for _ in range(4 * TAKEN):  # nobody takes any meanwhile: this holds the loop
                crowd.enter_context(socket.create_connection(served.address, timeout=5))
            seen = [0]
            while seen[-1] < 4 * TAKEN:
                await asyncio.sleep(0)
                seen.append(len(served.connections))
            assert max(b - a for a, b in itertools.pairwise(seen)) <= TAKEN

    run(script)
