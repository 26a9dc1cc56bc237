import socket

import pytest

pytest.importorskip("uvicorn")

from searchmark.errors import InputError, OutsideError
from searchmark.web.running import address_of, bind, is_loopback


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
