"""The encoder of the dense arm as a service needs it: asked once a text, given up when it fails.

After a failure it is not asked for every request: a thread of its own asks until it answers again,
and searches go by words meanwhile. A failure that may be the text's own fault is no reason to stop
before that thread has found the encoder failing too.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread, local
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import SystemFailedError, failure_text
from searchmark.retrieval.encoders import Encoder, encode_query
from searchmark.retrieval.generation import Generation, Progress
from searchmark.web.threads import Threads

if TYPE_CHECKING:
    from concurrent.futures import Future

_log = logging.getLogger(__name__)

Floats = NDArray[np.float32]

PROBE = "is the encoder there"

WAIT_S = 2.0
"""How long a search waits for its query's vector."""

FIRST_PAUSE_S, PAUSE_S = 0.1, 1.0
"""How long a failing encoder is left alone, at first and in the long run."""

N_PROBES = 4
"""So many probes may hang at a time before the next one has to wait for one of them."""

KEPT = 2000
"""So many queries' vectors are kept, the latest ones."""


class Call(local):
    """What the guard is told, and tells, about the search that runs in a thread."""

    by_words_alone: bool = False
    why: str = ""
    vector: Floats | None = None


class GuardedEncoder:
    """An encoder whose queries are guarded; texts of documents go straight to it."""

    def __init__(
        self,
        inner: Encoder,
        *,
        n: int = 8,
        wait_s: float = WAIT_S,
        kept: int = KEPT,
        probe: Callable[[], object] | None = None,
    ) -> None:
        """Guard an encoder; `probe` raises while it is away, without one a text is encoded."""
        self._inner, self._wait_s, self._kept_most = inner, wait_s, kept
        self._ask_again = probe or self._encode_probe
        self._threads = Threads(n, "encoder")
        self._probes = Threads(N_PROBES, "probes")  # not behind searches that hang
        self._lock, self._closed, self._call = Lock(), Event(), Call()
        self._kept: OrderedDict[str, Future[Floats]] = OrderedDict()
        self._why = ""
        self._is_probing = False

    @property
    def generation(self) -> Generation:
        """The encoder's generation."""
        return self._inner.generation

    @property
    def why(self) -> str:
        """Why the encoder is not asked at present; empty where it is."""
        return self._why

    @property
    def vector(self) -> Floats | None:
        """What the latest query of this thread was given; None where it got no vector."""
        return self._call.vector

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Floats:
        """Return the vectors of documents' texts; see `Encoder.encode`."""
        return self._inner.encode(texts, progress=progress)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return what the encoder says."""
        return self._inner.count_truncated(texts)

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of queries; SystemFailedError at once while the encoder rests."""
        return np.stack([self._vector(text) for text in texts])

    @contextmanager
    def call(self, *, by_words_alone: bool = False) -> "Iterator[Call]":
        """Watch the search inside: its `why` tells afterwards whether a vector was missing."""
        self._call.by_words_alone, self._call.why = by_words_alone, ""
        try:
            yield self._call
        finally:
            self._call.by_words_alone = False

    def close(self) -> None:
        """Ask no more."""
        self._closed.set()
        self._threads.close()
        self._probes.close()

    def _vector(self, text: str) -> Floats:
        self._call.vector = None
        try:
            if self._call.by_words_alone:
                raise SystemFailedError("the pages before this one were found by words alone")
            self._call.vector = self._asked(text)
            return self._call.vector
        except Exception as error:
            self._call.why = failure_text(error)
            raise

    def _asked(self, text: str) -> Floats:
        future = self._future(text)
        try:
            return future.result(self._wait_s)
        except Exception as error:
            self._drop(text, future)
            raise self._noticed(error) from None

    def _future(self, text: str) -> "Future[Floats]":
        """Return the vector that is kept, or asked for by somebody, or will be asked for now."""
        with self._lock:
            future = self._kept.get(text)
            if future is not None:
                self._kept.move_to_end(text)
                return future
            if self._why:
                raise SystemFailedError(self._why)
            future = self._threads.submit(lambda: encode_query(self._inner, text))
            self._kept[text] = future
            if len(self._kept) > self._kept_most:
                self._kept.popitem(last=False)
            return future

    def _drop(self, text: str, future: "Future[Floats]") -> None:
        with self._lock:
            future.cancel()
            if self._kept.get(text) is future:
                del self._kept[text]

    def _noticed(self, error: Exception) -> SystemFailedError:
        """Return the failure to tell; from here on nobody else may run into it."""
        if isinstance(error, SystemFailedError):
            why, is_certain = str(error), error.retry
        elif isinstance(error, TimeoutError):
            why, is_certain = f"no vector within {self._wait_s:g} s", True
        else:
            why, is_certain = failure_text(error), True
        with self._lock:
            if is_certain:
                self._rest(why)
            if not self._is_probing and not self._closed.is_set():
                self._is_probing = True
                Thread(target=self._probe, name="searchmark-probe", daemon=True).start()
        return SystemFailedError(why)

    def _encode_probe(self) -> object:
        return encode_query(self._inner, PROBE)

    def _rest(self, why: str) -> None:
        if not self._why:
            _log.warning("the dense arm failed, answers are partial: %s", why)
        self._why = why

    def _probe(self) -> None:
        """Ask until there is an answer."""
        pause = FIRST_PAUSE_S
        while not self._closed.is_set():
            future = self._probes.submit(self._ask_again)
            try:
                future.result(self._wait_s)
            except Exception as error:
                future.cancel()
                with self._lock:
                    self._rest(failure_text(error))
                self._closed.wait(pause)
                pause = min(PAUSE_S, 2 * pause)
                continue
            break
        with self._lock:
            self._is_probing = False
            if self._why:
                _log.warning("the dense arm is back")
            self._why = ""
