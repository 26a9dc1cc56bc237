"""Where the next page begins, written so that only what was given out is taken back."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from hashlib import sha256
from typing import NamedTuple

import msgspec

MAC_BYTES = 16


class Position(NamedTuple):
    """Where a page begins: an offset, or the id of the document before it.

    `is_lexical` says that the pages before it were found by words alone.
    """

    at: int | str
    is_lexical: bool = False


class Cursors:
    """Writes cursors and reads its own; any other is None.

    A cursor belongs to the request it continues (`scope`, all parameters but limit and cursor) and
    to this key.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def write(self, position: Position, scope: str) -> str:
        """Return the cursor of a position."""
        payload = msgspec.json.encode(position)
        return urlsafe_b64encode(self._mac(payload, scope) + payload).decode().rstrip("=")

    def read(self, cursor: str, scope: str) -> Position | None:
        """Return the position that a cursor stands for."""
        try:
            raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        except (Error, ValueError):
            return None
        mac, payload = raw[:MAC_BYTES], raw[MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(payload, scope)):
            return None
        position = msgspec.json.decode(payload, type=Position)
        return position if self.write(position, scope) == cursor else None

    def _mac(self, payload: bytes, scope: str) -> bytes:
        return hmac.digest(self._key, payload + b"\0" + scope.encode(), sha256)[:MAC_BYTES]
