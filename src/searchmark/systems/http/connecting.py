"""Connections made until a moment: the look-up of the name and all its addresses together.

The limit of a socket is one of each address, and a look-up knows none. So the look-up is made in a
thread that is left behind where it takes too long, and each address gets its share of what is left.
"""

import socket
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple

from urllib3.exceptions import LocationParseError
from urllib3.util.connection import allowed_gai_family

SocketOption = tuple[int, int, int | bytes]


class Address(NamedTuple):
    """One address of a host, as the look-up gives it."""

    family: int
    kind: int
    protocol: int
    canonical: str
    place: Any


def connected(
    host: str, port: int, end: float | None, options: Iterable[SocketOption] = ()
) -> socket.socket:
    """Return a socket that is connected to the first address that takes it.

    Raises what a socket would: TimeoutError, gaierror for a name that leads nowhere, OSError.
    """
    found = addresses_of(host.strip("[]") if host.startswith("[") else host, port, end)
    error: OSError = OSError("the host has no address")
    for n, address in enumerate(found):
        left = None if end is None else end - monotonic()
        if left is not None and left <= 0:
            break
        try:
            share = None if left is None else left / (len(found) - n)
            return _connected(address, share, options)
        except OSError as raised:
            error = raised
    if end is not None and monotonic() >= end:
        raise TimeoutError("timed out") from error
    raise error


def _connected(
    address: Address, limit: float | None, options: Iterable[SocketOption]
) -> socket.socket:
    made = socket.socket(address.family, address.kind, address.protocol)
    try:
        for option in options:
            made.setsockopt(*option)
        made.settimeout(limit)
        made.connect(address.place)
    except BaseException:
        made.close()
        raise
    return made


def addresses_of(host: str, port: int, end: float | None) -> Sequence[Address]:
    """Return the addresses of a host; raise TimeoutError where that takes longer than until `end`.

    What is an address already is not looked up.
    """
    try:
        host.encode("idna")
    except UnicodeError:
        raise LocationParseError(f"'{host}', label empty or too long") from None
    if end is None or _is_address(host):
        return _looked_up(host, port)
    found: SimpleQueue[Sequence[Address] | Exception] = SimpleQueue()

    def work() -> None:
        try:
            found.put(_looked_up(host, port))
        except Exception as error:
            found.put(error)

    Thread(target=work, name=f"looking up {host}", daemon=True).start()
    try:
        answer = found.get(timeout=max(0.0, end - monotonic()))
    except Empty:
        raise TimeoutError(f"looking up {host} took too long") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _looked_up(host: str, port: int) -> Sequence[Address]:
    found = socket.getaddrinfo(host, port, allowed_gai_family(), socket.SOCK_STREAM)
    return [Address(*given) for given in found]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
