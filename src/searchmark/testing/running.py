"""Cases that go through a whole run: what is recorded, tried again, kept secret."""

import base64
from time import monotonic
from urllib.parse import quote, quote_plus

from searchmark.experiments.journal import Call
from searchmark.testing.failing import LIMIT_S, MARGIN_S, leaks
from searchmark.testing.plan import FAILURES, Behaviour, Plan, echo_ids
from searchmark.testing.subject import PATIENT_S, SECRET, TOKEN, Ran, Subject, run

MANY = tuple(f"query number {n}" for n in range(24))


def run_records_a_failure(subject: Subject, behaviour: Behaviour) -> None:
    """Check that a failure is an error or a time-out of its query, with a sentence."""
    is_timeout = FAILURES[behaviour].is_timeout
    subject.behave(Plan(behaviour))
    start = monotonic()
    limit_s = LIMIT_S if is_timeout else PATIENT_S
    call = _only(run(subject, ["red"], timeout_s=limit_s))
    took = monotonic() - start
    subject.behave(Plan(Behaviour.ANSWERS))
    expected = "timeout" if is_timeout else "error"
    assert call.status == expected, (
        f"a query that met '{behaviour}' is recorded as '{expected}', not as '{call.status}' with "
        f"the results {call.doc_ids} and the error {call.error}"
    )
    assert call.error, f"the record of a query that met '{behaviour}' says nothing of it"
    assert not is_timeout or took < LIMIT_S + 2 * MARGIN_S, (
        f"the time limit is {LIMIT_S} s, but a run of one query took {took:.1f} s"
    )


def run_tries_again(subject: Subject, behaviour: Behaviour) -> None:
    """Check that a failure that may pass is tried again, and the answer counts."""
    subject.behave(Plan(behaviour, ("a", "b"), times=1, after_s=0.0))
    call = _only(run(subject, ["red"], retries=3))
    assert (call.status, call.doc_ids) == ("ok", ["a", "b"]), (
        f"a call met '{behaviour}' and the next one would go well, but with retries = 3 the record "
        f"says '{call.status}', {call.doc_ids}, {call.error}"
    )
    assert call.attempts == 2, f"one failed and one went well: 2 attempts, not {call.attempts}"


def run_never_tries_again(subject: Subject, behaviour: Behaviour) -> None:
    """Check that a failure that would be the same again is not repeated."""
    subject.behave(Plan(behaviour))
    call = _only(run(subject, ["red"], retries=3))
    received = list(subject.received())
    assert call.status == "error", f"'{behaviour}' is an error, not '{call.status}'"
    assert len(received) <= 1, (
        f"'{behaviour}' will not pass, so it is asked once, not {len(received)} times"
    )


def run_honours_retry_after(subject: Subject) -> None:
    """Check that an engine that asks to be left alone for a while is left alone for so long."""
    subject.behave(Plan(Behaviour.TOO_MANY, ("a", "b"), times=1, after_s=1.0))
    start = monotonic()
    call = _only(run(subject, ["red"], retries=3))
    took = monotonic() - start
    assert call.status == "ok", f"one 429 and then an answer is an answer, not {call.error}"
    assert took >= 0.95, f"the engine asked for a second's rest, and was called after {took:.2f} s"


def run_survives_a_storm(subject: Subject) -> None:
    """Check that an engine that refuses calls for a while, saying for how long or not, loses none.

    More calls of one query are refused than `retries` would allow it: the oldest is asked first.
    """
    for after_s, times, retries, concurrency in ((0.05, 20, 3, 8), (None, 3, 1, 1)):
        subject.behave(Plan(Behaviour.TOO_MANY, ("a", "b"), times=times, after_s=after_s))
        ran = run(subject, MANY, concurrency=concurrency, retries=retries)
        lost = [c for c in ran.calls if (c.status, c.doc_ids) != ("ok", ["a", "b"])]
        asked = "no time" if after_s is None else f"{after_s} s of rest"
        assert len(ran.calls) == len(MANY) and not lost, (
            f"an engine answered 429 to {times} calls, asked for {asked} and then answered well, "
            f"but {len(lost)} of {len(MANY)} queries failed: a 429 is a failure with retry, busy "
            f"and, where the engine says it, after_s. {lost[0].error if lost else ran.said}"
        )


def run_mixes_nothing_up(subject: Subject) -> None:
    """Check that at a concurrency of eight every query is recorded with its own answer."""
    subject.behave(Plan(Behaviour.ECHO))
    ran = run(subject, MANY, concurrency=8)
    found = {call.query_id: tuple(call.doc_ids) for call in ran.calls}
    right = {f"q{n}": echo_ids(text) for n, text in enumerate(MANY)}
    wrong = {q: found.get(q) for q in right if found.get(q) != right[q]}
    assert not wrong, (
        f"at concurrency = 8, {len(wrong)} of {len(right)} queries were recorded with another "
        f"answer than their own: {dict(list(wrong.items())[:3])}; {ran.said.strip()}"
    )


def run_keeps_secrets(subject: Subject, behaviour: Behaviour) -> None:
    """Check that a secret of the environment stands in no file of `.searchmark` and in no message.

    The engine of a `MisbehavingServer` repeats in its answers whatever it was sent, first the query
    text: wherever a message is cut, the cut goes through the secret for one of these texts.
    """
    subject.behave(Plan(behaviour))
    texts = ["red", "red" * 4, "red" * 7, "${" + TOKEN + "}"]
    ran = run(subject, texts, retries=0)
    subject.behave(Plan(Behaviour.ANSWERS))
    told = {"a message": ran.said.encode(), **ran.files}
    found = sorted(name for name, text in told.items() if _holds_secret(text))
    assert not found, f"the secret ${{{TOKEN}}} of the environment stands in {', '.join(found)}"


def _holds_secret(text: bytes) -> bool:
    raw = SECRET.encode()
    packed = (base64.b64encode(raw), quote(SECRET, safe="").encode(), quote_plus(SECRET).encode())
    return leaks(text.decode("utf-8", "replace")) is not None or any(p in text for p in packed)


def _only(ran: Ran) -> Call:
    assert len(ran.calls) == 1, f"a run of one query has one call, not {len(ran.calls)}: {ran.said}"
    return ran.calls[0]
