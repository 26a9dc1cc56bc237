"""What an address and a header may be, whichever adapter sends them."""

import re
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from searchmark.systems.secrets import REFERENCE

HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
CLIENT_HEADERS = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that say how the exchange itself is made: another value breaks it."""

LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
"""A part of a host's name; the underscore is against the rules, and in use."""

CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def address_problem(address: str, *, instead: str = 'basic = "${USER}:${PASSWORD}"') -> str | None:
    """Say why nothing can be sent to an address; `instead` is the key that a user belongs to."""
    parts = _split(address)
    if parts is None:
        return "is no http:// or https:// address with a host"
    if (told := _signs_problem(address)) is not None:
        return told
    if "@" in parts.netloc:
        return f"holds a user; write {instead} instead"
    return _host_problem(parts)


def proxy_problem(address: str) -> str | None:
    """Say why an address is none of a proxy; unlike others it may hold a user and a password."""
    if not address:
        return "is empty; leave the key out where there is no proxy"
    if re.match(r"socks\w*://", address, re.IGNORECASE):
        return "is a SOCKS proxy, which is not spoken here; give one that speaks HTTP"
    parts = _split(address)
    if parts is None:
        return "is no address of a proxy, such as http://127.0.0.1:3128"
    if parts.scheme == "https":
        return "is a proxy behind TLS, which is not spoken here; give its http:// address"
    if (told := _signs_problem(address)) is not None:
        return told
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        return "holds more than a host and a port"
    return _host_problem(parts)


def written_problem(text: str, problem: Callable[[str], str | None]) -> str | None:
    """Say what `problem` finds in an address of the project file, whose variables are not known.

    One that begins with a variable is looked at when that has been put in.
    """
    return None if text.startswith("${") else problem(REFERENCE.sub("1", text))  # port or host


def _split(address: str) -> SplitResult | None:
    """Return the parts of an address that names a server."""
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_address else None


def _signs_problem(address: str) -> str | None:
    if address != address.strip():
        return "begins or ends with a blank"
    return "holds a line end or another control character" if CONTROL.search(address) else None


def _host_problem(parts: SplitResult) -> str | None:
    host = parts.hostname or ""
    if "[" in parts.netloc:
        return None if _is_ip(host) else f"has the host '[{host[:60]}]', which is no IPv6 address"
    if re.search(r"\{[a-z_]", host):
        return "has a placeholder in its host: a query may not choose the server"
    if not host.isascii():
        return f"has a host that is not ASCII{_in_ascii(host)}"
    name = host.removesuffix(".")
    if len(name) > 253 or not all(LABEL.fullmatch(label) for label in name.split(".")):
        return f"has the host '{host[:60]}', which is no name of a machine"
    return None


def _is_ip(host: str) -> bool:
    try:
        ip_address(host.split("%")[0])
    except ValueError:
        return False
    return True


def _in_ascii(host: str) -> str:
    try:
        return f"; write it as {host.encode('idna').decode()}"
    except UnicodeError:
        return ", and cannot be written so"


def parameters_problem(address: str) -> str | None:
    """Say what keeps a path from being put behind an address."""
    return "holds parameters, behind which no path can stand" if set("?#") & set(address) else None


def header_name_problem(name: str) -> str | None:
    """Say why a header of that name cannot be given."""
    if HEADER.fullmatch(name) is None:
        return "has characters that no header's name can hold" if name else "is empty"
    if name.lower() in CLIENT_HEADERS:
        return "belongs to the exchange itself, and another value breaks it; leave it out"
    if name.lower() == "proxy-authorization":
        return 'belongs to the proxy; write proxy = "http://${USER}:${PASSWORD}@HOST:PORT"'
    return None


def header_problem(name: str, text: str) -> str | None:
    """Say why a header cannot be sent; `text` may still hold placeholders and references."""
    told = header_name_problem(name)
    if told is None and not is_header_value(text):
        return "has characters that no header can hold"
    return told


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names of headers that stand there already in other capitals."""
    seen: set[str] = set()
    found = []
    for name in names:
        if name.lower() in seen:
            found.append(name)
        seen.add(name.lower())
    return found


def is_header_value(value: str) -> bool:
    """Tell whether a header can hold a value as it is."""
    return value.isascii() and value.isprintable() and value == value.strip()
