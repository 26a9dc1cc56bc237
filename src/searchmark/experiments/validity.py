"""When a run is no measurement: too many of its queries failed, or it was given up."""

from collections.abc import Sequence

from searchmark.experiments.journal import Call
from searchmark.systems.policy import CallPolicy


def why_invalid(calls: Sequence[Call], policy: CallPolicy) -> str | None:
    """Return why the scores of these calls are no measurement; None where they are one."""
    n, n_failed = len(calls), sum(c.is_failure for c in calls)
    n_unasked = sum(c.status == "unasked" for c in calls)
    if n_unasked:
        return f"the run was given up, and {n_unasked} of {n} queries were not asked"
    if n_failed <= round(policy.max_error_share * n, 9):  # 0.29 * 100 is a little below 29
        return None
    least = f", more than max_error_share = {policy.max_error_share:g} allows"
    return f"{n_failed} of {n} queries failed{least if policy.max_error_share else ''}"


def failure_sentence(system: str, calls: Sequence[Call], policy: CallPolicy) -> str:
    """Return what to tell of a run that is no measurement: what happened, and how to go on."""
    failed = [c for c in calls if c.is_failure]
    unasked = [c for c in failed if c.status == "unasked"]
    if unasked:
        n_done = sum(not (c.is_failure or c.partial) for c in calls)
        why, _, last = (unasked[0].error or "").removeprefix(NOT_ASKED).partition(LAST_ERROR)
        return (
            f"system '{system}' was given up {why}; {n_done} of {len(calls)} queries are answered "
            f"and kept, and the same command goes on with the rest{LAST_ERROR}{last}"
        )
    more = f", and on {len(failed) - 1} more" if len(failed) > 1 else ""
    share = policy.max_error_share
    limit = f" (max_error_share = {share:g} of {len(calls)} queries)" if share else ""
    return (
        f"system '{system}' failed on query '{failed[0].query_id}'{more}{limit}: "
        f"{failed[0].error}; the answers so far are kept, and the same command asks only the "
        "failed queries again"
    )


def not_asked(n_in_row: int, last_error: str) -> str:
    """Return the error of a query that was not asked any more."""
    n = f"{n_in_row} failed queries in a row" if n_in_row > 1 else "a failed query"
    return f"{NOT_ASKED}after {n}{LAST_ERROR}{last_error}"


NOT_ASKED, LAST_ERROR = "not asked ", "; the last error: "
