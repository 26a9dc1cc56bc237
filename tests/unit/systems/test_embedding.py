"""Whether an endpoint's model is still the one that made what is kept."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from searchmark.data.corpus import Corpus
from searchmark.errors import InputError, SystemFailedError
from searchmark.retrieval.postgres.vectors import Sample
from searchmark.retrieval.vectors import VectorCache, digest_text
from searchmark.systems import embedding
from searchmark.systems.catalog_encoder import Reached
from searchmark.systems.embedding import (
    PROBE,
    EndpointConfig,
    EndpointEncoder,
    Floats,
    check_unchanged,
    is_alike,
    open_endpoint,
)
from searchmark.systems.protocol import Context
from searchmark.web.dense import Arriving

KEPT = [1.0, 0.0]

CASES = [
    (KEPT, True),
    ([0.9991, 0.0424], True),  # by rounding, or on another machine
    ([0.9989, 0.0469], False),
    ([0.0, 1.0], False),
    ([-1.0, 0.0], False),
    ([nan, 0.0], False),
    ([1.0, nan], False),
    ([0.0, 0.0], False),
]
"""What one text's vector is now, and whether it may be that of the model which gave (1, 0)."""


def vector(values: Sequence[float]) -> Floats:
    return np.array(values, np.float32)


@contextmanager
def encoder_of(
    values: Sequence[float], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[EndpointEncoder]:
    """Open an endpoint that gives this one vector, whatever the text; nobody is asked."""

    def ask(_api: object, _config: object, texts: list[str], _dimension: int = 0) -> Floats:
        return np.stack([vector(values)] * len(texts))

    monkeypatch.setattr(embedding, "ask_vectors", ask)

    def nothing(_: str) -> Any:
        raise AssertionError

    config = EndpointConfig(url="http://127.0.0.1:1/v1", model="m")
    context = Context(Corpus.__new__(Corpus), folder, folder, nothing)
    with open_endpoint("dense", config, context) as encoder:
        yield encoder


@pytest.mark.parametrize(("now", "same"), CASES)
def test_vectors_are_of_one_model_or_not(now: list[float], same: bool) -> None:
    assert is_alike(vector(KEPT), vector(now)) is same
    assert is_alike(vector(now), vector(KEPT)) is same


@pytest.mark.parametrize(("now", "same"), CASES)
def test_kept_vectors_are_refused_where_the_model_is_another(
    now: list[float], same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        encoder_of(now, tmp_path, monkeypatch) as encoder,
        VectorCache(tmp_path / "vectors") as cache,
    ):
        cache.put(encoder.generation, {digest_text(PROBE): vector(KEPT)})
        if same:
            check_unchanged(cache, encoder)
        else:
            with pytest.raises(InputError, match="gives other vectors than those that are kept"):
                check_unchanged(cache, encoder)


@pytest.mark.parametrize(("now", "same"), CASES)
def test_a_catalog_is_not_searched_by_another_model(
    now: list[float], same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with encoder_of(now, tmp_path, monkeypatch) as encoder:
        reached = Reached(encoder, None, retries=0, limit_s=1.0)  # type: ignore[arg-type]
        reached._sample = Sample("gold", vector(KEPT))
        if same:
            assert reached.encode(["rain"]).tolist() == [vector(now).tolist()]
        else:
            with pytest.raises(SystemFailedError, match="than those that the catalog was embedded"):
                reached.encode(["rain"])


@pytest.mark.parametrize(("now", "same"), CASES)
def test_a_service_does_not_go_on_with_another_model(
    now: list[float], same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with encoder_of(now, tmp_path, monkeypatch) as encoder:
        arriving = Arriving()
        arriving.inner, arriving.sample = encoder, vector(KEPT)
        if same:
            arriving.probe()
        else:
            with pytest.raises(SystemFailedError, match="than those that the catalog was embedded"):
                arriving.probe()
