"""Which entries of a catalog are asked for: those with the smallest hashes under a seed.

The choice depends on ids alone: pages may come in any order, and an entry that comes into the
catalog or leaves it changes the sample by one entry at most.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import nsmallest
from typing import Any, NamedTuple


class Listed(NamedTuple):
    """One entry of the catalog, as the API lists it."""

    doc_id: str
    document: Any


@dataclass(frozen=True, slots=True)
class Sample:
    """The entries to ask for, in the order of their hashes, and what they were taken from.

    `n_repeated` entries came more than once, as where a catalog changes while it is listed.
    """

    entries: tuple[Listed, ...]
    n_catalog: int
    n_repeated: int
    catalog_sha256: str

    @property
    def sha256(self) -> str:
        """The digest of the ids that were sampled."""
        return digest_of_ids([e.doc_id for e in self.entries])


def draw(entries: Iterable[Listed], size: int, seed: int) -> Sample:
    """Return the sample of a listing, which is read once and not kept."""
    seen: set[str] = set()
    n_listed = 0

    def once() -> Iterator[Listed]:
        nonlocal n_listed
        for entry in entries:
            n_listed += 1
            if entry.doc_id not in seen:
                seen.add(entry.doc_id)
                yield entry

    chosen = nsmallest(size, once(), key=lambda entry: key_of(entry.doc_id, seed))
    return Sample(tuple(chosen), len(seen), n_listed - len(seen), digest_of_ids(list(seen)))


def key_of(doc_id: str, seed: int) -> bytes:
    """Return what the sample is ordered by."""
    return sha256(f"{seed}\n{doc_id}".encode("utf-8", "surrogatepass")).digest()


def digest_of_ids(doc_ids: Sequence[str]) -> str:
    """Return a digest that tells sets of ids apart, in whatever order they come."""
    digest = sha256()
    for doc_id in sorted(doc_ids):
        raw = doc_id.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)  # no two sets have the same bytes
    return digest.hexdigest()
