"""The verdict: pass or fail with reasons, how sure they are, and the queries behind them."""

from collections.abc import Mapping
from dataclasses import dataclass

TOLERANCE = 1e-9
"""Sums in another order differ in the last digits; a drop of exactly the limit passes."""


Z_POWER = 0.8416212335729143
"""The standard normal distribution has four fifths below it."""


def least_caught(
    limit: float | None, detectable: float | None, standard_error: float | None
) -> float | None:
    """Return the smallest true loss that fails in four of five cases, None where it is not known.

    It must be found significant and be measured beyond the limit: what is measured lies around the
    true loss with `standard_error`, so that one of exactly the limit is beyond it every other time.
    Without a `detectable` size the limit alone decides.
    """
    if limit is None or standard_error is None:
        return None
    return max(limit + Z_POWER * standard_error, detectable or 0.0)


@dataclass(frozen=True, slots=True)
class MeasureVerdict:
    """One measure of one scope: a category of the query set, or all queries (None).

    `limit` is the largest drop that passes, None where only a floor is held; delta = candidate -
    baseline. Where lower is better, a drop is a rise and a floor is the most that passes.

    `low` and `high` bound the delta (95%); None where some query counts on one side only, for then
    it is not one of pairs. `paired_delta` is that of the `n_queries` with a value in both. `p` is
    of their one-sided randomization test for a loss, `p_adjusted` after Holm over all that was
    tested; None where nothing was tested. `detectable` is the smallest loss that would be
    significant in four of five cases, `caught` the smallest that would also be measured beyond the
    limit, and so fail. `blind` says why the gate could not see a loss beyond the limit,
    None where it could or where no significance is asked for.
    """

    measure: str
    category: str | None
    baseline: float | None
    candidate: float | None
    limit: float | None
    floor: float | None
    because: str | None
    higher_is_better: bool = True
    n_queries: int = 0
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    detectable: float | None = None
    blind: str | None = None
    standard_error: float | None = None
    caught: float | None = None
    paired_delta: float | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing stands against it."""
        return self.because is None

    @property
    def delta(self) -> float | None:
        """Candidate minus baseline, where both have a value."""
        if self.baseline is None or self.candidate is None:
            return None
        return self.candidate - self.baseline

    @property
    def loss(self) -> float | None:
        """How much worse the candidate is; negative where it is better."""
        return None if self.delta is None else -self.delta if self.higher_is_better else self.delta


@dataclass(frozen=True, slots=True)
class QueryChange:
    """One query whose value moved."""

    query_id: str
    text: str
    measure: str
    baseline: float
    candidate: float
    higher_is_better: bool = True

    @property
    def delta(self) -> float:
        """Candidate minus baseline."""
        return self.candidate - self.baseline

    @property
    def loss(self) -> float:
        """How much worse the candidate is; negative where it is better."""
        return -self.delta if self.higher_is_better else self.delta


@dataclass(frozen=True, slots=True)
class PinnedVerdict:
    """A query that must never get worse: `changes` are its gated measures, the moved and the not.

    `because` names the measures in which it got worse, or says that nothing could be compared.
    """

    query_id: str
    text: str
    changes: tuple[QueryChange, ...]
    because: str | None

    @property
    def ok(self) -> bool:
        """Whether nothing stands against it."""
        return self.because is None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Pass or fail with reasons; `worst_queries` lost most, one row a query.

    `n_better` and `n_worse` count the queries that moved, by measure. `notes` say what was allowed
    and what was left out. `alpha` is the level asked for, None where `max_drop` alone decides.
    `caveats` are those of the notes that tell of failed queries and partial answers, within the
    limits of the run. `suggestions` say what to do next; `suggested_max_drop` is the smallest loss
    that every gated measure would show, None where it cannot be computed.
    """

    system: str
    measures: tuple[MeasureVerdict, ...]
    categories: tuple[MeasureVerdict, ...]
    worst_queries: tuple[QueryChange, ...]
    n_better: Mapping[str, int]
    n_worse: Mapping[str, int]
    notes: tuple[str, ...] = ()
    pinned: tuple[PinnedVerdict, ...] = ()
    alpha: float | None = None
    suggestions: tuple[str, ...] = ()
    suggested_max_drop: float | None = None
    caveats: tuple[str, ...] = ()

    @property
    def because(self) -> tuple[str, ...]:
        """Every reason against the candidate."""
        reasons = [v.because for v in (*self.measures, *self.categories)]
        reasons += [v.because for v in self.pinned]
        return tuple(filter(None, reasons))

    @property
    def blind(self) -> tuple[str, ...]:
        """Every limit that these queries cannot enforce: a loss beyond it may have passed."""
        return tuple(v.blind for v in (*self.measures, *self.categories) if v.blind)

    @property
    def passed(self) -> bool:
        """Whether nothing stands against the candidate."""
        return not self.because
