"""The three ways on after a diagnosis, the one that fits the verdict first."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from searchmark.diagnosis.completion import Completion
from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.rollup import Group, best_of, rise_of
from searchmark.diagnosis.trust import what_is_missing
from searchmark.diagnosis.wording import counted, listed

Way = Literal["restart", "deploy", "experiment"]

FEW = 5
"""A capability with fewer queries is judged on too little."""


class Step(NamedTuple):
    """One way on: its name, a heading, a sentence for this setup, and whether it is advised."""

    way: Way
    title: str
    text: str
    is_recommended: bool


def what_next(
    groups: Sequence[Group], setup: Evidence, completion: Completion, serving: str | None = None
) -> tuple[Step, ...]:
    """Return the three ways on, the recommended one first.

    Parameters
    ----------
    groups
        The findings as `roll_up` gathers them.
    setup
        The evidence that they were found in.
    completion
        The verdict.
    serving
        The system that serves users; by default the one with the best mean.

    Notes
    -----
    Experimenting is advised where answers or judgments are missing on a large scale, and where
    nothing passed although nothing was found; deploying where the verdict passed without a HIGH
    finding; restarting otherwise.
    """
    advised = _advised(groups, setup, completion)
    texts: dict[Way, tuple[str, str]] = {
        "restart": ("Restart with the improvements applied", _restart(groups, setup)),
        "deploy": ("Deploy as it is", _deploy(groups, setup, completion, serving)),
        "experiment": ("Keep experimenting", _experiment(groups, setup)),
    }
    ways = sorted(texts, key=lambda way: way != advised)
    return tuple(Step(way, *texts[way], is_recommended=way == advised) for way in ways)


def _advised(groups: Sequence[Group], setup: Evidence, completion: Completion) -> Way:
    if what_is_missing(groups, setup) is not None:
        return "experiment"
    has_high = any(g.severity == "HIGH" for g in groups)
    if completion.passed and not has_high:
        return "deploy"
    return "restart" if groups else "experiment"


def _restart(groups: Sequence[Group], setup: Evidence) -> str:
    mended = [g for g in groups if g.tag not in ("JUDGMENTS", "RELIABILITY")]
    if not mended:
        return "Nothing was found that a change of the configuration would mend."
    rise = rise_of([f for g in mended for f in g.findings], setup)
    worth = "no mean would change, though what users see would"
    if rise.mean is not None and rise.after is not None and rise.overall >= 0.0005:
        worth = (
            f"were all of them mended, the mean {setup.measure} over all systems would go from "
            f"{rise.mean:.3f} to {rise.after:.3f}"
        )
    n = counted(sum(g.n_findings for g in mended), "finding")
    return (
        f"Mend {n} in {listed([g.tag for g in mended])} and diagnose again; --restart writes what "
        f"a project file can hold into a new one, to review as a diff, and tells the rest; {worth}."
    )


def _deploy(
    groups: Sequence[Group], setup: Evidence, completion: Completion, serving: str | None
) -> str:
    if serving in setup.invalid:
        return f"There is nothing to deploy yet: the run of {serving} is no measurement."
    setup = setup.counted
    means = {s.name: m for s in setup.systems if (m := setup.mean(s.name)) is not None}
    system = serving if serving in means else best_of(means)
    if system is None:
        return "There is nothing to deploy yet: no system has a value."
    shown = f"{system} (mean {setup.measure} {means[system]:.3f})"
    if completion.passed:
        kept = _kept(groups, system)
        return (
            f"Ship {shown}: the verdict is passed; {kept}keep its numbers with 'searchmark "
            "baseline accept' and let 'searchmark gate' watch them."
        )
    return f"Ship {shown} only where that is good enough for now: the verdict is not passed."


def _kept(groups: Sequence[Group], system: str) -> str:
    """Say how many findings users of the system will meet."""
    found = [f for g in groups for f in g.findings if system in f.systems]
    n_worse = sum(f.severity != "LOW" for f in found)
    if not n_worse:
        return ""
    verb = "goes" if n_worse == 1 else "go"
    return f"{counted(n_worse, 'finding')} above LOW {verb} with it; "


def _experiment(groups: Sequence[Group], setup: Evidence) -> str:
    ideas = [*_untrusted_ideas(groups, setup), *_ideas(setup)]
    if not ideas:
        ideas = ["try other models, fields and weights, and compare them with 'searchmark compare'"]
    sentence = "; ".join(ideas)
    return sentence[0].upper() + sentence[1:] + "."


def _untrusted_ideas(groups: Sequence[Group], setup: Evidence) -> Iterator[str]:
    if what_is_missing(groups, setup) is not None:
        yield "get the missing answers and judgments first: no number can be trusted before"


def _ideas(setup: Evidence) -> Iterator[str]:
    """Yield what would make the next diagnosis say more."""
    if setup.n_unjudged_queries:
        yield f"judge the {counted(setup.n_unjudged_queries, 'query')} without judgments"
    counts = Counter(q.capability.name for q in setup.queries)
    few = [f"{name} ({n})" for name, n in counts.items() if n < FEW]
    if few:
        yield f"add queries of the kinds that have fewer than {FEW}: {listed(few)}"
    if len(setup.systems) == 1:
        yield "add a second system to compare with"
