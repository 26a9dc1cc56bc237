"""What makes vectors comparable, and what a caller is told while they are computed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path

from searchmark.retrieval.linear import Precision

Progress = Callable[[int, int], None]
"""Told how many texts of how many are done."""

SCHEME = 1
"""Counts changes of the arithmetic that change vectors; a part of every generation."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What vectors must share to be comparable.

    `revision` is the SHA-256 of the weights, `tokenizer` that of ``tokenizer.json``.
    """

    model: str
    revision: str
    dimension: int
    pooling: str
    normalized: bool
    precision: Precision
    max_length: int
    tokenizer: str

    @property
    def key(self) -> str:
        """All of it as one line of text."""
        form = "normalized" if self.normalized else "raw"
        return (
            f"{self.model}@{self.revision[:16]} {self.dimension}d {self.pooling} {form} "
            f"{self.precision} {self.max_length}t {self.tokenizer[:16]} s{SCHEME}"
        )


def digest_files(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of a file, or of the SHA-256s of several."""
    digests = []
    for path in paths:
        with path.open("rb") as file:
            digests.append(file_digest(file, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else sha256("".join(digests).encode()).hexdigest()
