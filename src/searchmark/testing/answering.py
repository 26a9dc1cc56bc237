"""Cases about answers: order, ids, scores, depth, what is empty and what is partial."""

from searchmark.errors import SystemFailedError
from searchmark.systems.protocol import Answer, Query, System
from searchmark.testing.plan import Behaviour, Plan
from searchmark.testing.subject import DOC_IDS, Subject, opened, opened_with_limit

DEPTH = 10

LIMIT_BYTES = 1_000_000
"""What is set as `max_bytes` where an answer is longer."""

ODD_IDS = (
    "007",
    "1e5",
    "1.0",
    "-1",
    "null",
    "NaN",
    "true",
    "a/b?c=d&e#f",
    "two words",
    "a\"b'c\\d",
    "{k}",
    "%41",
    "caf\u00e9",
    "cafe\u0301",
    "\u0130stanbul",
    "\u6771\u4eac",
    "\U0001f50d",
    "</x>&amp;",
)
"""Ids that something between engine and adapter may take for a number, a keyword or a markup."""


def ask(system: System, text: str = "red", k: int = DEPTH) -> Answer:
    """Ask a query text, and let through whatever is raised."""
    return system.search(Query("q", text), k)


def answer_of(system: System, text: str = "red", k: int = DEPTH) -> Answer:
    """Ask a query text of an engine that answers well."""
    try:
        return ask(system, text, k)
    except SystemFailedError as error:
        raise AssertionError(
            f"the engine gave a whole and valid answer to {text[:80]!r}, and the adapter raised "
            f"{type(error).__name__}: {error}"
        ) from error


def ids_of(answer: Answer) -> list[str]:
    """Return the ids of an answer."""
    return [hit.doc_id for hit in answer.hits]


def asked(subject: Subject, plan: Plan, *, k: int = DEPTH) -> Answer:
    """Open the bare adapter, make the engine follow a plan to answer well, and ask."""
    with opened(subject) as system:
        subject.behave(plan)
        return answer_of(system, k=k)


def keeps_the_order(subject: Subject) -> None:
    """Check that the engine's order is the ranking, with its scores or none."""
    ids = ("c", "a", "b", "h", "d")
    answer = asked(subject, Plan(Behaviour.ANSWERS, ids))
    assert ids_of(answer) == list(ids), (
        f"the ranking is the engine's order, {list(ids)}, but the adapter gave {ids_of(answer)}"
    )
    scores = [hit.score for hit in answer.hits]
    right: list[list[float | None]] = [[5.0, 4.0, 3.0, 2.0, 1.0], [None] * 5]
    assert scores in right, f"scores are the engine's or None, but the adapter gave {scores}"
    assert answer.is_given, "an answer of the engine is given: is_given must be True"
    assert not answer.partial, "nothing said that the answer is partial, but partial is True"


def never_reorders(subject: Subject, behaviour: Behaviour) -> None:
    """Check that scores are kept and never sort the results."""
    ids = ("c", "a", "b", "h", "d")
    found = ids_of(asked(subject, Plan(behaviour, ids)))
    assert found == list(ids), (
        f"the engine's order is the ranking whatever the scores are ({behaviour}): it was "
        f"{list(ids)}, but the adapter gave {found}"
    )


def never_shifts_scores(subject: Subject, behaviour: Behaviour) -> None:
    """Check that a score that is missing leaves the others where they were, or is an error."""
    plan = Plan(behaviour, ("c", "a", "b", "h"))
    right = [(row.id, row.score) for row in plan.rows("red")]
    without = [(row.id, None) for row in plan.rows("red")]
    with opened(subject) as system:
        subject.behave(plan)
        try:
            answer = ask(system)
        except SystemFailedError:
            return
    found = [(hit.doc_id, hit.score) for hit in answer.hits]
    assert found in (right, without), (
        "a score that is null belongs to its own result: either every other result keeps its own "
        f"score, or the answer is an error; the engine gave {right}, the adapter {found}"
    )


def gives_at_most_k(subject: Subject) -> None:
    """Check that an engine that gives more than it was asked for does not lengthen the answer."""
    plan = Plan(Behaviour.ANSWERS, DOC_IDS)
    for k, n in ((3, 3), (1, 1), (len(DOC_IDS), len(DOC_IDS)), (100, len(DOC_IDS))):
        found = ids_of(asked(subject, plan, k=k))
        assert found == list(DOC_IDS[:n]), (
            f"asked for at most {k}, the engine gave {len(DOC_IDS)}: the answer is its first {n}, "
            f"in its order, but the adapter gave {found}"
        )


def passes_duplicates_on(subject: Subject) -> None:
    """Check that an id that comes twice is passed on twice: the scoring tells of it."""
    ids = ("a", "b", "a", "c", "b")
    found = ids_of(asked(subject, Plan(Behaviour.ANSWERS, ids)))
    assert found == list(ids), (
        f"duplicates are passed on as they come, {list(ids)}, but the adapter gave {found}"
    )


def never_alters_ids(subject: Subject) -> None:
    """Check that ids are texts: not trimmed, not normalised, not parsed, not unescaped."""
    found = ids_of(asked(subject, Plan(Behaviour.ANSWERS, ODD_IDS), k=len(ODD_IDS)))
    assert len(found) == len(ODD_IDS), (
        f"the engine gave {len(ODD_IDS)} results, the adapter {len(found)}: {found}"
    )
    altered = [(a, b) for a, b in zip(ODD_IDS, found, strict=True) if a != b]
    assert not altered, f"ids are never altered, but these were (engine's, adapter's): {altered}"


def numbers_become_texts(subject: Subject) -> None:
    """Check that an id that comes as a whole number is its digits, however many they are."""
    ids = ("12", "0", "9007199254740993", "-5")
    found = ids_of(asked(subject, Plan(Behaviour.NUMBER_IDS, ids)))
    assert found == list(ids), (
        f"an id that comes as a number becomes its digits, {list(ids)}, but the adapter gave "
        f"{found}"
    )


def empty_is_an_answer(subject: Subject) -> None:
    """Check that a whole, valid answer without results is an empty answer and no failure."""
    answer = asked(subject, Plan(Behaviour.EMPTY))
    assert not answer.hits, f"the engine found nothing, but the adapter gave {ids_of(answer)}"
    assert answer.is_given, "the engine was asked and said 'nothing': is_given must be True"


def tells_what_is_partial(subject: Subject) -> None:
    """Check that what the engine says of itself is passed on."""
    answer = asked(subject, Plan(Behaviour.PARTIAL))
    assert answer.partial, "the engine said that its answer is partial, but partial is False"
    assert ids_of(answer) == ["a", "b", "c"], "a partial answer keeps the results that came"
    assert not asked(subject, Plan(Behaviour.ANSWERS)).partial, (
        "the engine said that its answer is whole, but partial is True"
    )


def bounds_an_answer(subject: Subject) -> None:
    """Check that an answer beyond `max_bytes` is refused, and never cut or empty."""
    with opened_with_limit(subject, LIMIT_BYTES) as system:
        assert system is not None, (
            "an answer has a limit, and this kind has no key 'max_bytes' to set it; where none can "
            "be too long, say in `cannot` why the engine cannot show 'huge'"
        )
        subject.behave(Plan(Behaviour.ANSWERS))
        assert ids_of(answer_of(system)) == ["a", "b", "c"]
        subject.behave(Plan(Behaviour.HUGE))
        try:
            answer = ask(system)
        except SystemFailedError as error:
            assert "max_bytes" in str(error), (
                f"an answer beyond the limit is an error that names 'max_bytes', not: {error}"
            )
            return
    raise AssertionError(
        f"an answer of 12 MB is beyond max_bytes = {LIMIT_BYTES:,}, and was accepted: "
        f"{ids_of(answer)}"
    )
