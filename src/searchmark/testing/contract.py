"""The cases of the contract, by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from searchmark.testing import answering, failing, queries, running, tidiness
from searchmark.testing.plan import FAILURES, Behaviour
from searchmark.testing.subject import Subject

B = Behaviour


@dataclass(frozen=True, slots=True)
class Case:
    """One check: called with a subject, it raises AssertionError where a rule is broken.

    `needs` is the behaviour that the subject has to show, beside those that all can.
    """

    name: str
    needs: Behaviour
    check: Callable[[Subject], None]

    def __call__(self, subject: Subject) -> None:
        """Examine the subject."""
        self.check(subject)

    @property
    def __name__(self) -> str:
        """The name that pytest shows."""
        return self.name

    def __str__(self) -> str:
        return self.name


SINGLE: tuple[tuple[Callable[[Subject], None], Behaviour], ...] = (
    (answering.keeps_the_order, B.ANSWERS),
    (answering.gives_at_most_k, B.ANSWERS),
    (answering.passes_duplicates_on, B.ANSWERS),
    (answering.never_alters_ids, B.ANSWERS),
    (answering.numbers_become_texts, B.NUMBER_IDS),
    (answering.empty_is_an_answer, B.EMPTY),
    (answering.tells_what_is_partial, B.PARTIAL),
    (answering.bounds_an_answer, B.HUGE),
    (queries.queries_arrive_unharmed, B.ECHO),
    (queries.odd_queries_never_crash, B.ECHO),
    (queries.threads_get_their_own_answers, B.ECHO),
    (queries.batches_keep_their_order, B.ECHO),
    (failing.reads_retry_after, B.TOO_MANY),
    (failing.reads_retry_after_dates, B.TOO_MANY_DATE),
    (tidiness.leaves_nothing_open, B.ANSWERS),
    (running.run_honours_retry_after, B.TOO_MANY),
    (running.run_survives_a_storm, B.TOO_MANY),
    (running.run_mixes_nothing_up, B.ECHO),
)
"""Checks with the behaviour that they need."""

IN_BATCHES = (
    B.REFUSED,
    B.CUT_LATE,
    B.TOO_MANY,
    B.ERROR_500,
    B.FORBIDDEN,
    B.FAILS,
    B.TRUNCATED_JSON,
    B.WRONG_SHAPE,
    B.NULL_ID,
    B.NAN_SCORE,
)
SECRETIVE = (B.ANSWERS, B.FORBIDDEN, B.ERROR_500, B.HTML, B.WRONG_SHAPE, B.FAILS)

EACH: tuple[tuple[Callable[[Subject, Behaviour], None], tuple[Behaviour, ...]], ...] = (
    (answering.never_reorders, (B.TIED, B.RISING)),
    (answering.never_shifts_scores, (B.UNSCORED, B.PARTLY_SCORED)),
    (failing.is_a_failure, tuple(FAILURES)),
    (failing.fails_in_batches, IN_BATCHES),
    (tidiness.leaves_nothing_open_after, (B.STALL, B.CUT_LATE, B.FAILS)),
    (running.run_records_a_failure, (B.SLOW, B.CUT_LATE, B.BROKEN_JSON, B.FAILS, B.NULL_ID)),
    (running.run_tries_again, (B.TOO_MANY, B.UNAVAILABLE, B.CUT_LATE)),
    (running.run_never_tries_again, (B.FORBIDDEN, B.BROKEN_JSON)),
    (running.run_keeps_secrets, SECRETIVE),
)
"""Checks that are made once for each of several behaviours."""


def _cases() -> Iterator[Case]:
    for check, behaviour in SINGLE:
        yield Case(check.__name__, behaviour, check)
    for check_of, behaviours in EACH:
        for behaviour in behaviours:
            name = f"{check_of.__name__}[{behaviour}]"
            yield Case(name, behaviour, _of(check_of, behaviour))


def _of(
    check: Callable[[Subject, Behaviour], None], behaviour: Behaviour
) -> Callable[[Subject], None]:
    return lambda subject: check(subject, behaviour)


CASES: tuple[Case, ...] = tuple(_cases())
"""Every case of the contract."""


def cases(subject: "type[Subject] | Subject") -> list[Case]:
    """Return the cases that a subject can be put to: those whose behaviours it can show.

    A behaviour that it declares it cannot show needs a reason; `left_out` lists what that costs.
    """
    cannot = _declared(subject)
    return [case for case in CASES if case.needs not in cannot]


def left_out(subject: "type[Subject] | Subject") -> dict[str, str]:
    """Return case name -> reason of every case that `cases` leaves out."""
    cannot = _declared(subject)
    return {case.name: cannot[case.needs] for case in CASES if case.needs in cannot}


ALWAYS = (B.ANSWERS, B.EMPTY, B.ECHO, B.FAILS)
"""Behaviours that every subject shows: without them nothing is tested."""


def _declared(subject: "type[Subject] | Subject") -> dict[Behaviour, str]:
    cannot = {Behaviour(b): reason for b, reason in subject.cannot.items()}
    silent = [b for b, reason in cannot.items() if len(reason.split()) < 2]
    if silent:
        raise ValueError(f"say why the subject cannot show {', '.join(silent)}: a few words each")
    if missing := [b for b in ALWAYS if b in cannot]:
        raise ValueError(f"a subject has to show {', '.join(missing)}: else nothing is tested")
    return cannot
