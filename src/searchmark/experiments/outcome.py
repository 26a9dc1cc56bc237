"""What comes of an experiment: each system's calls and scores, and whether they count."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from searchmark.data import Corpus, Hits
from searchmark.diagnosis.wording import listed
from searchmark.errors import SystemFailedError
from searchmark.experiments.inputs import Inputs
from searchmark.experiments.journal import Call
from searchmark.experiments.validity import caveats_of, count_partial, failure_sentence
from searchmark.measures.summary import Evaluation, SystemScores
from searchmark.systems.policy import CallPolicy
from searchmark.systems.secrets import Secrets

LONGEST_ID = 80
"""So many characters of an id are shown."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One system's part of an experiment: what it answered and what that is worth.

    `made` tells when stored answers were given; None where the system was asked just now.
    """

    system: str
    calls: tuple[Call, ...]
    hits: Hits
    scores: SystemScores
    digest: str
    folder: Path
    made: str | None = None
    policy: CallPolicy = field(default_factory=CallPolicy)

    @property
    def invalid(self) -> str | None:
        """Why the scores are no measurement; None where they are one."""
        return self.scores.invalid

    @property
    def failures(self) -> list[Call]:
        """Calls that ended in an error or a time-out, or were not made any more."""
        return [c for c in self.calls if c.is_failure]


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """All outcomes, and the evaluation that reports show."""

    inputs: Inputs
    outcomes: tuple[Outcome, ...]
    evaluation: Evaluation

    @property
    def failures(self) -> list[tuple[str, Call]]:
        """System and call of every query that failed."""
        return [(o.system, c) for o in self.outcomes for c in o.failures]

    def check(self, systems: Sequence[str] | None = None) -> None:
        """Raise SystemFailedError where the run of one of the systems (all by default) is invalid.

        Too many of its queries failed or were answered in part, or it was given up.
        """
        wrong = [o for o in self.outcomes if o.invalid and (systems is None or o.system in systems)]
        if wrong:
            first, *others = wrong
            told = failure_sentence(first.system, first.calls, first.policy)
            also = listed([f"'{o.system}' ({o.invalid})" for o in others])
            too = f"; no measurement either: {also}" if others else ""
            raise SystemFailedError(told + too)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know of runs that count although not every answer is whole, a sentence each.

        Queries without a judgment are counted too.
        """
        return tuple(
            sentence
            for o in self.outcomes
            if not o.invalid
            for sentence in caveats_of(o.system, o.calls, o.policy)
        )


def invalid_notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Tell which rows are no measurement."""
    for outcome in outcomes:
        if outcome.invalid:
            yield f"{outcome.system} is INVALID: {outcome.invalid}. Its scores are no measurement."


def partial_notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Tell of answers in which a part of the system did not take part."""
    for outcome in outcomes:
        n = count_partial(outcome.calls)
        if n:
            yield (
                f"{outcome.system}: {n} of {len(outcome.calls)} answers are partial: a part of the "
                "system did not take part in them."
            )


def stranger_notes(
    corpus: Corpus, outcomes: Sequence[Outcome], secrets: Secrets | None = None
) -> Iterator[str]:
    """Tell of results that are not in the corpus: ids that were altered, or another catalog.

    An id may be anything a system gives: it is shown on one line, cut, and without secrets.
    """
    known = set(corpus.doc_ids)
    for outcome in outcomes:
        strange = [d for c in outcome.calls for d in c.doc_ids if d not in known]
        if strange:
            secrets = secrets or Secrets()
            n, first = len(strange), secrets.excerpt(strange[0], LONGEST_ID)
            yield f"{outcome.system}: results that are not in the corpus: {n}, '{first}' first."
