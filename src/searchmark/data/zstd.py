"""Files packed with zstd."""

import io
from typing import IO, Any

import zstandard


class ZstdStream(io.RawIOBase):
    """Unpacks zstd frames one after the other and notices a cut file (zstandard does not)."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._inside = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """Tell that this stream is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` as far as there is something; 0 at the end."""
        while not self._ready:
            packed = (self._frame.unused_data if self._frame.eof else b"") or self._raw.read(
                1 << 17
            )
            if not packed:
                if self._inside and not self._frame.eof:
                    raise EOFError("it ends in the middle")
                return 0
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._inside = True
            try:
                self._ready = memoryview(self._frame.decompress(packed))
            except zstandard.ZstdError as error:
                raise EOFError(str(error)) from error
        n = min(len(buffer), len(self._ready))
        buffer[:n], self._ready = self._ready[:n], self._ready[n:]
        return n

    def close(self) -> None:
        """Close the file underneath."""
        self._raw.close()
        super().close()
