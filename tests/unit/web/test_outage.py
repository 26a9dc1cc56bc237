from collections.abc import Callable
from threading import Event, Thread

import pytest

from searchmark.errors import InputError, OutsideError, SystemFailedError
from searchmark.web.outage import Outage


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class OperationalError(Exception):
    """As psycopg's is called."""


class LostError(OperationalError):
    pass


class DataError(Exception):
    pass


def stated(state: str) -> OperationalError:
    error = OperationalError()
    error.sqlstate = state  # type: ignore[attr-defined]
    return error


def failing(error: Exception, cause: Exception | None = None) -> Callable[[], int]:
    def call() -> int:
        raise error from cause

    return call


def well() -> int:
    return 7


def never() -> int:
    raise AssertionError("it was asked")


@pytest.mark.parametrize(
    "cause", [None, OperationalError(), LostError(), stated("57P03"), stated("53300")]
)
def test_one_looks_a_second_later_and_the_others_fail_at_once(cause: Exception | None) -> None:
    clock = Clock()
    outage = Outage(clock)
    assert outage.call(well) == 7
    with pytest.raises(OutsideError, match="gone"):
        outage.call(failing(OutsideError("gone"), cause))
    clock.now = 0.9
    with pytest.raises(OutsideError, match="gone"):
        outage.call(never)
    clock.now = 1.0
    with pytest.raises(OutsideError, match="still gone"):
        outage.call(failing(OutsideError("still gone"), cause))
    clock.now = 1.9
    with pytest.raises(OutsideError, match="still gone"):
        outage.call(never)
    clock.now = 2.0
    assert outage.call(well) == 7
    assert outage.call(well) == 7


def test_while_one_looks_nobody_else_does() -> None:
    clock, looking, gate = Clock(), Event(), Event()
    outage = Outage(clock)
    with pytest.raises(OutsideError):
        outage.call(failing(OutsideError("gone")))
    clock.now = 1.0

    def slow() -> int:
        looking.set()
        gate.wait(20)
        return 7

    found: list[int] = []
    thread = Thread(target=lambda: found.append(outage.call(slow)))
    thread.start()
    assert looking.wait(20)
    with pytest.raises(OutsideError, match="gone"):
        outage.call(never)
    gate.set()
    thread.join()
    assert found == [7]
    assert outage.call(well) == 7


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (InputError("a wrong filter"), None),
        (SystemFailedError("its encoder failed"), None),
        (OutsideError("a number out of range"), DataError()),
        (OutsideError("it took too long"), stated("57014")),
        (ValueError("a fault of our own"), None),
    ],
)
def test_what_is_one_requests_own_concern_stops_nobody(
    error: Exception, cause: Exception | None
) -> None:
    outage = Outage(Clock())
    with pytest.raises(type(error)):
        outage.call(failing(error, cause))
    assert outage.call(well) == 7
