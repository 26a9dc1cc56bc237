"""What a result list costs its reader: tokens, and quality minus the tokens that were wasted."""

from dataclasses import replace

import numpy as np

from searchmark.errors import InputError
from searchmark.measures.coverage import results_within
from searchmark.measures.ndcg import ndcg
from searchmark.measures.precision import recall
from searchmark.measures.spec import DOCS, Edges, Measure, Param, Spec, Values
from searchmark.measures.view import Floats, Ints, View, rank_within


def tokens(shown: View, measure: Measure) -> Values:
    """Add up the tokens of the results within the cutoff.

    Parameters
    ----------
    shown
        Hits by query and rank, with the tokens of every result.
    measure
        `cutoff` k or None; `tokens`, one number for every result where none were measured.

    Returns
    -------
    Tokens, shape (n_queries,), 0 or more.

    Raises
    ------
    InputError
        Where the run has no tokens and no number was given.

    Examples
    --------
    Two results within the cutoff, 150 tokens each:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 3.0, "x": 2.0, "y": 1.0}}
    >>> score_dicts({"q": {"a": 2}}, run, "Tokens(tokens=150)@2")["q"]
    300.0
    """
    if measure["tokens"] is not None:
        return measure.number("tokens") * results_within(shown, measure.cutoff)
    query = np.repeat(np.arange(shown.n_queries), shown.n_retrieved)
    keep = slice(None) if measure.cutoff is None else rank_within(query) <= measure.cutoff
    return shown.total(query[keep], _measured(shown, measure)[keep])


def signal_to_noise(shown: View, measure: Measure) -> Values:
    """Quality in points minus what the reader wasted on results that are not right.

    Parameters
    ----------
    shown
        Hits by query and rank, with the tokens of every result.
    measure
        `cutoff` k or None; `rel` and `docs`, which say what is right; `tokens`, one number for
        every result where none were measured; the constants of the formula: `recall`, `ndcg`,
        `knee`, `slow`, `steep`, `void`.

    Returns
    -------
    Points, shape (n_queries,), at most 100 with the default constants, not clamped below; NaN where
    nothing is right.

    Raises
    ------
    InputError
        Where the run has no tokens and no number was given.

    Notes
    -----
    ``100 * (0.7 * R@k + 0.3 * nDCG@k) - waste(w)``, both with binary gain over the right
    documents: grade at least 2, and the flag of `docs` true. w is the tokens of the results within
    k that are not right, unjudged ones included; right ones are free.
    ``waste(w) = 1.4 * min(w, 500)/100 + 4.5 * max(w - 500, 0)/100``. A query without results
    counts as w = 1500.

    Examples
    --------
    The right document at rank 1 and one of 200 tokens too many: 100 - 1.4 * 2:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 2.0, "x": 1.0}}
    >>> round(score_dicts({"q": {"a": 2}}, run, "SNR(tokens=200)@5")["q"], 6)
    97.2
    """
    binary = replace(measure, params=(*measure.params, ("gain", "binary")))
    quality = measure.number("recall") * recall(shown, measure)
    quality = quality + measure.number("ndcg") * ndcg(shown, binary)
    wasted = tokens(shown, measure) - _useful(shown, measure)
    return 100 * quality - _waste(np.where(shown.n_retrieved > 0, wasted, np.inf), measure)


def _waste(wasted: Floats, measure: Measure) -> Floats:
    """Return the points lost; infinite waste stands for an empty list."""
    amount = np.where(np.isinf(wasted), measure.number("void"), wasted)
    knee = measure.number("knee")
    below = measure.number("slow") * np.minimum(amount, knee) / 100
    return below + measure.number("steep") * np.maximum(amount - knee, 0) / 100


def _useful(shown: View, measure: Measure) -> Floats:
    """Return the tokens of the right documents within the cutoff."""
    right = shown.within(measure.cutoff) & (shown.grade >= measure.integer("rel"))
    query, rank = shown.query[right], shown.rank[right]
    if measure["tokens"] is not None:
        return measure.number("tokens") * shown.count(query)
    return shown.total(query, _measured(shown, measure)[_first_rows(shown)[query] + rank - 1])


def _first_rows(shown: View) -> Ints:
    return np.cumsum(shown.n_retrieved) - shown.n_retrieved


def _measured(shown: View, measure: Measure) -> Floats:
    if shown.hits.tokens is None:
        raise InputError(
            f"{measure} needs to know how many tokens each result has, and the run does not say",
            fix=f"give the run a column 'tokens', or write {measure.spec.name}(tokens=N) for a "
            "flat number",
        )
    if not (shown.hits.tokens >= 0).all():
        raise InputError(
            f"{measure}: a result has no tokens or fewer than 0",
            fix="give every row of the run a number in 'tokens'",
        )
    return shown.hits.tokens


FLAT = Param(
    "tokens of every result; without it those of the run's column `tokens`",
    None,
    low=0,
    kind="number",
)

TOKENS = Spec(
    name="Tokens",
    summary="tokens of the results within the cutoff: what a reader has to take in",
    compute=tokens,
    params={"tokens": FLAT},
    high=None,
    higher_is_better=False,
    has_ceiling=False,
    empty=None,
    missing="skip",
    ties="unknown",
    edges=Edges(
        nothing_relevant="no matter",
        nothing_retrieved="0 for an empty answer; a query without an answer is left out",
        nothing_judged="no matter",
        fewer_results="those there are",
        negative_grades="no matter",
    ),
)

SNR = Spec(
    name="SNR",
    summary="quality in points minus the tokens spent on results that are not right",
    compute=signal_to_noise,
    params={
        "rel": Param("the least grade that is right", 2, low=1, kind="whole number"),
        "docs": DOCS,
        "tokens": FLAT,
        "recall": Param("weight of R@k", 0.7, kind="number"),
        "ndcg": Param("weight of nDCG@k", 0.3, kind="number"),
        "knee": Param("tokens from which waste costs more", 500.0, low=0, kind="number"),
        "slow": Param("points a 100 wasted tokens below the knee", 1.4, kind="number"),
        "steep": Param("points a 100 wasted tokens above the knee", 4.5, kind="number"),
        "void": Param("wasted tokens of an empty list", 1500.0, low=0, kind="number"),
    },
    low=None,
    high=100.0,
    empty=None,
    missing=None,
    ties="unknown",
    edges=Edges(
        nothing_relevant="undefined, left out",
        nothing_retrieved="counts as 1500 wasted tokens (`void`): -52",
        nothing_judged="all their tokens are wasted",
        fewer_results="fewer tokens to waste",
    ),
)
