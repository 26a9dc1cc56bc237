"""Vectors that were computed before, kept in one SQLite file by model and text."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError, OutsideError
from searchmark.retrieval.encoders import Encoder
from searchmark.retrieval.generation import Generation, Progress

Floats = NDArray[np.float32]

WAIT = 60.0
"""How many seconds to wait for another process that is writing."""

PIECE_CHARACTERS = 32_000
"""About a second of work: what a killed process loses at most (a longer text is a piece alone)."""

PIECE_TEXTS = 512
"""Most texts that are computed before they are written."""

_VERSION = 1
_QUERY = 500  # SQLite takes at least 999 parameters

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS generations (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS vectors (
    generation INTEGER NOT NULL REFERENCES generations (id),
    text BLOB NOT NULL,
    vector BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (generation, text)
);
PRAGMA user_version = {_VERSION};
COMMIT;
"""


class VectorCache:
    """A file of vectors; a context manager. Several processes may use one file at once.

    A vector belongs to a generation (`Generation.key`) and the SHA-256 of a text; those of another
    generation are never returned. A vector whose bytes do not fit its checksum counts as absent.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        with _told(self.path):
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
            tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if version == 0 and tables == 0:
                # readers and one writer at a time; what is committed survives a killed process
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.executescript(_SCHEMA)
            elif version != _VERSION:
                raise InputError(
                    "this is no embedding cache of this version",
                    path=self.path,
                    fix="delete the file or choose another",
                )
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def get(self, generation: Generation, digests: Sequence[bytes]) -> dict[bytes, Floats]:
        """Return the vectors that are there, by the digest of their text."""
        found: dict[bytes, Floats] = {}
        with _told(self.path):
            for start in range(0, len(digests), _QUERY):
                part = digests[start : start + _QUERY]
                rows = self._connection.execute(
                    "SELECT text, vector, checksum FROM vectors"
                    " JOIN generations ON generations.id = vectors.generation"
                    f" WHERE key = ? AND text IN ({','.join('?' * len(part))})",
                    (generation.key, *part),
                )
                for text, vector, checksum in rows:
                    if _is_whole(vector, checksum, generation.dimension):
                        found[text] = np.frombuffer(vector, "<f4").astype(np.float32, copy=False)
        return found

    def put(self, generation: Generation, vectors: Mapping[bytes, Floats]) -> None:
        """Keep vectors; all of them are on disk when this returns, or none."""
        blobs = [(d, np.asarray(v, "<f4").tobytes()) for d, v in vectors.items()]
        with _told(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute(
                    "INSERT OR IGNORE INTO generations (key) VALUES (?)", (generation.key,)
                )
                self._connection.executemany(
                    "INSERT OR REPLACE INTO vectors SELECT id, ?, ?, ? FROM generations"
                    " WHERE key = ?",
                    [(digest, blob, crc32(blob), generation.key) for digest, blob in blobs],
                )
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> "VectorCache":
        """Return the open cache."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()


def digest_text(text: str) -> bytes:
    """Return the SHA-256 that a text is found by."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def encode_cached(
    cache: VectorCache,
    encoder: Encoder,
    texts: Sequence[str],
    *,
    most: int | None = None,
    progress: Progress | None = None,
) -> Floats:
    """Return one vector a text, computing only those that are not in the cache.

    Parameters
    ----------
    cache
        Where vectors are looked up, and kept as soon as a piece of the work is done.
    encoder
        The model.
    texts
        In any order; equal ones are computed once.
    most
        How many texts are computed at most before they are kept; 512 without it.
    progress
        Told how many of the texts that had to be computed are done, first of all with 0; not
        called when there are none.

    Returns
    -------
    Vectors in the order of `texts`, shape (n_texts, dimension), the same bytes whether they come
    from the cache or not.
    """
    digests = [digest_text(text) for text in texts]
    unique = dict(zip(digests, texts, strict=True))
    known = cache.get(encoder.generation, list(unique))
    missing = {digest: text for digest, text in unique.items() if digest not in known}
    if missing and progress is not None:
        progress(0, len(missing))
    done = 0
    for piece in _pieces(missing, most or PIECE_TEXTS):
        vectors = encoder.encode(list(piece.values()))
        made = dict(zip(piece, vectors, strict=True))
        cache.put(encoder.generation, made)
        known |= made
        done += len(piece)
        if progress is not None:
            progress(done, len(missing))
    found = np.empty((len(texts), encoder.generation.dimension), np.float32)
    for place, digest in enumerate(digests):
        found[place] = known[digest]
    return found


def _is_whole(vector: object, checksum: object, dimension: int) -> bool:
    return isinstance(vector, bytes) and len(vector) == 4 * dimension and crc32(vector) == checksum


def _pieces(texts: Mapping[bytes, str], most: int) -> Iterator[dict[bytes, str]]:
    """Cut the work into pieces of texts of similar length, longest first."""
    piece: dict[bytes, str] = {}
    size = 0
    for digest, text in sorted(texts.items(), key=lambda item: -len(item[1])):
        if piece and (size + len(text) > PIECE_CHARACTERS or len(piece) == most):
            yield piece
            piece, size = {}, 0
        piece[digest] = text
        size += len(text)
    if piece:
        yield piece


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system say into one sentence."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise OutsideError(
            f"{path}: the embedding cache cannot be used ({error}); "
            "see whether another run holds it, the disk is full, or the folder may be written to"
        ) from None
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"the embedding cache is damaged ({error})",
            path=path,
            fix="delete the file; its vectors will be computed again",
        ) from None
