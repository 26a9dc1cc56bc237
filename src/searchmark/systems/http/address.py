"""What an address and a header may be, whichever adapter sends them."""

from urllib.parse import urlsplit


def address_problem(address: str, *, instead: str = 'basic = "${USER}:${PASSWORD}"') -> str | None:
    """Say why nothing can be sent to an address; `instead` is the key that a user belongs to."""
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        return "is no http:// or https:// address with a host"
    if "@" in parts.netloc:
        return f"holds a user; write {instead} instead"
    return None


def parameters_problem(address: str) -> str | None:
    """Say what keeps a path from being put behind an address."""
    return "holds parameters, behind which no path can stand" if set("?#") & set(address) else None


def is_header_value(value: str) -> bool:
    """Tell whether a header can hold a value as it is."""
    return value.isascii() and value.isprintable() and value == value.strip()
