"""The body of a reply, piece by piece, so that nobody holds more of it than is wanted."""

import zlib
from collections.abc import Iterator

from urllib3 import BaseHTTPResponse

from searchmark.errors import SystemFailedError

CHUNK = 65_536


def raw(response: BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the body as it comes."""
    while piece := response.read(CHUNK, decode_content=False):
        yield piece


def unpacked(pieces: Iterator[bytes], shown: str) -> Iterator[bytes]:
    """Yield what is packed, never more than `CHUNK` at once, however little it came from."""
    engine = zlib.decompressobj(16 + zlib.MAX_WBITS)
    is_begun = False
    try:
        for piece in pieces:
            rest = piece
            while rest:
                if engine.eof:  # a gzip file may be several, one behind the other
                    engine = zlib.decompressobj(16 + zlib.MAX_WBITS)
                is_begun = True
                yield engine.decompress(rest, CHUNK)
                rest = engine.unused_data if engine.eof else engine.unconsumed_tail
        while not engine.eof and (piece := engine.decompress(b"", CHUNK)):
            yield piece
    except zlib.error as error:
        raise SystemFailedError(f"{shown} answered with damaged gzip ({error})") from error
    if is_begun and not engine.eof:
        raise SystemFailedError(f"{shown} answered with gzip that breaks off")
