"""When a run is no measurement: given up, too much of it failed or partial, or all missing."""

from collections.abc import Iterator, Sequence

from searchmark.experiments.journal import Call
from searchmark.experiments.soundness import shown
from searchmark.systems.policy import CallPolicy


def why_invalid(calls: Sequence[Call], policy: CallPolicy) -> str | None:
    """Return why the scores of these calls are no measurement; None where they are one."""
    n, n_failed, n_partial = len(calls), sum(c.is_failure for c in calls), count_partial(calls)
    n_unasked = sum(c.status == "unasked" for c in calls)
    if n_unasked:
        return f"the run was given up, and {n_unasked} of {n} queries were not asked"
    if n and count_missing(calls) == n:  # 0 would be the value of a file for other queries
        return f"{_none_held(calls)}; {_LOOK}"
    reasons = []
    if _is_beyond(n_failed, policy.max_error_share, n):
        reasons.append(f"{n_failed} of {n} queries failed{_beyond(policy)}")
    if _is_beyond(n_partial, policy.partial_share, n):
        reasons.append(f"{n_partial} of {n} answers are partial{_beyond(policy, partial=True)}")
    return " and ".join(reasons) or None


def count_partial(calls: Sequence[Call]) -> int:
    """Return in how many answers a part of the system did not take part."""
    return sum(c.partial and not c.is_failure for c in calls)


def count_missing(calls: Sequence[Call]) -> int:
    """Return how many queries the run file does not hold."""
    return sum(c.status == "missing" for c in calls)


def _none_held(calls: Sequence[Call]) -> str:
    first = shown(calls[0].query_id)
    if len(calls) == 1:
        return f"its file does not hold the only query, {first}"
    return f"its file holds none of the {len(calls)} queries, such as {first}"


_LOOK = (
    "compare its query ids or texts with the query set's, and check columns, match, where, since "
    "and until"
)


def _is_beyond(n_bad: int, share: float, n: int) -> bool:
    return n_bad > round(share * n, 9)  # 0.29 * 100 is a little below 29


def _beyond(policy: CallPolicy, *, partial: bool = False) -> str:
    limit = _limit(policy) if partial else _error_limit(policy)
    share = policy.partial_share if partial else policy.max_error_share
    return f", more than {limit} allows" if share else ""


def _error_limit(policy: CallPolicy) -> str:
    return f"max_error_share = {policy.max_error_share:g}"


def _limit(policy: CallPolicy) -> str:
    """Return the limit of partial answers as the project file has it."""
    own = policy.max_partial_share
    return _error_limit(policy) if own is None else f"max_partial_share = {own:g}"


def failure_sentence(system: str, calls: Sequence[Call], policy: CallPolicy) -> str:
    """Return what to tell of a run that is no measurement: what happened, and how to go on."""
    if calls and count_missing(calls) == len(calls):
        return f"system '{system}' measures nothing: {_none_held(calls)}; {_LOOK}"
    failed = [c for c in calls if c.is_failure]
    unasked = [c for c in failed if c.status == "unasked"]
    if unasked:
        n_done = sum(not (c.is_failure or c.partial) for c in calls)
        why, _, last = (unasked[0].error or "").removeprefix(NOT_ASKED).partition(LAST_ERROR)
        return (
            f"system '{system}' was given up {why}; {n_done} of {len(calls)} queries are answered "
            f"and kept, and the same command goes on with the rest{LAST_ERROR}{last}"
        )
    if not _is_beyond(len(failed), policy.max_error_share, len(calls)):
        return _partial_sentence(system, calls, policy)
    more = f", and on {len(failed) - 1} more" if len(failed) > 1 else ""
    share = policy.max_error_share
    limit = f" ({_error_limit(policy)} of {len(calls)} queries)" if share else ""
    n_partial = count_partial(calls)
    beside = f"; {n_partial} more answers are partial" if n_partial else ""
    again = "failed queries and those answered in part" if n_partial else "failed queries"
    return (
        f"system '{system}' failed on query {shown(failed[0].query_id)}{more}{limit}: "
        f"{failed[0].error}{beside}; the answers so far are kept, and the same command asks only "
        f"the {again} again"
    )


def _partial_sentence(system: str, calls: Sequence[Call], policy: CallPolicy) -> str:
    first = next(c.query_id for c in calls if c.partial and not c.is_failure)
    n_partial = count_partial(calls)
    many = f", {n_partial} in all" if n_partial > 1 else ""
    limit = f" ({_limit(policy)})" if policy.partial_share else ""
    return (
        f"system '{system}' gave only a partial answer to query {shown(first)}{many} of "
        f"{len(calls)}{limit}: a part of it failed or did not take part; the whole answers "
        "are kept, and the same command asks only the others again; where this is how it serves "
        f"users, say so with max_partial_share = {_share_for(n_partial, len(calls)):g} in its table"
    )


def _share_for(n_bad: int, n: int) -> float:
    """Return the smallest share in hundredths that allows so many."""
    return next(x / 100 for x in range(101) if not _is_beyond(n_bad, x / 100, n))


def caveats_of(system: str, calls: Sequence[Call], policy: CallPolicy) -> Iterator[str]:
    """Yield what to know of a run that counts although answers are missing, or not whole."""
    n, n_failed, n_partial = len(calls), sum(c.is_failure for c in calls), count_partial(calls)
    if n_failed:
        yield (
            f"{system}: {n_failed} of {n} queries failed, within its {_error_limit(policy)}; "
            "they count as missing."
        )
    if n_partial:
        yield (
            f"{system}: {n_partial} of {n} answers are partial, within its {_limit(policy)}: a "
            "part of the system did not take part in them, and its scores are of what was left."
        )
    yield from missing_notes(system, calls)


def missing_notes(system: str, calls: Sequence[Call]) -> Iterator[str]:
    """Yield what to know of a run file that does not hold every query."""
    if n_missing := count_missing(calls):
        first = next(c.query_id for c in calls if c.status == "missing")
        such = f", such as {shown(first)}" if n_missing > 1 else f" ({shown(first)})"
        yield (
            f"{system}: its file does not hold {n_missing} of {len(calls)} queries{such}: missing "
            "ones count 0, or are left out where a measure has missing=skip."
        )


def not_asked(why: str, last_error: str) -> str:
    """Return the error of a query that was not asked any more."""
    return f"{NOT_ASKED}{why}{LAST_ERROR}{last_error}"


NOT_ASKED, LAST_ERROR = "not asked ", "; the last error: "
