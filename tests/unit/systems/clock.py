"""Time that passes only where somebody waits."""

from threading import Event

from searchmark.systems.pacing import Clock


class Time:
    """A clock that moves only when somebody waits; draws are the longest possible."""

    def __init__(self) -> None:
        self.at = 100.0
        self.waits: list[float] = []

    def wait(self, _: Event, seconds: float) -> bool:
        self.waits.append(seconds)
        self.at += seconds
        return False

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.at, wait=self.wait, uniform=lambda low, high: high)
