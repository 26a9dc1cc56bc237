"""The model of a catalog in PostgreSQL: one that runs here, or one behind an endpoint."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from searchmark.errors import OutsideError, SystemFailedError
from searchmark.systems.embedding import (
    CLOCK,
    EndpointConfig,
    EndpointEncoder,
    Patient,
    check_unchanged,
    embedding_stopped,
    endpoint_generation,
    is_alike,
    open_endpoint,
)
from searchmark.systems.jsonapi import PATIENCE_S
from searchmark.systems.models import open_encoder
from searchmark.systems.protocol import Context
from searchmark.systems.retrying import again

if TYPE_CHECKING:
    from searchmark.retrieval.encoders import Encoder
    from searchmark.retrieval.generation import Generation, Progress
    from searchmark.retrieval.postgres.connection import Database
    from searchmark.retrieval.postgres.vectors import Sample
    from searchmark.retrieval.vectors import Floats, VectorCache

_log = logging.getLogger(__name__)

QUERY_RETRIES = 2
"""How often a query's vector is asked for again, where the system's calls are retried at all."""


class ModelConfig(Protocol):
    """What of a configuration says which model is meant."""

    @property
    def model(self) -> str:
        """The name or folder of a model that runs here."""
        ...

    @property
    def precision(self) -> Literal["fp32", "int8"]:
        """Its precision."""
        ...

    @property
    def endpoint(self) -> EndpointConfig | None:
        """The server that is asked instead."""
        ...


@contextmanager
def open_model(
    name: str,
    config: ModelConfig,
    context: Context,
    database: "Database",
    *,
    may_be_away: bool = True,
) -> "Iterator[Encoder]":
    """Open a catalog's model; an endpoint may be away where the catalog has its vectors already.

    Without `may_be_away` it has to answer in any case, and as it did when it made those vectors.
    """
    if config.endpoint is None:
        yield open_encoder(config.model, context.folder, precision=config.precision)
        return
    calls = context.calls
    patient = replace(context, calls=msgspec.structs.replace(calls, timeout_s=None))
    known = _dimension(database, config.endpoint) if may_be_away else None
    with open_endpoint(name, config.endpoint, patient, dimension=known) as encoder:
        retries = min(calls.retries, QUERY_RETRIES)
        limit = (calls.timeout_s or PATIENCE_S) / (2 * (retries + 1))
        reached = Reached(encoder, database, retries=retries, limit_s=limit)
        if not may_be_away:
            reached.recognize()
        yield reached


@contextmanager
def await_model(
    name: str, config: ModelConfig, context: Context, database: "Database", *, stop: Event
) -> "Iterator[Encoder | None]":
    """Open a catalog's model as soon as it answers; give None where `stop` is set before that.

    Who began to embed without it would use up the attempts of all documents that wait.
    """
    from searchmark.retrieval.postgres.worker import waits

    with ExitStack() as stack:
        opened, told = None, False
        for wait in waits():
            try:
                model = open_model(name, config, context, database, may_be_away=False)
                opened = stack.enter_context(model)
                break
            except OutsideError as error:
                if not _may_pass(error):
                    raise
                if not told:
                    _log.warning("%s; trying again", context.secrets.redact(str(error)))
                told = True
            if stop.wait(wait):
                break
        yield opened


def _may_pass(error: OutsideError) -> bool:
    """Tell whether waiting may help: the endpoint is away, or the database is."""
    from searchmark.retrieval.postgres.worker import is_lost

    failure = error if isinstance(error, SystemFailedError) else error.__cause__
    return failure.retry if isinstance(failure, SystemFailedError) else is_lost(error)


def _dimension(database: "Database", endpoint: EndpointConfig) -> int | None:
    """Return the dimension of the catalog's vectors where they are those of this endpoint."""
    from searchmark.retrieval.postgres.generations import current_dimension, current_id, find
    from searchmark.retrieval.postgres.migrating import has_versions

    with database.connection() as connection:
        if not has_versions(connection, database.schema):
            return None
        dimension = current_dimension(connection)
        if dimension is None:
            return None
        own = find(connection, endpoint_generation(endpoint, dimension))
        return dimension if own == current_id(connection) else None


class Reached:
    """A model behind an endpoint, which counts only as long as it is the one of the catalog.

    Before the first call, and after each failure, a text of the catalog is embedded again: what
    comes back may be another model.
    """

    def __init__(
        self, inner: EndpointEncoder, database: "Database", *, retries: int, limit_s: float
    ) -> None:
        """Take the encoder; `limit_s` and `retries` are for queries, whose users wait."""
        wire = replace(inner.api.wire, timeout_s=limit_s)
        self.inner, self._database, self._retries = inner, database, retries
        self._quick = replace(inner, api=replace(inner.api, wire=wire))
        self._lock, self._is_known = Lock(), False
        self._sample: Sample | None = None

    @property
    def generation(self) -> "Generation":
        """The encoder's generation."""
        return self.inner.generation

    def encode(self, texts: Sequence[str], *, progress: "Progress | None" = None) -> "Floats":
        """Return one vector a text; see `Encoder.encode`."""
        return self._asked(self.inner, lambda: self.inner.encode(texts, progress=progress))

    def encode_queries(self, texts: Sequence[str]) -> "Floats":
        """Return one vector a query, or fail well within the time of a search."""

        def ask() -> "Floats":
            return self._asked(self._quick, lambda: self._quick.encode(texts))

        return again(ask, self._retries, CLOCK)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return what the encoder says."""
        return self.inner.count_truncated(texts)

    def recognize(self) -> None:
        """Raise SystemFailedError where the endpoint is away, or is another model."""
        self._recognize(self.inner)

    def _asked(self, encoder: EndpointEncoder, ask: "Callable[[], Floats]") -> "Floats":
        try:
            if not self._is_known:
                self._recognize(encoder)
            return ask()
        except SystemFailedError as error:
            if error.retry:
                self._is_known = False
            raise

    def _recognize(self, encoder: EndpointEncoder) -> None:
        sample = self._stored()
        if sample is not None:
            vector = encoder.encode([sample.text])[0]
            if not is_alike(sample.vector, vector):
                raise SystemFailedError(
                    f"the model '{self.inner.config.model}' gives other vectors than those that "
                    "the catalog was embedded by; set another endpoint.revision, and embed it anew",
                    retry=True,
                )
        self._is_known = True

    def _stored(self) -> "Sample | None":
        """Return a text of the catalog with its vector; None while it has none."""
        from searchmark.retrieval.postgres.vectors import read_sample

        with self._lock:
            if self._sample is None:
                with self._database.connection() as connection:
                    self._sample = read_sample(connection, self.generation)
            return self._sample


@dataclass(slots=True, eq=False)
class Filling:
    """A model whose vectors are kept in a file, for a catalog that is embedded from the beginning.

    Where an endpoint fails, every other text would fail, too: `stop` is set.
    """

    name: str
    encoder: "Encoder"
    cache: "VectorCache"
    stop: Event
    failure: SystemFailedError | None = None

    @property
    def generation(self) -> "Generation":
        """The encoder's generation."""
        return self.encoder.generation

    def check(self) -> None:
        """Refuse kept vectors that are not those of the endpoint's model; OutsideError without."""
        if isinstance(self.encoder, Reached):
            try:
                check_unchanged(self.cache, self.encoder.inner)
            except SystemFailedError as error:
                raise embedding_stopped(self.name, error) from error

    def encode(self, texts: Sequence[str], *, progress: "Progress | None" = None) -> "Floats":
        """Return one vector a text; see `Encoder.encode`."""
        from searchmark.retrieval.vectors import encode_cached

        if not isinstance(self.encoder, Reached):
            return encode_cached(self.cache, self.encoder, texts, progress=progress)
        inner = self.encoder.inner
        try:
            most = inner.config.batch
            return encode_cached(self.cache, Patient(inner), texts, most=most, progress=progress)
        except SystemFailedError as error:
            self.failure = error
            self.stop.set()
            raise

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return what the encoder says."""
        return self.encoder.count_truncated(texts)

    def tell(self) -> None:
        """Raise what stopped the work."""
        if self.failure is not None:
            raise embedding_stopped(self.name, self.failure) from self.failure
