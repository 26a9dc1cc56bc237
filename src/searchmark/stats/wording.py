"""What was compared and corrected, in plain sentences."""

from collections.abc import Iterator, Sequence

from searchmark.stats.pairing import Pair

_METHOD = {
    "holm": "by Holm's method: with {}% chance at most is any difference called real that is not",
    "bh": "by Benjamini and Hochberg's method: of the differences called real, {}% at most are not",
}


def what_was_corrected(pairs: Sequence[Pair], n_tested: int, correction: str, alpha: float) -> str:
    """Say how many comparisons were made and what was done about their number."""
    if not n_tested:
        return "No comparison could be tested, so nothing was corrected."
    untested = len(pairs) - n_tested
    rest = f" {_count(untested, 'more comparison')} could not be tested." if untested else ""
    if n_tested == 1:
        return f"One comparison was tested, so nothing had to be corrected.{rest}"
    made = f"{n_tested} comparisons ({_extent(pairs)})"
    if correction == "none":
        return (
            f"The p-values are not corrected, though {made} were tested: by chance alone about "
            f"{100 * alpha:g} in 100 look real.{rest}"
        )
    return (
        f"The p-values are corrected for {made} "
        f"{_METHOD[correction].format(f'{100 * alpha:g}')}. The intervals are not corrected.{rest}"
    )


def _extent(pairs: Sequence[Pair]) -> str:
    systems = len({(p.a, p.b) for p in pairs})
    measures = list(dict.fromkeys(p.measure for p in pairs))
    named = ", ".join(measures)
    return f"{_count(systems, 'pair')} of systems, {_count(len(measures), 'measure')}: {named}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def what_to_know(pairs: Sequence[Pair], systems: Sequence[str]) -> Iterator[str]:
    """Yield what the reader of the comparisons needs: queries and measures that one side lacks."""
    yield from _left_out(pairs)
    yield from _lacking(pairs, systems)
    clustered = [p for p in pairs if p.n_clusters is not None]
    if clustered:
        counts = sorted({p.n_clusters or 0 for p in clustered})
        n = " to ".join(f"{c:,}" for c in dict.fromkeys((counts[0], counts[-1])))
        clusters = "cluster" if counts[-1] == 1 else "clusters"
        yield (
            f"The queries come in {n} {clusters}, which are taken as a whole: queries of one "
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
    for (names, n, out), measures in cases.items():
        where = "" if set(measures) == every else f" on {', '.join(measures)}"
        told.setdefault((n, out, where), []).append(names)
    for (n, out, where), names_of in told.items():
        over = f"over the {n:,} that both have a value for, {out:,} left out"
        yield (
            f"{'; '.join(names_of)}{where} do not have the same queries: "
            f"{over if n else 'there is none that both have a value for'}."
        )


def _lacking(pairs: Sequence[Pair], systems: Sequence[str]) -> Iterator[str]:
    """Say which measures were compared for some systems only."""
    told: dict[tuple[str, ...], list[str]] = {}
    for measure in dict.fromkeys(p.measure for p in pairs):
        there = {name for p in pairs if p.measure == measure for name in (p.a, p.b)}
        without = tuple(s for s in systems if s not in there)
        if without:
            told.setdefault(without, []).append(measure)
    for without, measures in told.items():
        yield f"{', '.join(without)}: not compared on {', '.join(measures)}, of which {_has(without)} no value."


def _has(names: Sequence[str]) -> str:
    return "it has" if len(names) == 1 else "they have"
