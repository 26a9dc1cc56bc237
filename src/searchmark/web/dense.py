"""The dense arm of the embedded index: its encoder is guarded, and may come later than the rest."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from threading import Event, Thread, local

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import OutsideError, SearchmarkError, SystemFailedError, described
from searchmark.retrieval.encoders import Encoder, encode_query
from searchmark.retrieval.generation import Generation, Progress
from searchmark.systems.dense import Config, DenseSystem, open_dense
from searchmark.systems.embedding import EndpointEncoder, is_alike
from searchmark.systems.protocol import Answer, Context, Query
from searchmark.web.arm import PROBE, GuardedEncoder

_log = logging.getLogger(__name__)

Floats = NDArray[np.float32]

FIRST_PAUSE_S, PAUSE_S = 1.0, 30.0
"""Between two attempts to open an endpoint that was away, at first and in the long run."""

UNKNOWN = Generation("", "", 0, "", True, "fp32", 0, "")
"""What is known of a model that has not answered yet."""


class Arriving:
    """An encoder that fails until it is there, and when it is another one than it was."""

    def __init__(self) -> None:
        self.inner: Encoder | None = None
        self.sample: Floats | None = None
        self.why = ""

    @property
    def generation(self) -> Generation:
        """The encoder's generation, where it is known."""
        return UNKNOWN if self.inner is None else self.inner.generation

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Floats:
        """Return what the encoder gives."""
        return self._there().encode(texts, progress=progress)

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Return what the encoder gives for queries."""
        return np.stack([encode_query(self._there(), text) for text in texts])

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return what the encoder says."""
        return self._there().count_truncated(texts)

    def probe(self) -> None:
        """Raise SystemFailedError unless the encoder is there, and still gives the same vectors."""
        vector = encode_query(self._there(), PROBE)
        if self.sample is not None and not is_alike(self.sample, vector):
            raise SystemFailedError(
                "the endpoint's model gives other vectors than those that the catalog was embedded "
                "by; set another endpoint.revision and start anew",
                retry=True,
            )

    def _there(self) -> Encoder:
        if self.inner is None:
            raise SystemFailedError(self.why, retry=True)
        return self.inner


class Nearest(local):
    """What the latest search of a thread found, and the vector that it compared with."""

    found: frozenset[str] = frozenset()
    vector: Floats | None = None


class DenseArm:
    """A dense system of a project, which fails as long as its encoder has not arrived."""

    tags: frozenset[str] = frozenset({"vector"})
    identity: Mapping[str, str] = {}

    def __init__(self, name: str) -> None:
        self.name, self.encoder = name, Arriving()
        self.guard = GuardedEncoder(self.encoder, probe=self.encoder.probe)
        self._system: DenseSystem | None = None
        self._latest = Nearest()

    def arrive(self, system: DenseSystem) -> None:
        """Search by this system from now on."""
        if isinstance(system.encoder, EndpointEncoder):  # what is here does not change
            self.encoder.sample = encode_query(system.encoder, PROBE)
        self._system = replace(system, encoder=self.guard)
        self.encoder.inner = system.encoder

    def miss(self, why: str) -> None:
        """Note why there is no encoder."""
        self.encoder.why = why
        with suppress(SystemFailedError):  # the guard tells of it, and looks for it from here on
            encode_query(self.guard, PROBE)

    def search(self, query: Query, k: int) -> Answer:
        """Return the best `k` documents; SystemFailedError without an encoder."""
        system = self._system
        self._latest.found, self._latest.vector = frozenset(), None
        if system is None:
            encode_query(self.guard, query.text)  # fails, and so the guard knows of the search
            raise SystemFailedError(self.encoder.why)
        answer = system.search(query, k)
        self._latest.found = frozenset(hit.doc_id for hit in answer.hits)
        self._latest.vector = self.guard.vector
        return answer

    def best_text(self, doc_id: str, row: int) -> str | None:
        """Return the text by which a document came into what this thread's latest search found."""
        system, vector = self._system, self._latest.vector
        if system is None or vector is None or doc_id not in self._latest.found:
            return None
        place = system.index.best_text(vector, row)
        return None if place is None else system.texts[place]

    @property
    def n_vectors(self) -> int:
        """How many texts of the corpus can be compared with a query."""
        return 0 if self._system is None else self._system.index.n_texts

    @property
    def generation(self) -> str:
        """What the vectors were made by; empty where that is not known."""
        return "" if self._system is None else self.encoder.generation.key


@contextmanager
def open_arm(name: str, config: Config, context: Context) -> Iterator[DenseArm]:
    """Embed the corpus; where the endpoint is away, begin without, and look for it meanwhile."""
    arm = DenseArm(name)
    with ExitStack() as stack:
        stack.callback(arm.guard.close)
        try:
            arm.arrive(stack.enter_context(_opened(name, config, context)))
        except OutsideError as error:
            if not _may_come(error):
                raise
            arm.miss(str(error))
            closed = Event()
            stack.callback(closed.set)
            given = (arm, config, replace(context, progress=None), closed)
            Thread(target=_look, args=given, name="searchmark-arriving", daemon=True).start()
        yield arm


@contextmanager
def _opened(name: str, config: Config, context: Context) -> Iterator[DenseSystem]:
    with open_dense(name, config, context) as system:
        assert isinstance(system, DenseSystem)
        yield system


def _may_come(error: OutsideError) -> bool:
    """Tell whether the endpoint is away, and not refusing: a wrong key is no matter of time."""
    cause = error if isinstance(error, SystemFailedError) else error.__cause__
    return isinstance(cause, SystemFailedError) and cause.retry


def _look(arm: DenseArm, config: Config, context: Context, closed: Event) -> None:
    """Open the endpoint again and again until it answers, then keep it until the end."""
    pause = FIRST_PAUSE_S
    while not closed.wait(pause):
        pause = min(PAUSE_S, 2 * pause)
        try:
            with _opened(arm.name, config, context) as system:
                arm.arrive(system)
                closed.wait()
                return
        except Exception as error:
            why = str(error) if isinstance(error, SearchmarkError) else described(error)
            if not isinstance(error, OutsideError) and why != arm.encoder.why:
                _log.warning("the dense arm cannot come back: %s", why)
            arm.encoder.why = why
