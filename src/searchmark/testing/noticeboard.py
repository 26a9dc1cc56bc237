"""A folder in which an engine without HTTP finds what to do, and notes what it was asked.

For engines that are a function or a program: the test writes a plan, the engine's side reads it at
every query, be it in this process or in another one. Standard library only.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from time import monotonic, sleep

from searchmark.testing.plan import Behaviour, Plan

LONGEST_S = 60.0
"""How long `wait` lasts where nobody ends it."""


class Noticeboard:
    """Both sides of the folder: `behave` and `received` for the test, the rest for the engine."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not self._pointer.exists():
            self.behave(Plan(Behaviour.ANSWERS))

    @property
    def _pointer(self) -> Path:
        return self.folder / "now"

    def _now(self) -> str:
        return self._pointer.read_text(encoding="utf-8")

    def behave(self, plan: Plan) -> None:
        """Put up a plan; engines that wait under the plan before stop waiting."""
        number = int(self._now()) + 1 if self._pointer.exists() else 1
        (self.folder / f"plan-{number}").write_text(json.dumps(asdict(plan)), encoding="utf-8")
        beside = self.folder / "next"
        beside.write_text(str(number), encoding="utf-8")
        beside.replace(self._pointer)

    def received(self) -> list[str]:
        """Return the query texts noted under the plan in force."""
        return list(self._noted(self._now()))

    def follow(self, query: str) -> Plan:
        """Note a query and return the plan for it; called by the engine once a query."""
        now = self._now()
        line = json.dumps(query) + "\n"
        with (self.folder / f"asked-{now}").open("a", encoding="ascii") as stream:
            stream.write(line)
        values = json.loads((self.folder / f"plan-{now}").read_text(encoding="utf-8"))
        values |= {"behaviour": Behaviour(values["behaviour"]), "ids": tuple(values["ids"])}
        plan = Plan(**values)
        if plan.times is not None and sum(1 for _ in self._noted(now)) > plan.times:
            return plan.after()
        return plan

    def wait(self) -> None:
        """Do nothing until another plan is up, for a minute at most."""
        now, end = self._now(), monotonic() + LONGEST_S
        while monotonic() < end:
            sleep(0.02)
            with suppress(OSError):  # the folder is gone: so is the test
                if self._now() == now:
                    continue
            return

    def _noted(self, number: str) -> Iterator[str]:
        path = self.folder / f"asked-{number}"
        if path.exists():
            for line in path.read_text(encoding="ascii").splitlines():
                yield json.loads(line)
