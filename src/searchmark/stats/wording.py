"""What was compared and corrected, in plain sentences."""

from collections.abc import Iterator, Sequence

from searchmark.stats.pairing import Pair, Scores

_METHOD = {
    "holm": "Holm's method, so that the chance of calling any difference real by mistake is at "
    "most",
    "bh": "Benjamini and Hochberg's method, so that the share of mistakes among the differences "
    "called real is at most",
}


def what_was_corrected(
    tested: Sequence[Pair], n_untested: int, correction: str, alpha: float
) -> str:
    """Say how many comparisons were tested and what was done about their number."""
    rest = f" {_count(n_untested, 'more comparison')} could not be tested." if n_untested else ""
    if not tested:
        return "No comparison could be tested, so nothing was corrected."
    if len(tested) == 1:
        return f"One comparison was tested, so nothing had to be corrected.{rest}"
    made = f"{len(tested):,} comparisons ({_extent(tested)})"
    if correction == "none":
        return (
            f"The p-values are not corrected, though {made} were tested: by chance alone about "
            f"{100 * alpha:g} in 100 look real.{rest}"
        )
    return (
        f"The p-values are corrected for {made} by {_METHOD[correction]} {100 * alpha:g}%. The "
        f"intervals are not corrected.{rest}"
    )


def _extent(pairs: Sequence[Pair]) -> str:
    systems = len({(p.a, p.b) for p in pairs})
    measures = list(dict.fromkeys(p.measure for p in pairs))
    named = ", ".join(measures)
    return f"{_count(systems, 'pair')} of systems, {_count(len(measures), 'measure')}: {named}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def what_to_know(pairs: Sequence[Pair], scores: Scores) -> Iterator[str]:
    """Yield what the reader of the comparisons needs: queries and measures that one side lacks."""
    yield from _left_out(pairs)
    yield from _lacking(scores)
    clustered = [p for p in pairs if p.n_clusters is not None]
    if clustered:
        counts = sorted({p.n_clusters or 0 for p in clustered})
        n = " to ".join(f"{c:,}" for c in dict.fromkeys((counts[0], counts[-1])))
        clusters = "cluster, which is" if counts[-1] == 1 else "clusters, which are"
        yield (
            f"The queries come in {n} {clusters} taken as a whole: queries of one "
            "cluster are no independent evidence."
        )


def _left_out(pairs: Sequence[Pair]) -> Iterator[str]:
    """Say where two systems do not have the same queries; alike cases share a sentence."""
    every = {p.measure for p in pairs}
    cases: dict[tuple[str, int, int], list[str]] = {}
    for p in pairs:
        if p.n_left_out:
            cases.setdefault((f"{p.b} and {p.a}", p.n, p.n_left_out), []).append(p.measure)
    told: dict[tuple[int, int, str], list[str]] = {}
    for (name, n, out), measures in cases.items():
        where = "" if set(measures) == every else f" on {', '.join(measures)}"
        told.setdefault((n, out, where), []).append(name)
    for (n, out, where), names in told.items():
        if n:
            both = "the one query" if n == 1 else f"the {n:,} queries"
            over = f"over {both} that both have a value for, {out:,} left out"
            yield f"{'; '.join(names)}: compared{where} {over}."
        else:
            yield f"{'; '.join(names)}: not compared{where}, as no query has a value of both."


def _lacking(scores: Scores) -> Iterator[str]:
    """Say which systems have no value of a measure that others have."""
    told: dict[tuple[str, ...], list[str]] = {}
    for measure in dict.fromkeys(measure for of in scores.values() for measure in of):
        without = tuple(system for system, of in scores.items() if measure not in of)
        if without:
            told.setdefault(without, []).append(measure)
    for without, measures in told.items():
        yield f"There is no value of {', '.join(measures)} for {', '.join(without)}."
