"""What comes of an experiment: each system's calls and scores, and whether they count."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from searchmark.data import Corpus, Hits
from searchmark.diagnosis.wording import listed
from searchmark.errors import SearchmarkError, SystemFailedError
from searchmark.experiments.inputs import Inputs
from searchmark.experiments.journal import Call
from searchmark.experiments.soundness import shown
from searchmark.experiments.validity import (
    caveats_of,
    count_partial,
    failure_sentence,
    missing_notes,
)
from searchmark.measures.summary import Evaluation, SystemScores
from searchmark.systems.policy import CallPolicy
from searchmark.systems.pool import Failed
from searchmark.systems.secrets import Secrets


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One system's part of an experiment: what it answered and what that is worth.

    `made` tells when stored answers were given; None where the system was asked just now. `notes`
    are sentences about how it was run, `contrast` what a file of other queries holds.
    """

    system: str
    calls: tuple[Call, ...]
    hits: Hits
    scores: SystemScores
    digest: str
    folder: Path
    made: str | None = None
    policy: CallPolicy = field(default_factory=CallPolicy)
    notes: tuple[str, ...] = ()
    contrast: str = ""

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
    """All outcomes, and the evaluation that reports show.

    `failed` are systems that could not be opened, asked or closed.
    """

    inputs: Inputs
    outcomes: tuple[Outcome, ...]
    evaluation: Evaluation
    failed: tuple[Failed, ...] = ()

    @property
    def failures(self) -> list[tuple[str, Call]]:
        """System and call of every query that failed."""
        return [(o.system, c) for o in self.outcomes for c in o.failures]

    def check_used(self) -> None:
        """Raise where a system could not be opened, asked or closed."""
        if self.failed:
            raise failure(self.failed) from self.failed[0].error.__cause__

    def check(self, systems: Sequence[str] | None = None) -> None:
        """Raise where one of the systems (all by default) failed, or its run is invalid.

        It could not be used; or too many of its queries failed or were answered in part, it was
        given up, or its file holds none of the queries, which is a SystemFailedError.
        """
        wrong = [o for o in self.outcomes if o.invalid and (systems is None or o.system in systems)]
        failed = [f for f in self.failed if systems is None or f.system in systems]
        if failed:
            raise failure(failed, _also(wrong))
        if wrong:
            first, *others = wrong
            told = failure_sentence(first.system, first.calls, first.policy) + _beside(first)
            raise SystemFailedError(told + _also(others))

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


def _beside(outcome: Outcome) -> str:
    return f"; {outcome.contrast}" if outcome.contrast else ""


def _also(wrong: Sequence[Outcome]) -> str:
    named = listed([f"'{o.system}' ({o.invalid})" for o in wrong])
    return f"; no measurement either: {named}" if wrong else ""


def failure(failed: Sequence[Failed], also: str = "") -> SearchmarkError:
    """Return the first system's error, telling of the others too."""
    first = failed[0].error
    text, told = str(first), [first]
    for name, error, _ in failed[1:]:
        known = any(error is one for one in told)  # that of a system which both are made of
        text += f"; '{name}' cannot be used without it" if known else f"; also {error}"
        told.append(error)
    if text + also == str(first):
        return first
    found = copy.copy(first)
    found.args = (text + also,)
    found.__cause__ = first
    return found


def failed_notes(failed: Sequence[Failed], outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Tell which systems have no row."""
    shown = {o.system for o in outcomes}
    for one in failed:
        if one.system not in shown:
            yield f"{one.system} is not in this table, as it could not be used: {one.why}."


def invalid_notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Tell which rows are no measurement."""
    for outcome in outcomes:
        if outcome.invalid:
            why = f"{outcome.invalid}{_beside(outcome)}"
            yield f"{outcome.system} is INVALID: {why}. Its scores are no measurement."


def partial_notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Tell of answers that are missing, and of those in which a part did not take part."""
    for outcome in outcomes:
        if not outcome.invalid:  # of a file with none of the queries that is told already
            yield from missing_notes(outcome.system, outcome.calls)
        n = count_partial(outcome.calls)
        if n:
            yield (
                f"{outcome.system}: {n} of {len(outcome.calls)} answers are partial: a part of the "
                "system did not take part in them."
            )


def stranger_notes(corpus: Corpus, outcomes: Sequence[Outcome], secrets: Secrets) -> Iterator[str]:
    """Tell of results that are not in the corpus: ids that were altered, or another catalog."""
    known = set(corpus.doc_ids)
    for outcome in outcomes:
        strange = [d for c in outcome.calls for d in c.doc_ids if d not in known]
        if strange:
            n, first = len(strange), shown(strange[0], secrets)
            yield f"{outcome.system}: results that are not in the corpus: {n}, {first} first."
