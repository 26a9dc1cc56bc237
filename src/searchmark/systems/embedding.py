"""Embedding models behind an HTTP endpoint of the kind that OpenAI made usual."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError, OutsideError, Problem, SystemFailedError
from searchmark.retrieval.generation import Generation, Progress
from searchmark.retrieval.models import DEFAULT_MODEL
from searchmark.retrieval.vectors import VectorCache, digest_text
from searchmark.systems.jsonapi import JsonApi, api_problems, open_api, shown_url
from searchmark.systems.pacing import Clock
from searchmark.systems.protocol import Context
from searchmark.systems.retrying import again
from searchmark.systems.selection import kind_of

Floats = NDArray[np.float32]

PATH = "/embeddings"

PROBE = "A text that is embedded again at every start, to see that the model is still the same."

ALIKE = 0.999
"""Least cosine of one text's two vectors for the model to count as the same: rounding differs."""

RETRIES = 3
"""How often a batch of the corpus is asked for again where waiting may help."""

CLOCK = Clock()


class EndpointConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of `endpoint`.

    `url` is the API's address, to which ``/embeddings`` is added, `model` what the server calls the
    model, `key` a bearer token as ``${NAME}``. `batch` texts are sent at once. `dimensions` asks a
    model that can for shorter vectors. Another `revision` starts anew with the kept vectors.
    `max_bytes` is the longest answer that is read.
    """

    url: str
    model: str
    key: str | None = None
    batch: int = 64
    dimensions: int | None = None
    revision: str = ""
    max_bytes: int = 50_000_000


@dataclass(frozen=True, slots=True, eq=False)
class EndpointEncoder:
    """Asks for vectors batch by batch, and normalizes them."""

    generation: Generation
    api: JsonApi
    config: EndpointConfig

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Floats:
        """Return one vector a text; see `Encoder.encode`."""
        vectors = np.zeros((len(texts), self.generation.dimension), np.float32)
        rows = [i for i, text in enumerate(texts) if text.strip()]
        for start in range(0, len(rows), self.config.batch):
            batch = rows[start : start + self.config.batch]
            vectors[batch] = self._asked([texts[i] for i in batch])
            if progress is not None:
                progress(len(texts) - len(rows) + start + len(batch), len(texts))
        return vectors

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return 0: servers refuse what is too long, or do not tell."""
        return 0

    def _asked(self, texts: list[str]) -> Floats:
        return ask_vectors(self.api, self.config, texts, self.generation.dimension)


@dataclass(frozen=True, slots=True, eq=False)
class Patient:
    """The same encoder for long work: a failed batch is asked for again where that may help."""

    inner: EndpointEncoder

    @property
    def generation(self) -> Generation:
        """The encoder's generation."""
        return self.inner.generation

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Floats:
        """Return one vector a text."""
        return again(lambda: self.inner.encode(texts, progress=progress), RETRIES, CLOCK)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return what the encoder says."""
        return self.inner.count_truncated(texts)


@contextmanager
def open_endpoint(
    name: str, config: EndpointConfig, context: Context, *, dimension: int | None = None
) -> Iterator[EndpointEncoder]:
    """Ask for one vector, to learn the dimension, and give the encoder.

    With the `dimension` of vectors that are kept, one that is away is no reason not to begin.
    """
    with open_api(config, PATH, context, table="endpoint") as api:
        try:
            found = again(lambda: ask_vectors(api, config, [PROBE]), RETRIES, CLOCK).shape[1]
        except SystemFailedError as error:
            if dimension is None or not error.retry:
                raise OutsideError(f"system '{name}' has no embeddings: {error}") from error
            found = dimension
        yield EndpointEncoder(endpoint_generation(config, found), api, config)


def endpoint_generation(config: EndpointConfig, dimension: int) -> Generation:
    """Return what the vectors of an endpoint's model are comparable by."""
    facts = (config.url, config.model, config.dimensions, config.revision)
    return Generation(
        model=f"{config.model} at {shown_url(config.url, PATH)}",
        revision=sha256(msgspec.json.encode(facts)).hexdigest(),
        dimension=dimension,
        pooling="own",
        normalized=True,
        precision="fp32",
        max_length=0,
        tokenizer="own",
    )


def check_unchanged(cache: VectorCache, encoder: EndpointEncoder) -> None:
    """Refuse kept vectors where the endpoint's model gives others now; nothing else tells."""
    digest = digest_text(PROBE)
    now = again(lambda: encoder.encode([PROBE]), RETRIES, CLOCK)[0]
    kept = cache.get(encoder.generation, [digest]).get(digest)
    if kept is None:
        cache.put(encoder.generation, {digest: now})
    elif not is_alike(kept, now):
        raise InputError(
            f"the model '{encoder.config.model}' gives other vectors than those that are kept "
            f"(cosine {float(np.dot(kept, now)):.3f} for the same text), so it has changed",
            fix="set another endpoint.revision, and the corpus is embedded anew",
        )


def is_alike(kept: Floats, now: Floats) -> bool:
    """Tell whether two vectors of one text, of length 1, may be of one model; NaN is of none."""
    return float(np.dot(kept, now)) >= ALIKE


def embedding_stopped(name: str, error: SystemFailedError) -> OutsideError:
    """Return what is told where an endpoint failed in the middle of a corpus."""
    return OutsideError(
        f"system '{name}': embedding the corpus stopped: {error}; what was embedded is "
        "kept, and the same command goes on from there"
    )


def ask_vectors(
    api: JsonApi, config: EndpointConfig, texts: list[str], dimension: int | None = None
) -> Floats:
    """Return the normalized vectors of a batch, whatever order they come in."""
    body: dict[str, Any] = {"model": config.model, "input": texts, "encoding_format": "float"}
    if config.dimensions is not None:
        body["dimensions"] = config.dimensions
    found = api.post(body).document
    data = found.get("data") if isinstance(found, dict) else None
    if not isinstance(data, list):
        raise SystemFailedError(f"{api.request.shown} answered without a list 'data' of vectors")
    if len(data) != len(texts):
        told = f"{len(data)} vectors came for {len(texts)} texts"
        raise SystemFailedError(f"{api.request.shown}: {told}")
    rows = [_floats(item, i, api.request.shown) for i, item in enumerate(_in_order(data, api))]
    wanted = dimension or config.dimensions or len(rows[0])
    for row in rows:
        if len(row) != wanted:
            raise SystemFailedError(
                f"{api.request.shown}: a vector of {len(row)} dimensions came where {wanted} are "
                "expected"
            )
    try:
        vectors = np.array(rows, np.float64)
    except OverflowError as error:  # of whole numbers, which JSON may hold of any length
        told = f"{api.request.shown}: a vector holds a number that is too large"
        raise SystemFailedError(told) from error
    return _normalized(vectors, api.request.shown)


def _in_order(data: list[Any], api: JsonApi) -> list[Any]:
    """Put the vectors in the order of their `index`; without any they are in the texts' order."""
    given = [item.get("index") if isinstance(item, dict) else None for item in data]
    if all(place is None for place in given):
        return data
    item_at = {p: i for p, i in zip(given, data, strict=True) if type(p) is int}
    if set(item_at) != set(range(len(data))):
        shown = ", ".join(str(p)[:10] for p in given[:8])
        raise SystemFailedError(
            f"{api.request.shown}: the vectors' index is not 0 to {len(data) - 1}, each once: "
            f"{shown}"
        )
    return [item_at[place] for place in range(len(data))]


def _floats(item: Any, place: int, shown: str) -> list[float]:
    values = item.get("embedding") if isinstance(item, dict) else None
    if not isinstance(values, list) or not values:
        raise SystemFailedError(
            f"{shown}: vector {place} is {kind_of(values)}, where a list of numbers is expected"
        )
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SystemFailedError(f"{shown}: vector {place} holds {kind_of(value)}, no number")
    return values


def _normalized(vectors: NDArray[np.float64], shown: str) -> Floats:
    with np.errstate(over="ignore"):  # told below
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise SystemFailedError(f"{shown}: a vector holds what is no finite number")
    if not lengths.all():
        raise SystemFailedError(f"{shown}: a text that is not empty got a vector of zeros")
    unit: Floats = (vectors / lengths).astype(np.float32)
    return unit


def endpoint_problems(config: EndpointConfig) -> list[Problem]:
    """Report an endpoint that cannot be one."""
    found = api_problems(config, table="endpoint")
    if not 1 <= config.batch <= 2048:
        found.append(Problem("endpoint.batch", f"{config.batch} is not from 1 to 2,048"))
    if config.dimensions is not None and config.dimensions < 1:
        found.append(Problem("endpoint.dimensions", f"{config.dimensions} is not 1 or more"))
    if not config.model:
        found.append(Problem("endpoint.model", "names no model"))
    return found


def beside_endpoint_problems(model: str, precision: str) -> list[Problem]:
    """Report what says of a model here what the endpoint's server decides."""
    if model == DEFAULT_MODEL and precision == "fp32":
        return []
    key = "model" if model != DEFAULT_MODEL else "precision"
    return [Problem(key, "has no use beside an endpoint, which runs a model itself")]
