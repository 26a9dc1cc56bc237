"""Files as they come (compressed, with a byte-order mark, CRLF) and files as we write them."""

import errno
import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    that it leads to is. A file that is replaced keeps who may read and write it. OSError names
    `path` where nothing can be written to it.
    """
    real = target_of(path)
    if path.exists() and not path.is_file():
        with open_to_append(path) as stream:
            write(stream)
        return
    make_folder(real.parent)
    import tempfile  # half a dozen modules that only writing needs

    with _told_of(path):
        handle, name = tempfile.mkstemp(dir=real.parent, prefix=".searchmark-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(_mode_for(real))  # mkstemp makes files that only the owner may read
        with _told_of(path):
            temporary.replace(real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def target_of(path: Path) -> Path:
    """Return the file that writing to `path` makes or replaces, of a link what it leads to.

    OSError where it is a folder, a link that leads to itself, or nothing that could be.
    """
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    except FileNotFoundError:
        pass  # it is made
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    return Path(os.path.realpath(path))  # Path.resolve has an error of its own for a link's circle


def make_folder(path: Path) -> None:
    """Make a folder, and those that it lies in, where they are not there yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except RecursionError:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(path)) from None


def check_writable(path: Path) -> None:
    """Raise the OSError that writing to `path` would raise, before anything long starts.

    A pipe that nobody reads yet passes: its reader may come meanwhile.
    """
    real = target_of(path)
    if path.exists() and not path.is_file():
        with _told_of(path):
            _check_access(path, os.W_OK)
        return
    make_folder(real.parent)
    with _told_of(path):
        _check_access(real.parent, os.W_OK | os.X_OK)


def _check_access(path: Path, wanted: int) -> None:
    if not os.access(path, wanted):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def open_to_append(path: Path) -> IO[bytes]:
    """Open for writing at the end; OSError where it is a pipe that nobody reads.

    To open such a pipe in the usual way is to wait till somebody does, perhaps for ever.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
    try:
        stream = os.fdopen(os.open(path, flags, 0o666), "ab")
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "nobody reads this pipe", str(path)) from None
        raise
    os.set_blocking(stream.fileno(), True)
    return stream


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Have an OSError name what was to be written, not what is written for it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def write_text_atomically(path: Path, text: str) -> None:
    """Write `text` as UTF-8, beside the final name first."""
    write_atomically(path, lambda stream: stream.write(text.encode("utf-8")))


def _mode_for(path: Path) -> int:
    """Return who may read and write a file that is about to be replaced, or made."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
