import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from searchmark.errors import InputError, OutsideError
from searchmark.retrieval import vectors
from searchmark.retrieval.generation import Generation, Progress
from searchmark.retrieval.vectors import VectorCache, digest_text, encode_cached

GENERATION = Generation("fake", "a" * 64, 3, "mean", True, "fp32", 8, "b" * 64)


class Fake:
    """A model that counts what it is asked: a text's vector is made of its length and letters."""

    def __init__(self, generation: Generation = GENERATION) -> None:
        self.generation = generation
        self.asked: list[str] = []

    def encode(
        self, texts: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([vector(text) for text in texts], np.float32).reshape(len(texts), 3)

    def count_truncated(self, texts: Sequence[str]) -> int:
        return 0


def vector(text: str) -> list[float]:
    return [len(text) / 3, sum(map(ord, text)) / 7, 0.1]


def expected(texts: Sequence[str]) -> bytes:
    return np.array([vector(text) for text in texts], np.float32).tobytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made" / "embeddings.sqlite"


def test_equal_texts_are_computed_once_and_order_is_kept(path: Path) -> None:
    model, texts = Fake(), ["b", "aaa", "b", "", "aaa", "Ω"]
    with VectorCache(path) as cache:
        found = encode_cached(cache, model, texts)
    assert found.tobytes() == expected(texts)
    assert sorted(model.asked) == ["", "aaa", "b", "Ω"]


def test_what_is_there_is_not_computed(path: Path) -> None:
    with VectorCache(path) as cache:
        first = encode_cached(cache, Fake(), ["a", "bb"])
    model = Fake()
    with VectorCache(path) as cache:
        again = encode_cached(cache, model, ["bb", "ccc", "a"])
    assert model.asked == ["ccc"]
    assert again[[2, 0]].tobytes() == first.tobytes()


def test_no_texts(path: Path) -> None:
    with VectorCache(path) as cache:
        assert encode_cached(cache, Fake(), []).shape == (0, 3)


@pytest.mark.parametrize(
    "other",
    [
        replace(GENERATION, precision="int8"),
        replace(GENERATION, revision="c" * 64),
        replace(GENERATION, model="another"),
    ],
)
def test_vectors_of_another_generation_are_never_returned(path: Path, other: Generation) -> None:
    with VectorCache(path) as cache:
        encode_cached(cache, Fake(), ["a"])
        model = Fake(other)
        encode_cached(cache, model, ["a"])
        assert model.asked == ["a"]
        # and they do not replace each other
        assert len(cache.get(GENERATION, [digest_text("a")])) == 1
        assert len(cache.get(other, [digest_text("a")])) == 1


@pytest.mark.parametrize(
    "damage", ["substr(vector, 1, 8)", "zeroblob(12)", "x''", "'twelve chars'"]
)
def test_a_damaged_vector_is_computed_again(path: Path, damage: str) -> None:
    with VectorCache(path) as cache:
        encode_cached(cache, Fake(), ["a", "b"])
    raw = sqlite3.connect(path)
    raw.execute(f"UPDATE vectors SET vector = {damage} WHERE text = ?", (digest_text("a"),))
    raw.commit()
    raw.close()
    model = Fake()
    with VectorCache(path) as cache:
        found = encode_cached(cache, model, ["a", "b"])
        assert model.asked == ["a"]
        assert found.tobytes() == expected(["a", "b"])
        # the good one has been kept in its place
        encode_cached(cache, model, ["a", "b"])
        assert model.asked == ["a"]


def test_a_file_of_something_else_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all, but long enough to look at " * 50)
    with pytest.raises(InputError, match=r"damaged.*delete the file") as caught:
        VectorCache(path)
    assert str(path) in str(caught.value)


def test_another_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE mine (a)")
    raw.commit()
    with pytest.raises(InputError, match="no embedding cache of this version"):
        VectorCache(path)
    assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
    raw.close()


def test_a_file_cut_in_the_middle_is_refused(path: Path) -> None:
    texts = [f"text {i}" for i in range(2000)]
    with VectorCache(path) as cache:
        encode_cached(cache, Fake(), texts)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(size // 2)
    with pytest.raises(InputError, match="damaged"), VectorCache(path) as cache:
        encode_cached(cache, Fake(), texts)


def test_a_folder_in_the_file_s_place(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(OutsideError, match="cannot be used"):
        VectorCache(path)


def test_a_file_where_the_folder_should_be(path: Path) -> None:
    path.parent.write_text("")
    with pytest.raises(OutsideError, match="cannot be used"):
        VectorCache(path)


def test_a_writer_that_never_ends(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "WAIT", 0.05)
    VectorCache(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with VectorCache(path) as cache, pytest.raises(OutsideError, match="locked"):
        encode_cached(cache, Fake(), ["a"])
    other.execute("ROLLBACK")
    other.close()


def test_progress_counts_what_has_to_be_computed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "PIECE_TEXTS", 2)
    told: list[tuple[int, int]] = []
    with VectorCache(path) as cache:
        encode_cached(cache, Fake(), ["a"])
        texts = ["a", "b", "c", "d", "b"]
        encode_cached(cache, Fake(), texts, progress=lambda *now: told.append(now))
        assert told == [(0, 3), (2, 3), (3, 3)]
        encode_cached(cache, Fake(), texts, progress=lambda *now: told.append(now))
        assert len(told) == 3


def test_pieces_are_bounded_by_characters(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "PIECE_CHARACTERS", 10)
    told: list[tuple[int, int]] = []
    with VectorCache(path) as cache:
        texts = ["a" * 4, "b" * 30, "c" * 4, "d" * 3]
        encode_cached(cache, Fake(), texts, progress=lambda *now: told.append(now))
    # longest first: 30 alone, 4 + 4, then 3
    assert told == [(0, 4), (1, 4), (3, 4), (4, 4)]


def test_more_texts_than_one_query_can_name(path: Path) -> None:
    texts = [f"text {i}" for i in range(1203)]
    model = Fake()
    with VectorCache(path) as cache:
        encode_cached(cache, model, texts)
        again = encode_cached(cache, model, texts)
    assert len(model.asked) == 1203
    assert again.tobytes() == expected(texts)


def test_halves_of_surrogate_pairs_have_a_digest() -> None:
    assert digest_text("\ud83d") != digest_text("\ud83e")


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import test_vectors as t
from searchmark.retrieval import vectors

class Dying(t.Fake):
    def encode(self, texts, *, progress=None):
        if len(self.asked) == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(texts)

vectors.PIECE_TEXTS = 2
with t.VectorCache(Path({path!r})) as cache:
    t.encode_cached(cache, Dying(), [str(i) for i in range(10)])
"""


def test_a_killed_process_loses_one_piece(path: Path) -> None:
    code = KILLED.format(tests=str(Path(__file__).parent), path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr.decode()
    model, texts = Fake(), [str(i) for i in range(10)]
    with VectorCache(path) as cache:
        found = encode_cached(cache, model, texts)
    # three pieces of two were written; the fourth was being computed
    assert model.asked == ["6", "7", "8", "9"]
    assert found.tobytes() == expected(texts)


SHARED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import test_vectors as t
from searchmark.retrieval import vectors

vectors.PIECE_TEXTS = 3
texts = [str(i) for i in range({first}, {first} + 60)]
with t.VectorCache(Path({path!r})) as cache:
    assert t.encode_cached(cache, t.Fake(), texts).tobytes() == t.expected(texts)
"""


def test_processes_share_a_file(path: Path) -> None:
    tests = str(Path(__file__).parent)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SHARED.format(tests=tests, path=str(path), first=first)],
            stderr=subprocess.PIPE,
        )
        for first in (0, 20, 40)
    ]
    for process in running:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said.decode()
    model, texts = Fake(), [str(i) for i in range(100)]
    with VectorCache(path) as cache:
        assert encode_cached(cache, model, texts).tobytes() == expected(texts)
    assert model.asked == []
