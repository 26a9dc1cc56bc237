"""Cases about what is left when a system is closed: threads, connections, processes."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from searchmark.errors import SystemFailedError
from searchmark.testing.answering import answer_of, ask
from searchmark.testing.failing import LIMIT_S
from searchmark.testing.plan import FAILURES, Behaviour, Plan
from searchmark.testing.subject import Subject, kind_of, opened, pooled

PATIENCE_S = 10.0
"""How long what was closed may take to go away."""


def leaves_nothing_open_after(subject: Subject, behaviour: Behaviour) -> None:
    """Check that a failure leaves nothing open behind it either."""
    _leaves_nothing(subject, behaviour)


def leaves_nothing_open(subject: Subject) -> None:
    """Check that a closed system leaves no threads, sockets or children."""
    _leaves_nothing(subject, None)


def _leaves_nothing(subject: Subject, behaviour: Behaviour | None) -> None:
    subject.behave(Plan(Behaviour.ANSWERS))
    use(subject, behaviour)  # what libraries start once and keep is no leak
    before = held()
    for _ in range(2):
        use(subject, behaviour)
    left = _left(before)
    assert not left, (
        "everything that a system opens is closed when its context manager ends, but after two "
        f"rounds there is more than before: {', '.join(sorted(left))}"
    )


def use(subject: Subject, behaviour: Behaviour | None) -> None:
    """Open, ask three times, meet the failure if there is one, and close."""
    is_timeout = behaviour is not None and FAILURES[behaviour].is_timeout
    limits = {"timeout_s": LIMIT_S} if is_timeout else {}
    way = pooled if is_timeout and not kind_of(subject).keeps_time else opened
    with way(subject, **limits) as system:
        if behaviour is None:
            for _ in range(3):
                answer_of(system)
            return
        subject.behave(Plan(behaviour))
        with suppress(SystemFailedError):
            _ask_whatever_comes(system, behaviour)
        subject.behave(Plan(Behaviour.ANSWERS))


def _ask_whatever_comes(system: object, behaviour: Behaviour) -> None:
    try:
        ask(system)  # type: ignore[arg-type]
    except SystemFailedError:
        raise
    except Exception as error:  # other cases tell of it
        raise SystemFailedError(f"{behaviour}: {error}") from error


def held() -> dict[str, int]:
    """Count the threads, open sockets and pipes, and child processes of this process."""
    counts = {"threads": threading.active_count()}
    with suppress(OSError):
        counts["sockets and pipes"] = sum(1 for _ in _descriptors())
        counts["child processes"] = len(_children())
    return counts


def _left(before: dict[str, int]) -> set[str]:
    end = monotonic() + PATIENCE_S
    while True:
        now = held()
        left = {f"{now[k]} {k}, not {before[k]}" for k in before if now[k] > before[k]}
        if not left or monotonic() > end:
            return left
        sleep(0.05)


def _descriptors() -> Iterator[str]:
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            target = str(path.readlink())
            if target.startswith(("socket:", "pipe:")):
                yield target


def _children() -> set[str]:
    found: set[str] = set()
    for path in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            found |= set((path / "children").read_text().split())
    return found
