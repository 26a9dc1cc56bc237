"""Several rankings into one, by rank alone."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.retrieval.ordering import Scored


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[int] | NDArray[np.int64]], k: float = 60
) -> Scored:
    """Fuse rankings: a document earns ``1 / (k + rank)`` from each one that has it.

    Parameters
    ----------
    rankings : sequence of sequences of int
        Rows of the corpus, best first, one sequence an arm. An arm that found nothing, or that is
        not there at all, contributes nothing. Of a row that stands in a ranking twice, the first
        place counts.
    k : float, default 60
        Finite and at least 0: how little the first places weigh more than the next ones.

    Returns
    -------
    Scored
        Every row that any ranking has, ascending, with scores in (0, n_rankings / (k + 1)].

    Raises
    ------
    InputError
        When `k` is negative or not finite.

    Notes
    -----
    Contributions are added smallest first, so the score depends on which ranks a document has and
    not on which arm gave them: ranks (1, 3) and (3, 1) tie to the last bit.

    References
    ----------
    G. V. Cormack, C. L. A. Clarke, S. Buettcher: Reciprocal rank fusion outperforms Condorcet and
    individual rank learning methods. SIGIR 2009.

    Examples
    --------
    >>> fused = reciprocal_rank_fusion([[7, 5], [5]], k=1)
    >>> fused.rows.tolist()  # row 5: 1/3 + 1/2; row 7: 1/2
    [5, 7]
    >>> fused.scores.round(3).tolist()
    [0.833, 0.5]
    """
    if not 0 <= k < float("inf"):
        raise InputError(f"the constant k of reciprocal rank fusion is {k:g}", fix="give 0 or more")
    firsts = [np.unique(np.asarray(r, np.int64), return_index=True) for r in rankings]
    rows = np.unique(np.concatenate([np.empty(0, np.int64), *(found for found, _ in firsts)]))
    shares = np.zeros((len(firsts), len(rows)))
    for share, (found, first) in zip(shares, firsts, strict=True):
        share[np.searchsorted(rows, found)] = 1.0 / (k + 1 + first)
    shares.sort(axis=0)
    scores = np.zeros(len(rows))
    for share in shares:
        scores += share
    return Scored(rows, scores)
