"""Why a case fails, and why it could not be seen: a sentence each, or None."""

from searchmark.gate.cases import Case
from searchmark.gate.evidence import Evidence
from searchmark.gate.verdict import TOLERANCE, least_caught

WEAK = 0.25
"""The share of the queries that may be needed for significance before a gate counts as blind."""


def reason(case: Case, evidence: Evidence, alpha: float | None) -> str | None:
    """Say what stands against the candidate; with `alpha` a drop must also be significant."""
    if case.drop is None and case.floor is None:
        return None
    now = case.mean.value
    if now is None:
        # a category may hold no query that a measure counts; then it never had a value
        never = case.category is not None and case.baseline is None and case.floor is None
        return None if never else f"{case.where} has no value: no query counts for it"
    sign = 1.0 if case.higher_is_better else -1.0
    if case.floor is not None and sign * (case.floor - now) > TOLERANCE:
        side = "under its floor of" if case.higher_is_better else "over the most allowed,"
        return f"{case.where} is {now:.4f}, {side} {case.floor:g}"
    if not case.is_beyond:
        return None
    if alpha is None:
        return _too_much(case)
    if not _is_paired(case, evidence):
        return f"{_too_much(case)}; {_not_paired(case, evidence)}"
    if evidence.p_adjusted is None or evidence.p_adjusted > alpha:
        return None
    return f"{_too_much(case)}, and more than chance explains ({_p(evidence)})"


def _is_paired(case: Case, evidence: Evidence) -> bool:
    """Tell whether a loss beyond the limit is one of the pairs, which a test can speak about.

    It is not where the pairs lost no more than is allowed, or where what others make of it, which
    count on one side only, is more than that by itself.
    """
    if case.loss is None or case.limit is None or evidence.loss is None:
        return False
    most = case.limit + TOLERANCE
    return evidence.loss > most and case.loss - evidence.loss <= most


def _not_paired(case: Case, evidence: Evidence) -> str:
    loss = evidence.loss
    if loss is None:
        return "no query has a value in both, so the limit alone decides"
    # measures whose means were given without values a query have pairs that stand still
    word = "worse" if loss > 0 else "better"
    moved = f"got {word} by {abs(loss):.4f}" if abs(loss) > TOLERANCE else "did not move"
    return (
        f"over the {_n(evidence)} with a value in both it {moved}, which does not explain that, "
        "so the limit alone decides"
    )


def blindness(case: Case, evidence: Evidence, alpha: float | None) -> str | None:
    """Say why a loss beyond the limit could have passed: neither shown nor ruled out."""
    limit = case.limit
    if alpha is None or limit is None or case.mean.value is None or not case.can_break:
        return None
    if case.is_beyond:
        if reason(case, evidence, alpha):
            return None
        return (
            f"{_too_much(case)}, but {_n(evidence)} cannot tell that from chance "
            f"({_p(evidence)}); {_unseen(case, evidence)}"
        )
    if not _is_weak(evidence):
        if not evidence.n_moved or (evidence.detectable or float("inf")) <= limit:
            return None
        if evidence.low is not None and evidence.low >= -limit:
            return None
    return (
        f"{case.where}: {_n(evidence)} cannot tell whether a loss of more than the "
        f"{_allowed(case)} allowed is there; {_unseen(case, evidence)}"
    )


def _is_weak(evidence: Evidence) -> bool:
    """Tell whether many of the queries must fall together before anything is significant.

    An interval of so few is not to be trusted either.
    """
    return not evidence.is_testable or evidence.n_needed > WEAK * evidence.n_units


def _too_much(case: Case) -> str:
    return (
        f"{case.where} {_verb(case)} by {case.loss:.4f} ({case.baseline:.4f} -> "
        f"{case.mean.value:.4f}), more than the {_allowed(case)} allowed"
    )


def _verb(case: Case) -> str:
    return "fell" if case.higher_is_better else "rose"


def _allowed(case: Case) -> str:
    """Return the limit as the policy gives it; of a share also what it comes to."""
    return f"{case.drop} ({case.limit:.4f})" if isinstance(case.drop, str) else f"{case.drop:g}"


def _n(evidence: Evidence) -> str:
    n = evidence.n_queries
    text = f"{n:,} {'query' if n == 1 else 'queries'}"
    if evidence.n_units == n:
        return text
    return f"{text} in {evidence.n_units:,} cluster{'' if evidence.n_units == 1 else 's'}"


def _unseen(case: Case, evidence: Evidence) -> str:
    if evidence.n_needed > evidence.n_units:
        return "in so few no loss is ever significant"
    if not evidence.is_testable:
        return "with so many limits tested together no loss is ever significant"
    caught = least_caught(case.limit, evidence.detectable, evidence.standard_error)
    if caught is not None:
        return (
            f"a loss of less than {caught:.4f} can pass unseen (one of just that size does so one "
            "time in five)"
        )
    unit = "queries" if evidence.n_units == evidence.n_queries else "clusters"
    return f"at least {evidence.n_needed} {unit} must get worse before a loss is significant"


def _p(evidence: Evidence) -> str:
    p = evidence.p_adjusted
    return "no p-value" if p is None else "p under 0.0001" if p < 0.0001 else f"p {p:.4f}"
