"""The steps of a guided evaluation, and which one comes next."""

from typing import NamedTuple

STEPS = {
    "documents": "where the documents are",
    "queries": "what people search for",
    "project": "the project file",
    "run": "every query asked of every system",
    "judge": "every document near the top graded",
    "metrics": "how good each system is",
    "findings": "what is wrong and what to try",
    "next": "the ways on",
}
"""Step -> what it settles, in order."""


class Facts(NamedTuple):
    """How far a guided evaluation has come, as its files tell.

    `n_unanswered` are queries that a system was not asked yet, `n_unjudged` documents within the
    cutoff that nobody graded or skipped; None where that cannot be known yet.
    """

    has_documents: bool = False
    has_queries: bool = False
    has_project: bool = False
    n_unanswered: int | None = None
    n_unjudged: int | None = None


def next_step(facts: Facts) -> str:
    """Return the first step that is not finished; a project file stands for all before it."""
    if not facts.has_project:
        if not facts.has_documents:
            return "documents"
        return "project" if facts.has_queries else "queries"
    if facts.n_unanswered is None or facts.n_unanswered:
        return "run"
    return "judge" if facts.n_unjudged is None or facts.n_unjudged else "metrics"


def heading(step: str) -> str:
    """Return the line that a step begins with."""
    return f"Step {number(step)} of {len(STEPS)}, {step}: {STEPS[step]}"


def number(step: str) -> int:
    """Return a step's place, from 1."""
    return list(STEPS).index(step) + 1
