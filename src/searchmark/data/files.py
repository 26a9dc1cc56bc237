"""Files as they come (compressed, with a byte-order mark, CRLF) and files as we write them."""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, cast

from searchmark.errors import InputError

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
BOM = b"\xef\xbb\xbf"
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


def check_file(path: Path) -> None:
    """Raise one clear error where `path` is not a file that can be read."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise InputError("no such file", path=path, fix="check the path") from None
    except OSError as error:
        raise InputError(f"may not be read ({error.strerror})", path=path) from None
    if stat.S_ISDIR(mode):
        raise InputError("is a folder, not a file", path=path, fix="name a file")
    if not (stat.S_ISREG(mode) or _is_pipe(path)):
        # a device may have no end, and a named pipe no beginning
        raise InputError(
            "is no regular file", path=path, fix="name a file, or a pipe of the shell's: <(COMMAND)"
        )
    if not os.access(path, os.R_OK):
        raise InputError("may not be read", path=path, fix="check its permissions")


def open_bytes(path: Path) -> IO[bytes]:
    """Open `path` for reading bytes, unpacking gzip and zstd by their first bytes, not by name."""
    check_file(path)
    raw = _open_raw(path)
    magic = raw.read(4)
    raw.seek(0)
    if magic.startswith(_GZIP_MAGIC):
        raw.close()
        return cast("IO[bytes]", gzip.open(path if path.is_file() else _open_raw(path), "rb"))
    if magic == _ZSTD_MAGIC:
        from searchmark.data.zstd import ZstdStream  # 5 ms that only packed files need

        return cast("IO[bytes]", io.BufferedReader(ZstdStream(raw), 1 << 18))
    return raw


def _open_raw(path: Path) -> io.BufferedReader | io.BytesIO:
    """Open `path` as it lies on disk; a pipe, which can be read once, is kept in memory."""
    if path.is_file():
        return path.open("rb")
    found = path.stat()
    return io.BytesIO(_drained(path, found.st_dev, found.st_ino))


@lru_cache(maxsize=8)
def _drained(path: Path, _device: int, _node: int) -> bytes:
    return path.read_bytes()


def _is_pipe(path: Path) -> bool:
    """Tell whether this is a pipe that the process was given, such as the shell's ``<(COMMAND)``.

    A pipe that lies in a folder is none: to open it may take for ever.
    """
    name = str(path.absolute())
    is_given = name == "/dev/stdin" or name.startswith(("/dev/fd/", "/proc/"))
    return is_given and path.is_fifo()


def read_bytes(path: Path) -> bytes:
    """Return the whole content, unpacked; a damaged archive is an InputError."""
    with open_bytes(path) as stream:
        try:
            return stream.read()
        except DAMAGED as error:
            raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> InputError:
    """Return the error of an archive that ends early or cannot be unpacked."""
    return InputError(f"the compressed file is damaged ({error})", path=path, fix="copy it anew")


def text_lines(path: Path, *, blank: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text without its line end); blank lines only where asked for."""
    with open_bytes(path) as stream:
        number = 0
        try:
            for number, raw in enumerate(stream, 1):
                line = raw.removeprefix(BOM) if number == 1 else raw
                text = line.rstrip(b"\r\n").decode("utf-8")
                if blank or text.strip():
                    yield number, text
        except UnicodeDecodeError as error:
            raise InputError(
                f"byte {error.object[error.start]:#04x} is not UTF-8",
                path=path,
                line=number,
                fix="save the file as UTF-8",
            ) from error
        except DAMAGED as error:
            raise damaged(path, error) from error


def kind_of(path: Path) -> str:
    """Return the last suffix that is not of a compression: 'jsonl' for corpus.jsonl.gz."""
    suffixes = [s.lower().lstrip(".") for s in path.suffixes]
    while suffixes and suffixes[-1] in {"gz", "zst", "zstd"}:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def sha256(path: Path) -> str:
    """Return the SHA-256 of the file as it lies on disk, in hexadecimal."""
    check_file(path)
    import hashlib  # OpenSSL's start takes longer than reading a small file

    with _open_raw(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write beside the final name and rename, so that a reader never sees half a file.

    What is there and no file (a device, a pipe) is written to, never replaced; of a link the file
    that it leads to is.
    """
    path = path.resolve()
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as stream:
            write(stream)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    import tempfile  # half a dozen modules that only writing needs

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files that only the owner may read
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text_atomically(path: Path, text: str) -> None:
    """Write `text` as UTF-8, beside the final name first."""
    write_atomically(path, lambda stream: stream.write(text.encode("utf-8")))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
