import os
import subprocess
import sys

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.retrieval.dense import DenseIndex


def unit(*vectors: list[float]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.array(vectors, np.float32)


def index() -> DenseIndex:
    """Document 2 has texts 0 and 3, document 0 text 1, document 1 none, document 3 text 2."""
    vectors = unit([1, 0], [0.6, 0.8], [0, -1], [0, 1])
    return DenseIndex(vectors, np.array([2, 0, 3, 2]), 4)


def test_the_best_text_counts() -> None:
    found = index().scores(unit([0.8, 0.6])[0])
    # document 0: .48 + .48; document 2: max(.8, .6); document 3: -.6
    assert found.rows.tolist() == [0, 2, 3]
    assert found.scores.tolist() == [0.96, 0.8, -0.6]
    assert (found.rows.dtype, found.scores.dtype) == (np.int64, np.float64)


def test_which_text_won() -> None:
    assert index().best_text(unit([0.8, 0.6])[0], 2) == 0
    assert index().best_text(unit([0.6, 0.8])[0], 2) == 3
    assert index().best_text(unit([0.6, 0.8])[0], 0) == 1
    assert index().best_text(unit([0.6, 0.8])[0], 1) is None
    assert index().best_text(unit([0.6, 0.8])[0], 9) is None


def test_the_first_of_equal_texts_wins() -> None:
    twice = DenseIndex(unit([0, 1], [1, 0], [1, 0]), np.array([0, 0, 0]), 1)
    assert twice.best_text(unit([1, 0])[0], 0) == 1


def test_only_allowed_documents_are_found() -> None:
    found = index().scores(unit([0.8, 0.6])[0], np.array([False, True, True, True]))
    assert found.rows.tolist() == [2, 3]
    assert found.scores.tolist() == [0.8, -0.6]


def test_cosines_closer_than_arithmetic_can_tell_are_ties() -> None:
    near = DenseIndex(unit([0.5, 0.0], [0.5 + 2e-7, 0.0]), np.array([0, 1]), 2)
    first, second = near.scores(unit([1, 0])[0]).scores.tolist()
    assert first == second == 0.5


def test_there_is_one_zero() -> None:
    found = DenseIndex(unit([-1e-9, 1]), np.array([0]), 1).scores(unit([1, 0])[0])
    assert found.scores.tobytes() == np.zeros(1).tobytes()


def test_empty_texts_and_queries_find_nothing() -> None:
    some = DenseIndex(unit([0, 0], [1, 0], [0, 0]), np.array([0, 1, 1]), 2)
    assert some.scores(unit([-1, 0])[0]).rows.tolist() == [1]
    # the empty text of document 1 would be nearer than the one it has
    assert some.scores(unit([-1, 0])[0]).scores.tolist() == [-1.0]
    assert some.best_text(unit([-1, 0])[0], 0) is None
    assert some.scores(unit([0, 0])[0]).rows.tolist() == []


def test_a_corpus_without_texts() -> None:
    none = DenseIndex(np.empty((0, 2), np.float32), np.empty(0, np.int64), 3)
    assert none.scores(unit([1, 0])[0]).rows.tolist() == []
    assert none.best_text(unit([1, 0])[0], 0) is None


def test_what_does_not_fit_is_refused() -> None:
    one = unit([1, 0])
    with pytest.raises(InputError, match="for 2 texts"):
        DenseIndex(one, np.array([0, 1]), 2)
    with pytest.raises(InputError, match="none of the 1 documents"):
        DenseIndex(one, np.array([1]), 1)
    with pytest.raises(InputError, match="none of the 1 documents"):
        DenseIndex(one, np.array([-1]), 1)
    with pytest.raises(InputError, match="not finite"):
        DenseIndex(unit([np.nan, 0]), np.array([0]), 1)
    with pytest.raises(InputError, match="2 dimensions"):
        index().scores(unit([1, 0, 0])[0])
    with pytest.raises(InputError, match="1 flags for 4 documents"):
        index().scores(one[0], np.array([True]))


def test_against_doubles() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(60, 48))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    owner = rng.integers(0, 20, 60)
    found = DenseIndex(vectors.astype(np.float32), owner, 20).scores(vectors[7].astype(np.float32))
    cosines = vectors @ vectors[7]
    expected = {row: cosines[owner == row].max() for row in sorted(set(owner.tolist()))}
    assert found.rows.tolist() == list(expected)
    np.testing.assert_allclose(found.scores, list(expected.values()), atol=1e-6)


def test_the_number_of_threads_changes_no_bit() -> None:
    code = (
        "import hashlib, numpy as np\n"
        "from searchmark.retrieval import dense\n"
        "dense.DECIMALS = 12\n"  # rounding must not be what makes them equal
        "v = np.random.default_rng(0).standard_normal((20_003, 384), np.float32)\n"
        "v /= np.linalg.norm(v, axis=1, keepdims=True)\n"
        "index = dense.DenseIndex(v, np.arange(len(v)), len(v))\n"
        "print(hashlib.sha256(index.scores(v[5]).scores.tobytes()).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(digests) == 1
