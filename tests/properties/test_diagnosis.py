"""What holds of the comparing rules whatever systems return."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st

from searchmark.diagnosis.diagnose import diagnose
from searchmark.diagnosis.evidence import Evidence, Kind, Part, QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.table import COMPARING, EVERY_SYSTEM_FAILS, RULES

from ..unit.diagnosis.making import evidence, query

quiet = settings(max_examples=150, deadline=None)

OURS = (EVERY_SYSTEM_FAILS, *COMPARING)
OTHERS = [name for name in RULES.targets() if name not in OURS]

DOCS = tuple(f"d{i}" for i in range(9))
KINDS: Mapping[str, Kind] = {
    "bm25": "lexical",
    "strict": "lexical",
    "dense": "vector",
    "fused": "hybrid",
    "ours": "",
    "theirs": "",
}
ARMS = {"fused": ("bm25", "dense")}
FIELDS = {"bm25": ("title",), "strict": ("title",), "dense": ("title", "text")}
COLUMNS = ("title", "text", "tags")

some_words = st.sets(st.sampled_from(("weather", "forecast", "radar", "storm")))


@st.composite
def setups(draw: st.DrawFn) -> Evidence:
    """Draw up to three queries that the same systems answered; calls may fail."""
    systems = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, unique=True))
    k = draw(st.integers(1, 5))
    corpus = [
        {"doc_id": d, **{f: " ".join(sorted(draw(some_words))) for f in COLUMNS}}
        for d in DOCS[:8]  # d8 is judged and returned, but not in the corpus
    ]
    queries = [_query(draw, f"q{i}", systems, k) for i in range(draw(st.integers(1, 3)))]
    return evidence(*queries, corpus=corpus, off=OTHERS)


def _query(draw: st.DrawFn, query_id: str, systems: Sequence[str], k: int) -> QueryEvidence:
    judged = draw(st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3), min_size=1))
    ranked = {s: draw(st.lists(st.sampled_from(DOCS), unique=True)) for s in systems}
    failed = {s: "error" for s in systems if not ranked[s] and draw(st.booleans())}
    return query(
        judged,
        {s: (KINDS[s], docs) for s, docs in ranked.items()},
        k=k,
        query_id=query_id,
        text=draw(st.sampled_from(("weather forecast", "radar", "tornado"))),
        capability=draw(st.sampled_from(("semantic", "structured", "fuzzy"))),
        complete=draw(st.booleans()),
        status=failed,
        arms={s: tuple(a for a in ARMS[s] if a in systems) for s in ARMS},
        fields=FIELDS,
    )


def changed(setup: Evidence, change: Callable[[QueryEvidence], QueryEvidence]) -> Evidence:
    queries = tuple(change(q) for q in setup.queries)
    return replace(setup, queries=queries, systems=tuple(r.system for r in queries[0].rankings))


def rebuilt(made: QueryEvidence, ranked: Mapping[str, Sequence[str]]) -> QueryEvidence:
    """Build a query again with other rankings."""
    parts = {r.name: r.system for r in made.rankings}
    return query(
        made.judged,
        {s: (parts[s].kind, docs) for s, docs in ranked.items()},
        k=made.k,
        query_id=made.query_id,
        text=made.text,
        capability=made.capability.name,
        complete=made.complete,
        status={r.name: "error" for r in made.rankings if r.is_failure and not ranked[r.name]},
        arms={s: p.arms for s, p in parts.items()},
        fields={s: p.fields for s, p in parts.items() if p.fields is not None},
    )


def ranked_in(made: QueryEvidence) -> dict[str, list[str]]:
    return {r.name: [p.doc_id for p in r.documents] for r in made.rankings}


def loose(finding: Finding) -> Any:
    """Return a finding as it is in whatever order the systems are."""
    names = {
        key: tuple(sorted(value.split(", "))) if isinstance(value, str) else value
        for key, value in finding.evidence.items()
    }
    return (
        (finding.rule, finding.severity, finding.tag, finding.query_id, finding.documents),
        frozenset(finding.systems),
        frozenset(names.items()),
        frozenset(finding.repaired.items()),
    )


@quiet
@given(setups(), st.randoms(use_true_random=False))
def test_a_perfect_run_has_no_findings(setup: Evidence, random: Random) -> None:
    def best(made: QueryEvidence) -> list[str]:
        mixed = random.sample(list(made.judged), len(made.judged))  # those alike in any order
        return sorted(mixed, key=lambda d: -max(made.judged[d], 0))

    perfect = changed(setup, lambda q: rebuilt(q, {r.name: best(q) for r in q.rankings}))
    assert diagnose(perfect) == ()


@quiet
@given(setups(), st.permutations(list(KINDS)))
def test_other_names_give_the_same_findings_under_these_names(
    setup: Evidence, names: list[str]
) -> None:
    new = dict(zip(KINDS, names, strict=True))

    def renamed(made: QueryEvidence) -> QueryEvidence:
        rankings = (replace(r, system=part(r.system)) for r in made.rankings)
        return replace(made, rankings=tuple(rankings))

    def part(old: Part) -> Part:
        return old._replace(name=new[old.name], arms=tuple(new[a] for a in old.arms))

    assert diagnose(changed(setup, renamed)) == tuple(said_of(f, new) for f in diagnose(setup))


def said_of(finding: Finding, new: Mapping[str, str]) -> Finding:
    """Return a finding with the names of systems put otherwise, also inside sentences."""

    def swap(text: str) -> str:
        return re.sub("|".join(KINDS), lambda found: new[found[0]], text)

    evidence = {k: swap(v) if isinstance(v, str) else v for k, v in finding.evidence.items()}
    return replace(
        finding,
        what=swap(finding.what),
        fix=swap(finding.fix),
        systems=tuple(new[s] for s in finding.systems),
        evidence=evidence,
        repaired={new[s]: v for s, v in finding.repaired.items()},
    )


@quiet
@given(setups(), st.randoms(use_true_random=False))
def test_the_order_of_systems_does_not_matter(setup: Evidence, random: Random) -> None:
    order = random.sample(range(len(setup.systems)), len(setup.systems))
    mixed = changed(setup, lambda q: replace(q, rankings=tuple(q.rankings[i] for i in order)))
    assert {loose(f) for f in diagnose(mixed)} == {loose(f) for f in diagnose(setup)}


@quiet
@given(setups(), st.data())
def test_a_better_document_never_adds_a_high_finding(setup: Evidence, data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from(setup.queries))
    name = data.draw(st.sampled_from([s.name for s in setup.systems]))
    # without an answer there is nothing to better: an outage is another rule's finding
    assume(chosen.ranking(name).status in ("ok", "empty"))
    ranked = ranked_in(chosen)
    place = data.draw(st.integers(0, len(ranked[name])))
    here = chosen.gains.get(ranked[name][place], 0.0) if place < len(ranked[name]) else 0.0
    better = [d for d in DOCS if chosen.gains.get(d, 0.0) > here]
    assume(better)
    put(data.draw(st.sampled_from(better)), place, ranked[name])
    improved = changed(setup, lambda q: rebuilt(q, ranked) if q is chosen else q)
    before, after = highs(diagnose(setup)), highs(diagnose(improved))
    assert after <= before


def put(doc_id: str, place: int, ranked: list[str]) -> None:
    """Put a document at a place: in exchange where it is ranked, otherwise instead."""
    if doc_id in ranked and ranked.index(doc_id) < place:
        return  # it stands higher already
    if doc_id in ranked:
        other = ranked.index(doc_id)
        ranked[place], ranked[other] = ranked[other], ranked[place]
    else:
        ranked[place : place + 1] = [doc_id]


def highs(findings: Sequence[Finding]) -> set[tuple[str, str | None]]:
    return {(f.rule, f.query_id) for f in findings if f.severity == "HIGH"}


@quiet
@given(setups())
def test_a_mended_value_is_never_below_the_present_one(setup: Evidence) -> None:
    for finding in diagnose(setup):
        assert finding.query_id is not None
        made = setup.by_id[finding.query_id]
        for system, mended in finding.repaired.items():
            present = made.ranking(system).value
            assert present is not None
            assert present <= mended <= 1


@quiet
@given(setups())
def test_findings_name_systems_of_the_setup_in_its_order(setup: Evidence) -> None:
    order = [s.name for s in setup.systems]
    for finding in diagnose(setup):
        assert list(finding.systems) == [s for s in order if s in finding.systems] != []
        assert finding.repaired.keys() <= set(order)
        assert finding.what == finding.what.strip()
        assert not finding.fix.endswith(".")


@pytest.mark.parametrize("rule", OURS)
def test_the_setups_drawn_show_every_fault(rule: str) -> None:
    """Without this, the properties above might hold because nothing is ever found."""
    first = settings(quiet, max_examples=500, phases=[Phase.generate], database=None)
    assert find(setups(), lambda s: any(f.rule == rule for f in diagnose(s)), settings=first)
