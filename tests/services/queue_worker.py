"""A worker as a process of its own, with a cheap model that hangs, fails or kills on demand."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Event

import numpy as np
from numpy.typing import NDArray

from searchmark.retrieval.generation import Generation, Progress


class Letters:
    """Counts of letters as a vector of length 1; `on` is called with the texts of each call.

    `shift` moves the letters along: another model, whose vectors are not comparable.
    """

    def __init__(
        self, shift: int = 0, on: Callable[[Sequence[str]], object] = lambda texts: None
    ) -> None:
        self.shift, self.on = shift, on
        self.asked: list[str] = []

    @property
    def generation(self) -> Generation:
        name = f"letters-{self.shift}"
        digest = sha256(name.encode()).hexdigest()
        return Generation(name, digest, 26, "sum", True, "fp32", 1000, digest)

    def encode(
        self, texts: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        self.on(texts)
        self.asked += texts
        rows = np.zeros((len(texts), 26), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for letter in text.lower():
                if "a" <= letter <= "z":
                    row[(ord(letter) - ord("a") + self.shift) % 26] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)

    def count_truncated(self, texts: Sequence[str]) -> int:
        return 0


def main() -> None:
    from searchmark.retrieval.postgres.connection import Database
    from searchmark.retrieval.postgres.worker import Pace, work

    parser = argparse.ArgumentParser()
    parser.add_argument("dsn")
    parser.add_argument("schema")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lease", type=float, default=120.0)
    parser.add_argument("--nap", type=float, default=0.0)
    parser.add_argument("--hang", type=Path, help="write this file at the first batch, then sleep")
    parser.add_argument("--dies-of", help="a text with this word ends the process with -9")
    parser.add_argument("--drain", action="store_true")
    given = parser.parse_args()
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    def on(texts: Sequence[str]) -> None:
        if given.dies_of and any(given.dies_of in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        if given.hang is not None:
            given.hang.write_text("at it")
            time.sleep(60)
        time.sleep(given.nap)

    with Database(given.dsn, given.schema, most=4) as database:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        pace = Pace(given.batch, given.lease, poll_s=0.02, drain=given.drain)
        work(database, Letters(on=on), stop=stop, pace=pace)


if __name__ == "__main__":
    main()
