import errno
import logging
import socket
from typing import Any

import pytest

pytest.importorskip("uvicorn")

from searchmark.errors import InputError, OutsideError
from searchmark.web import protocol
from searchmark.web.running import Server, address_of, bind, is_loopback, server_of


class Bound:
    """Stands for a socket that is bound to an address."""

    def __init__(self, *name: object) -> None:
        self.name = name

    def getsockname(self) -> tuple[object, ...]:
        return self.name


def test_a_free_port_is_found_and_told() -> None:
    with bind("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        assert address_of(bound) == f"http://127.0.0.1:{port}"
        assert is_loopback(bound)
        with socket.create_connection(("127.0.0.1", port)):
            pass


def test_a_taken_port_is_one_sentence() -> None:
    with bind("127.0.0.1", 0) as bound, pytest.raises(OutsideError) as caught:
        bind("127.0.0.1", bound.getsockname()[1])
    assert "cannot be had: Address already in use; give another with --port" in str(caught.value)


def test_a_port_that_needs_privileges(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unprivileged(socket.socket):
        def bind(self, address: object, /) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "socket", Unprivileged)
    with pytest.raises(OutsideError) as caught:
        bind("127.0.0.1", 80)
    assert str(caught.value) == (
        "the port 80 of 127.0.0.1 cannot be had: Permission denied; give another with --port, "
        "1024 or above, which needs no privileges"
    )


def test_an_address_of_another_machine() -> None:
    with pytest.raises(InputError, match=r"'192\.0\.2\.1' is no address of this machine"):
        bind("192.0.2.1", 0)


def test_an_address_that_is_none() -> None:
    with pytest.raises(InputError, match="there is no address of the name"):
        bind("no such host", 0)


@pytest.mark.parametrize(
    ("name", "address", "is_here"),
    [
        (("127.0.0.2", 80), "http://127.0.0.2:80", True),
        (("::1", 80, 0, 0), "http://[::1]:80", True),
        (("0.0.0.0", 80), "http://0.0.0.0:80", False),
        (("::", 80, 0, 0), "http://[::]:80", False),
        (("192.0.2.1", 80), "http://192.0.2.1:80", False),
        (("fe80::1%eth0", 80, 0, 2), "http://[fe80::1%eth0]:80", False),
    ],
)
def test_who_can_reach_an_address(name: tuple[object, ...], address: str, is_here: bool) -> None:
    bound = Bound(*name)
    assert is_loopback(bound) is is_here  # type: ignore[arg-type]
    assert address_of(bound) == address  # type: ignore[arg-type]


class Loop:
    """Stands for an event loop that is told what went wrong."""

    now = 0.0

    def __init__(self) -> None:
        self.others: list[dict[str, Any]] = []

    def time(self) -> float:
        return self.now

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.others.append(context)


def test_a_lack_of_files_is_told_in_a_line_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    async def nothing(scope: Any, receive: Any, send: Any) -> None: ...

    server, loop = server_of(nothing), Loop()
    scarce = {"message": "m", "exception": OSError(errno.EMFILE, "Too many open files")}
    with caplog.at_level(logging.WARNING):
        for loop.now in (0.0, 1.0, 4.9, 5.1, 6.0):
            Server._tell(server, loop, scarce)  # type: ignore[arg-type]
    assert [record.getMessage() for record in caplog.records] == [
        "no connection can be taken: Too many open files; allow more open files"
    ] * 2
    assert loop.others == []
    other = {"message": "m", "exception": ValueError("a fault")}
    Server._tell(server, loop, other)  # type: ignore[arg-type]
    assert loop.others == [other]


def test_connections_leave_files_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    found = {}
    for files in (20, 140, 1024, 100_000, resource.RLIM_INFINITY):
        monkeypatch.setattr(resource, "getrlimit", lambda _, n=files: (n, n))
        protocol.most_open.cache_clear()
        found[files] = protocol.most_open()
    protocol.most_open.cache_clear()
    # 128 files are kept, 16 connections there are in any case, and 2,000 at most
    assert list(found.values()) == [16, 16, 896, 2000, 2000]
