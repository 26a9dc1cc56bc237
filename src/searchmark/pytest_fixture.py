"""What tests are given by the fixture ``searchmark``: verdicts and numbers made to be asserted."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from searchmark.errors import SearchmarkError
from searchmark.gate.verdict import Verdict

if TYPE_CHECKING:
    from searchmark.experiments.session import Session
    from searchmark.measures.summary import Mean


class CaveatWarning(UserWarning):
    """Numbers rest on partial answers, or on failed queries that count as missing."""


@contextmanager
def told_in_a_sentence() -> Iterator[None]:
    """Fail the test with what the program says on purpose, and no traceback."""
    try:
        yield
    except SearchmarkError as error:
        why = str(error)
    except OSError as error:
        why = f"{error.filename or 'the machine refused'}: {error.strerror or error}"
    else:
        return
    raise pytest.fail.Exception(f"searchmark: {_shown(why)}", pytrace=False) from None


@dataclass(frozen=True, repr=False, slots=True)
class Searchmark:
    """A project as tests see it; the value of the fixture ``searchmark``."""

    path: Path
    _session: "Session"
    _node: pytest.Item
    _shown: "list[GateVerdict]" = field(default_factory=list)

    def gate(self) -> "GateVerdict":
        """Return the verdict on the gate's system; it is true where the gate passed.

        Of a test that fails the report shows the verdict's tables and reasons.
        """
        with told_in_a_sentence():
            verdict = GateVerdict.of(self._session.gate())
        _warn(verdict.caveats)
        if not verdict.passed and not self._shown:
            self._shown.append(verdict)
            self._node.add_report_section("call", "searchmark gate", verdict.text())
        return verdict

    def mean(
        self, measure: str, *, system: str | None = None, category: str | None = None
    ) -> "Measured":
        """Return a measure's mean over all judged queries, or over those of a category.

        The measure need not be in the project file. Without `system` it is the gate's, or the only
        one. Of a measure that is a sum or a geometric mean it is that. A run that failed too often
        fails the test; one with partial answers or failed queries within its limits is a warning.
        """
        with told_in_a_sentence():
            found = self._session.mean(measure, system, category)
            caveats = self._session.caveats(system)
        _warn(caveats)
        return Measured.of(found, caveats)

    def values(self, measure: str, *, system: str | None = None) -> dict[str, float]:
        """Return query id -> value; a query that the measure's conventions skip is not in it."""
        with told_in_a_sentence():
            found = self._session.values(measure, system)
            caveats = self._session.caveats(system)
        _warn(caveats)
        return found

    def __repr__(self) -> str:
        return f"<searchmark project {Path(os.path.realpath(self.path)).name!r}>"


def _warn(caveats: Sequence[str]) -> None:
    for caveat in caveats:
        warnings.warn(_shown(caveat), CaveatWarning, stacklevel=3)


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


class GateVerdict(Verdict):
    """A verdict that is true where the gate passed, and shows why it did not."""

    __slots__ = ()

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        """Return the same verdict."""
        return cls(**{f.name: getattr(verdict, f.name) for f in fields(verdict)})

    def text(self) -> str:
        """Return what ``searchmark gate`` prints."""
        from searchmark.reports.render import verdict_text

        return verdict_text(self, "terminal")

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        from searchmark.reports.verdict import headline

        return " ".join((f"<{headline(self)}", *self.because)) + ">"


class Measured(float):
    """A mean that knows its interval and how many queries it is over.

    `low` to `high` is the 95% interval, None where there is none to give. `caveats` tell of partial
    answers and of failed queries that it rests on.
    """

    __slots__ = ("caveats", "high", "low", "n_queries")

    low: float | None
    high: float | None
    n_queries: int
    caveats: tuple[str, ...]

    @classmethod
    def of(cls, mean: "Mean", caveats: tuple[str, ...] = ()) -> Self:
        """Return a mean that has a value."""
        made = cls(mean.value or 0.0)
        made.low, made.high, made.n_queries = mean.low, mean.high, mean.n_queries
        made.caveats = caveats
        return made

    def __repr__(self) -> str:
        span = ""
        if self.low is not None and self.high is not None:
            span = f" [{self.low:.4f}, {self.high:.4f}]"
        noun = "query" if self.n_queries == 1 else "queries"
        mind = "".join(f"; mind: {_shown(caveat)}" for caveat in self.caveats)
        return f"{self._digits()}{span} over {self.n_queries:,} {noun}{mind}"

    def _digits(self) -> str:
        """Return four decimals, or as many as tell it from a round number that it is not."""
        value = float(self)
        for digits in range(4, 17):
            shown = f"{value:.{digits}f}"
            if float(shown) == value or float(shown) != round(value, 3):
                return shown
        return f"{value:.17g}"
