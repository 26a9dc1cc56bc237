"""How far long work has come: a bar on a terminal, now and then a line in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from searchmark.cli.output import say

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from searchmark.systems.protocol import Progress

EVERY_S = 30.0
"""Seconds between two lines in a pipe, and before the first: what is quick says nothing."""


@contextmanager
def progress_bar() -> "Iterator[Progress]":
    """Give a bar on standard error where that is a terminal, else a line every half a minute."""
    if not sys.stderr.isatty():
        yield progress_lines(say)
        return
    with _bars() as bars:
        tasks: dict[str, TaskID] = {}

        def told(what: str, done: int, total: int) -> None:
            if what not in tasks:  # what was kept from an earlier attempt makes no rate
                tasks[what] = bars.add_task(what, total=total, completed=done)
            bars.update(tasks[what], completed=done, total=total)

        yield told


def _bars() -> "Bars":
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else rate_text(task.speed), style="progress.data")

    return Bars(
        *Bars.get_default_columns()[:3],
        Rate(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


class _Begun(NamedTuple):
    """When work began, how much was done then, and when it was last told of."""

    at: float
    done: int
    told: float


def progress_lines(
    tell: Callable[[str], object], *, now: Callable[[], float] = monotonic
) -> "Progress":
    """Return what tells how far work has come, at most every `EVERY_S` seconds."""
    begun: dict[str, _Begun] = {}

    def told(what: str, done: int, total: int) -> None:
        at = now()
        start = begun.setdefault(what, _Begun(at, done, at))
        if at - start.told < EVERY_S or done >= total:
            return
        begun[what] = start._replace(told=at)
        rate = (done - start.done) / (at - start.at)
        left = f", about {time_text((total - done) / rate)} left" if rate > 0 else ""
        tell(f"{what}: {done:,} of {total:,}, {rate_text(rate)}{left}")

    return told


def rate_text(per_s: float) -> str:
    """Return a rate with as many decimals as tell something: 0.04/s, 3.2/s, 1,250/s."""
    digits = 2 if per_s < 1 else 1 if per_s < 100 else 0
    return f"{per_s:,.{digits}f}/s"


def time_text(seconds: float) -> str:
    """Return a duration in its two greatest units: 12 s, 3 min 20 s, 1 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
