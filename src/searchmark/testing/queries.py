"""Cases about queries: that the text arrives as it was, and the answer at whoever asked."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from searchmark.errors import SystemFailedError
from searchmark.systems.protocol import Answer, Query
from searchmark.testing.answering import answer_of, ask, ids_of
from searchmark.testing.plan import Behaviour, Plan, echo_ids
from searchmark.testing.subject import Subject, opened, opened_for_batches

NASTY = (
    "plain words",
    "-v",
    "--help",
    "-- ; rm",
    'it\'s "quoted" and \\back\\slashed\\',
    "'; DROP TABLE docs; --",
    "$HOME ${PATH} `id` $(id) !! *?[a-z]~",
    "{query} {k} {{query}} {} {0}",
    "%(query)s %(k)s %s %d %% 100%",
    "a&b=c#d?e/f;g+h %20 %2B",
    "two\nlines\tand a tab",
    "line end\r\nin between",
    '{"query": {"match_all": {}}}',
    "</script><b>&amp;</b>",
    "a:b AND (c OR d) [1 TO 2] ^3 ~4",
    "na\u00efve caf\u00e9 / cafe\u0301",
    "\u6771\u4eac \u0627\u0644\u0628\u062d\u062b \u202eabc",
    "\U0001f50d\U0001f469\u200d\U0001f52c",
    " blanks around ",
    "${SEARCHMARK_CONTRACT_TOKEN}",
    "long " * 400,
)
"""Texts that a shell, a URL, JSON, SQL, a template or a query language would take apart."""

ODD = ("nul \x00 inside", "half a pair \ud83d")
"""Texts that not every engine can hold: they arrive, or are a failure of that query."""


def queries_arrive_unharmed(subject: Subject) -> None:
    """Check that every text arrives as it was, and its own answer comes back."""
    harmed = []
    with opened(subject) as system:
        for text in NASTY:
            subject.behave(Plan(Behaviour.ECHO))
            found = ids_of(answer_of(system, text))
            received = list(subject.received())
            if received != [text]:
                harmed.append(f"{text!r} arrived as {received!r}")
            elif found != list(echo_ids(text)):
                harmed.append(f"{text!r} was answered with {found}, not {echo_ids(text)}")
    assert not harmed, "a query's text reaches the engine unharmed, but " + "; ".join(harmed)


def odd_queries_never_crash(subject: Subject) -> None:
    """Check that a text that the engine cannot hold is a failure of that query at most."""
    with opened(subject) as system:
        for text in ODD:
            subject.behave(Plan(Behaviour.ECHO))
            try:
                found = ids_of(ask(system, text))
            except SystemFailedError:
                continue
            except Exception as error:
                raise AssertionError(
                    f"{text!r} raised {type(error).__name__}: what cannot be sent is a "
                    "SystemFailedError with a sentence"
                ) from error
            assert list(subject.received()) == [text], (
                f"{text!r} arrived as {list(subject.received())!r}: a text that cannot be sent "
                "as it is must be an error"
            )
            assert found == list(echo_ids(text)), f"{text!r} was answered with {found}"


def threads_get_their_own_answers(subject: Subject) -> None:
    """Check that eight threads ask at once; each gets what the engine answered to its own query."""
    subject.behave(Plan(Behaviour.ECHO))
    together = Barrier(8)
    with opened(subject, concurrency=8) as system, ThreadPoolExecutor(8) as threads:

        def ask_some(thread: int) -> list[tuple[str, list[str]]]:
            texts = [f"thread {thread} query {n}" for n in range(4)]
            together.wait(30)
            return [(text, ids_of(answer_of(system, text))) for text in texts]

        answers = [pair for part in threads.map(ask_some, range(8)) for pair in part]
    mixed = [(text, found) for text, found in answers if found != list(echo_ids(text))]
    assert not mixed, (
        f"search is called from several threads at once, and {len(mixed)} of {len(answers)} "
        f"queries got another one's answer: {mixed[:3]}"
    )


def batches_keep_their_order(subject: Subject) -> None:
    """Check that a system that is asked several queries in one call answers them in their order."""
    texts = [f"batch query {n}" for n in range(5)]
    subject.behave(Plan(Behaviour.ECHO))
    with opened_for_batches(subject, len(texts)) as system:
        if system is None:
            return
        answers = system.search_many([Query(f"q{n}", t) for n, t in enumerate(texts)], 10)
    found = [ids_of(a) if isinstance(a, Answer) else a for a in answers]
    right = [list(echo_ids(text)) for text in texts]
    assert found == right, (
        f"a batch's answers stand in the order of its queries: {right}, but the adapter gave "
        f"{found}"
    )
