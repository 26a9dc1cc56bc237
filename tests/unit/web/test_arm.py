"""The guard before the encoder: what is asked, what is kept, when it gives up and comes back."""

import logging
from collections.abc import Callable, Sequence
from threading import Event, Thread
from time import monotonic, sleep

import numpy as np
import pytest
from numpy.typing import NDArray

from searchmark.errors import SystemFailedError
from searchmark.retrieval.encoders import encode_query
from searchmark.retrieval.generation import Generation, Progress
from searchmark.web.arm import PROBE, GuardedEncoder

Floats = NDArray[np.float32]


class Encoder:
    """Gives the length of a text as its vector; `fail` may raise, or wait."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fail: Callable[[str], None] = lambda text: None

    @property
    def generation(self) -> Generation:
        return Generation("m", "r", 1, "mean", True, "fp32", 9, "t")

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Floats:
        for text in texts:
            self.asked.append(text)
            self.fail(text)
        return np.array([[len(text)] for text in texts], np.float32)

    def count_truncated(self, texts: Sequence[str]) -> int:
        return 0


def refuse(text: str) -> None:
    raise SystemFailedError("connection refused", retry=True)


def wait_for(gate: Event) -> None:
    gate.wait(20)


def wait_until(holds: Callable[[], bool]) -> None:
    end = monotonic() + 30
    while not holds():
        assert monotonic() < end
        sleep(0.01)


@pytest.fixture
def encoder() -> Encoder:
    return Encoder()


@pytest.fixture
def guard(encoder: Encoder) -> GuardedEncoder:
    return GuardedEncoder(encoder, n=2, wait_s=20, kept=2)


def test_a_text_is_asked_for_once(encoder: Encoder, guard: GuardedEncoder) -> None:
    assert encode_query(guard, "abc").tolist() == [3]
    assert encode_query(guard, "abc").tolist() == [3]
    assert encoder.asked == ["abc"]
    encode_query(guard, "de")
    encode_query(guard, "abc")  # used again, so "de" is the oldest
    encode_query(guard, "f")
    encode_query(guard, "abc")
    assert encoder.asked == ["abc", "de", "f"]
    encode_query(guard, "de")
    assert encoder.asked[-1] == "de"


def test_two_that_ask_for_one_text_at_once_share_it(
    encoder: Encoder, guard: GuardedEncoder
) -> None:
    gate = Event()
    encoder.fail = lambda text: (gate.wait(20), None)[1]
    found: list[Floats] = []
    threads = [Thread(target=lambda: found.append(encode_query(guard, "abc"))) for _ in range(5)]
    for thread in threads:
        thread.start()
    wait_until(lambda: encoder.asked == ["abc"])
    gate.set()
    for thread in threads:
        thread.join()
    assert [v.tolist() for v in found] == [[3]] * 5
    assert encoder.asked == ["abc"]


def test_a_failing_encoder_is_left_alone_till_it_answers(
    encoder: Encoder, guard: GuardedEncoder, caplog: pytest.LogCaptureFixture
) -> None:
    encode_query(guard, "kept")
    encoder.fail = refuse
    with guard.call() as call, pytest.raises(SystemFailedError, match="connection refused"):
        encode_query(guard, "abc")
    assert call.why == "connection refused"
    for i in range(50):
        with pytest.raises(SystemFailedError, match="connection refused"):
            encode_query(guard, f"text {i}")
    assert [t for t in encoder.asked if t != PROBE] == ["kept", "abc"]
    assert guard.why == "connection refused"
    assert encode_query(guard, "kept").tolist() == [4]  # what is there needs no encoder

    encoder.fail = lambda text: None
    wait_until(lambda: not guard.why)
    assert encode_query(guard, "abc").tolist() == [3]
    told = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert told == [
        "the dense arm failed, answers are partial: connection refused",
        "the dense arm is back",
    ]


def test_a_hanging_encoder_is_waited_for_once(encoder: Encoder) -> None:
    guard, gate = GuardedEncoder(encoder, n=1, wait_s=0.05), Event()
    encoder.fail = lambda text: (gate.wait(20), None)[1]
    with pytest.raises(SystemFailedError, match=r"no vector within 0\.05 s"):
        encode_query(guard, "abc")
    with pytest.raises(SystemFailedError, match=r"no vector within 0\.05 s"):
        encode_query(guard, "de")
    assert "de" not in encoder.asked
    gate.set()
    wait_until(lambda: not guard.why)
    assert encode_query(guard, "de").tolist() == [2]


def test_a_text_that_is_refused_itself_stops_nobody(
    encoder: Encoder, guard: GuardedEncoder
) -> None:
    def too_long(text: str) -> None:
        if text == "long":
            raise SystemFailedError("status 400: too long")

    encoder.fail = too_long
    for _ in range(3):
        with pytest.raises(SystemFailedError, match="too long"):
            encode_query(guard, "long")
        assert encode_query(guard, f"short {len(encoder.asked)}").any()
    wait_until(lambda: PROBE in encoder.asked)
    assert guard.why == ""


def test_a_refusal_of_everything_is_found_out(encoder: Encoder, guard: GuardedEncoder) -> None:
    def forbidden(text: str) -> None:
        raise SystemFailedError("status 401")

    encoder.fail = forbidden
    with pytest.raises(SystemFailedError, match="status 401"):
        encode_query(guard, "abc")
    wait_until(lambda: guard.why == "status 401")


def test_words_alone_when_that_is_asked_for(encoder: Encoder, guard: GuardedEncoder) -> None:
    with (
        guard.call(by_words_alone=True) as call,
        pytest.raises(SystemFailedError, match="by words alone"),
    ):
        encode_query(guard, "abc")
    assert call.why and encoder.asked == [] and guard.why == ""
    with guard.call() as call:
        encode_query(guard, "abc")
    assert call.why == ""


def test_documents_go_straight_to_the_encoder(encoder: Encoder, guard: GuardedEncoder) -> None:
    assert guard.encode(["a", "bc"]).tolist() == [[1], [2]]
    assert guard.count_truncated(["a"]) == 0
    assert guard.generation.model == "m"
