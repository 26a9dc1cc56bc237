"""The real model: known cosines, bits that depend on the text alone, int8 near fp32."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.retrieval.dense import DenseIndex
from searchmark.retrieval.encoders import Encoder, load_encoder
from searchmark.retrieval.linear import Precision
from searchmark.retrieval.synthetic import synthetic_queries

RAIN = "is it going to rain tomorrow"
WEATHER = "Real-time weather forecast and precipitation data for any city"

Load = Callable[..., Encoder]


@pytest.fixture(scope="module")
def load() -> Load:
    """Open the model, each precision and number of threads once."""
    opened: dict[tuple[str, int], Encoder] = {}

    def open_once(precision: Precision = "fp32", threads: int = 2) -> Encoder:
        if (precision, threads) not in opened:
            opened[precision, threads] = load_encoder(precision=precision, threads=threads)
        return opened[precision, threads]

    try:
        open_once()
    except InputError:
        if os.environ.get("SEARCHMARK_REQUIRE_ALL") == "1":
            raise
        pytest.skip("the model's package is not installed")
    return open_once


@pytest.fixture(scope="module")
def texts(shared: Path) -> list[str]:
    """Real texts of 1 to more than 256 tokens."""
    movies = shared / "data" / "movies"
    cranfield = shared / "data" / "cranfield" / "corpus.jsonl"
    queries = [row["text"] for row in rows(movies / "queries.jsonl")[:150]]
    documents = [row["text"] for row in rows(movies / "corpus.jsonl")[:25]]
    long = sorted((row["text"] for row in rows(cranfield)), key=len)[-3:]
    return [*queries, *documents, *long, "x", "rain", WEATHER]


def rows(path: Path) -> list[dict[str, str]]:
    lines = path.read_bytes().splitlines()
    return [msgspec.json.decode(line) for line in lines if line.strip()]


def test_known_cosine(load: Load) -> None:
    # what the published model gives, computed elsewhere with its own library
    rain, weather = load().encode([RAIN, WEATHER])
    assert float(rain @ weather) == pytest.approx(0.3982, abs=1e-4)


def test_generation(load: Load) -> None:
    generation = load().generation
    assert generation.model == "all-MiniLM-L6-v2"
    assert generation.revision.startswith("53aa5117")
    assert (generation.dimension, generation.pooling, generation.max_length) == (384, "mean", 256)
    assert generation.key != load("int8").generation.key


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_vector_depends_on_its_text_alone(
    load: Load, texts: list[str], precision: Precision
) -> None:
    together = load(precision).encode(texts)
    alone = np.concatenate([load(precision).encode([text]) for text in texts])
    order = list(range(len(texts)))
    random.Random(5).shuffle(order)
    shuffled = load(precision, 3).encode([texts[i] for i in order])
    one_thread = load(precision, 1).encode(texts)
    assert alone.tobytes() == together.tobytes()
    assert shuffled.tobytes() == together[order].tobytes()
    assert one_thread.tobytes() == together.tobytes()


def test_integers_stay_near_floats(load: Load, texts: list[str]) -> None:
    cosines = (load("int8").encode(texts) * load().encode(texts)).sum(axis=1)
    assert cosines.mean() >= 0.997
    assert np.quantile(cosines, 0.01) >= 0.995


def test_lengths_are_one_and_long_texts_are_counted(load: Load, texts: list[str]) -> None:
    vectors = load().encode(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    # "x" is one token and the model adds two
    assert load().count_truncated(["x " * 254, "x " * 255, "x"]) == 1
    assert load().count_truncated(texts) == 3  # the three long ones of Cranfield


def test_what_is_cut_off_does_not_count(load: Load) -> None:
    long, cut = load().encode(["x " * 400, "x " * 254])
    assert long.tobytes() == cut.tobytes()


def test_published_figures_of_a_catalog(load: Load, shared: Path) -> None:
    """The dense arm of the system that the catalog comes from: nDCG@10 0.980654, RR 0.866667."""
    folder = shared / "data" / "x402-catalog"
    documents, queries = rows(folder / "corpus.jsonl"), rows(folder / "queries.jsonl")
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query_id, doc_id, grade = line.split("\t")
        grades.setdefault(query_id, {})[doc_id] = int(grade)
    index = catalog_index(load(), documents)
    ndcg, reciprocal = [], []
    for query in queries:
        found = index.scores(load().encode([query["text"]])[0])
        order = found.rows[np.argsort(-found.scores, kind="stable")]
        judged = grades.get(query["_id"], {})
        given = np.array([judged.get(documents[row]["_id"], 0) for row in order])
        best = np.array(sorted(judged.values(), reverse=True), np.int64)
        ndcg.append(dcg(given) / dcg(best) if best.any() else 1.0)
        reciprocal.append(1 / (1 + int(np.argmax(given > 0))) if given.any() else 0.0)
    assert np.mean(ndcg) == pytest.approx(0.980654, abs=5e-7)
    assert np.mean(reciprocal) == pytest.approx(0.866667, abs=5e-7)


def catalog_index(encoder: Encoder, documents: list[dict[str, str]]) -> DenseIndex:
    texts, owner = [], []
    for row, document in enumerate(documents):
        name, description = document.get("serviceName"), document.get("description")
        tags = list(document.get("tags") or [])
        made = [" ".join([name or "", description or "", *tags])]
        made += synthetic_queries(name, description, tags)
        texts += made
        owner += [row] * len(made)
    return DenseIndex(encoder.encode(texts), np.array(owner), len(documents))


def dcg(grades: NDArray[np.int64]) -> float:
    top = grades[:10]
    return float(((2.0**top - 1) / np.log2(np.arange(2, len(top) + 2))).sum())
