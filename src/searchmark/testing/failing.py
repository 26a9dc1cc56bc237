"""Cases about failures: each is raised, told in a sentence, and never looks like an answer."""

from time import monotonic

from searchmark.errors import SystemFailedError, SystemTimeoutError
from searchmark.systems.protocol import Answer, Query, System
from searchmark.testing.answering import answer_of, ask, ids_of
from searchmark.testing.plan import FAILURES, Behaviour, Plan
from searchmark.testing.subject import SECRET, Subject, kind_of, opened, opened_for_batches, pooled

LIMIT_S = 0.4
"""The time limit of cases about time. The engine would take a minute."""

MARGIN_S = 15.0
"""How much later than the limit a call may end: far below a minute, far above a busy machine."""

LONGEST = 1000
"""Characters of a message. The engine's part of it is to be at most 200."""


def is_a_failure(subject: Subject, behaviour: Behaviour) -> None:
    """Check that a failure is raised as one, in time, after one attempt, and leaves no trace."""
    is_timeout = FAILURES[behaviour].is_timeout
    by_itself = kind_of(subject).keeps_time
    way = pooled if is_timeout and not by_itself else opened
    limits = {"timeout_s": LIMIT_S} if is_timeout else {}
    with way(subject, **limits) as system:
        subject.behave(Plan(behaviour))
        start = monotonic()
        error = failure(system, behaviour, is_in_process=not by_itself)
        took = monotonic() - start
        received = list(subject.received())
        subject.behave(Plan(Behaviour.ANSWERS, ("d", "e")))
        if is_timeout:
            _check_time(error, behaviour, took)
        else:
            after = ids_of(answer_of(system))
            assert after == ["d", "e"], (
                f"after '{behaviour}' the engine is well again and answers d, e, but the adapter "
                f"gave {after}: what is left of a failed call must not reach the next one"
            )
    if isinstance(error, SystemFailedError):
        check_message(error, behaviour)
        _check_retry(error, behaviour)
    assert len(received) <= 1, (
        f"an adapter makes one attempt a call, the caller makes others, but {len(received)} "
        f"requests came for one query that met '{behaviour}': turn off the library's own retries"
    )


def failure(system: System, behaviour: Behaviour, *, is_in_process: bool = False) -> Exception:
    """Return what a search raises; code that runs in this process may raise what it likes."""
    try:
        answer = ask(system)
    except SystemFailedError as error:
        return error
    except Exception as error:
        if is_in_process and behaviour is Behaviour.FAILS:
            return error
        raise AssertionError(
            f"'{behaviour}' raised {type(error).__name__} ({error}): a failure of the engine is a "
            "SystemFailedError with one sentence"
        ) from error
    looks = "an empty answer" if not answer.hits else f"the answer {ids_of(answer)}"
    raise AssertionError(
        f"the engine failed ({behaviour}), and the adapter made {looks} of it: nothing that "
        "failed may look like an answer"
    )


def check_message(error: SystemFailedError, behaviour: Behaviour) -> None:
    """Check that a message is one short line without the secret."""
    told = str(error)
    assert told.strip(), f"the error of '{behaviour}' says nothing"
    assert len(told.splitlines()) == 1, f"an error is told on one line, not: {told!r}"
    assert len(told) <= LONGEST, (
        f"an error tells at most 200 characters of what the engine said; this one has {len(told)}"
    )
    leaked = leaks(told)
    assert not leaked, (
        f"the secret of the environment stands in the error of '{behaviour}' (the part "
        f"{leaked!r}): hide secrets before the text is cut, with context.secrets"
    )


def leaks(text: str) -> str | None:
    """Return a part of the secret that stands in text: ten characters in a row are too many."""
    parts = (SECRET[i : i + 10] for i in range(len(SECRET) - 9))
    return next((part for part in parts if part in text), None)


def fails_in_batches(subject: Subject, behaviour: Behaviour) -> None:
    """Check that a batch that met a failure raises, or gives a failure for each query."""
    with opened_for_batches(subject, 3) as system:
        if system is None:
            return
        subject.behave(Plan(behaviour))
        try:
            answers = system.search_many([Query(f"q{n}", f"red {n}") for n in range(3)], 10)
        except SystemFailedError as error:
            check_message(error, behaviour)
            return
        except Exception:
            if kind_of(subject).keeps_time or behaviour is not Behaviour.FAILS:
                raise
            return  # code that runs in this process may raise what it likes
    assert len(answers) == 3, f"three queries were asked, and {len(answers)} outcomes came"
    for outcome in answers:
        assert not isinstance(outcome, Answer), (
            f"the engine failed ({behaviour}), and a batch made an answer of it: {outcome}"
        )
        check_message(outcome, behaviour)


def reads_retry_after(subject: Subject) -> None:
    """Check that the seconds that a 429 asks for reach whoever would call again; none is None."""
    for asked_for in (7.0, None):
        error = _failed(subject, Plan(Behaviour.TOO_MANY, after_s=asked_for))
        assert error.after_s == asked_for, (
            f"the engine asked for {asked_for} s (Retry-After), but after_s is {error.after_s}"
        )


def reads_retry_after_dates(subject: Subject) -> None:
    """Check that a Retry-After may be a date."""
    after_s = _failed(subject, Plan(Behaviour.TOO_MANY_DATE, after_s=600.0)).after_s
    assert after_s is not None and 300 < after_s <= 601, (
        f"the engine gave the time ten minutes from now (Retry-After), but after_s is {after_s}"
    )


def _failed(subject: Subject, plan: Plan) -> SystemFailedError:
    with opened(subject) as system:
        subject.behave(plan)
        error = failure(system, plan.behaviour)
    assert isinstance(error, SystemFailedError)
    return error


def _check_time(error: Exception, behaviour: Behaviour, took: float) -> None:
    assert isinstance(error, SystemTimeoutError), (
        f"'{behaviour}' passes the time limit, which is a SystemTimeoutError, not "
        f"{type(error).__name__}: {error}"
    )
    assert took < LIMIT_S + MARGIN_S, (
        f"the time limit of one attempt is {LIMIT_S} s in all, but '{behaviour}' took {took:.1f} s:"
        " a limit of each single read does not end an answer that trickles"
    )


def _check_retry(error: SystemFailedError, behaviour: Behaviour) -> None:
    expected = FAILURES[behaviour].retry
    if expected is None:
        return
    meaning = "may go well a little later" if expected else "will fail again"
    assert error.retry is expected, (
        f"a call that met '{behaviour}' {meaning}: retry must be {expected}; it was said: {error}"
    )
