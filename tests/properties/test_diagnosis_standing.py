"""What holds of the rules of our own whatever systems return."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from searchmark.data.filters import Filter
from searchmark.diagnosis.diagnose import diagnose
from searchmark.diagnosis.evidence import Evidence, QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.table import RULES, SETUP_RULES, STANDING
from searchmark.diagnosis.worth import can_be_answered

from ..unit.diagnosis.making import evidence, query
from ..unit.diagnosis.scenes import revised, scored

quiet = settings(max_examples=150, deadline=None)

OTHERS = [name for name in RULES.targets() if name not in {**STANDING, **SETUP_RULES}]
DOCS = tuple(f"d{i}" for i in range(7))
KINDS: Mapping[str, Any] = {"bm25": "lexical", "dense": "vector", "fused": "hybrid", "ours": ""}
ARMS = {"fused": ("bm25", "dense")}

some_scores = st.floats(0, 1, allow_nan=False)


@st.composite
def setups(draw: st.DrawFn) -> Evidence:
    systems = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, unique=True))
    words = st.lists(st.sampled_from(("weather", "forecast", "radar", "storm")), max_size=6)
    corpus = [{"doc_id": d, "text": " ".join(draw(words))} for d in DOCS[:6]]  # d6 is absent
    k = draw(st.integers(1, 5))
    queries = [_query(draw, f"q{i}", systems, k) for i in range(draw(st.integers(1, 6)))]
    return evidence(*queries, corpus=corpus, off=OTHERS, duplicate=0.5, stuffed=0.5)


def _query(draw: st.DrawFn, query_id: str, systems: list[str], k: int) -> QueryEvidence:
    judged = draw(st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3), min_size=1))
    ranked = {s: draw(st.lists(st.sampled_from(DOCS), unique=True)) for s in systems}
    statuses = st.sampled_from(("empty", "error", "timeout", "missing"))
    made = query(
        judged,
        {s: (KINDS[s], docs) for s, docs in ranked.items()},
        k=k,
        query_id=query_id,
        complete=draw(st.booleans()),
        status={s: draw(statuses) for s, docs in ranked.items() if not docs},
        arms=ARMS,
    )
    for system, docs in ranked.items():
        broken = draw(st.sets(st.integers(1, len(docs)))) if docs else set()
        made = revised(
            made,
            system,
            broken_filters=tuple(sorted(broken)),
            partial=draw(st.booleans()),
            latency_ms=draw(st.none() | st.floats(0, 1000)),
        )
    if "dense" in systems:
        scores = [draw(some_scores) for _ in ranked["dense"]]
        made = scored(made, "dense", sorted(scores, reverse=True))
    absent = tuple(d for d in judged if d == DOCS[6])
    return replace(made, absent=absent, filters=(Filter("text", "=", "radar"),))


def content(finding: Finding) -> tuple[object, ...]:
    """Return what does not depend on the order of the systems."""
    return (
        finding.rule,
        finding.severity,
        finding.tag,
        finding.query_id,
        sorted(finding.systems),
        sorted(finding.documents),
        sorted(finding.evidence.items()),
        sorted(finding.repaired.items()),
    )


@quiet
@given(setups())
def test_the_order_of_systems_does_not_matter(setup: Evidence) -> None:
    turned = replace(
        setup,
        systems=setup.systems[::-1],
        queries=tuple(replace(q, rankings=q.rankings[::-1]) for q in setup.queries),
    )
    theirs = sorted(map(str, map(content, diagnose(turned))))
    assert sorted(map(str, map(content, diagnose(setup)))) == theirs


@quiet
@given(setups())
def test_every_finding_is_whole(setup: Evidence) -> None:
    names = [s.name for s in setup.systems]
    for finding in diagnose(setup):
        assert finding.what and finding.fix and finding.evidence
        assert finding.fix[0].isupper() and not finding.fix.endswith(".")
        assert list(finding.systems) == [n for n in names if n in finding.systems]
        assert len(set(finding.documents)) == len(finding.documents)
        for system, value in finding.repaired.items():
            assert finding.query_id is not None
            present = setup.by_id[finding.query_id].ranking(system).value
            assert present is not None and present <= value <= 1


@quiet
@given(setups())
def test_a_suggested_cut_off_does_what_it_says(setup: Evidence) -> None:
    """Cut every ranking by hand: as many fall silent and as many relevant results are gone."""
    for system, cutoffs in setup.cutoffs.items():
        for at in cutoffs.candidates:
            silenced = lost = 0
            for q in setup.queries:
                ranking = q.ranking(system)
                kept = [d for d in ranking.documents if (d.score or 0.0) >= at.score]
                silenced += q.is_unanswerable and bool(ranking.documents) and not kept
                dropped = [d for d in ranking.within(q.k) if d not in kept]
                if can_be_answered(q, setup):
                    lost += sum(d.gain > 0 for d in dropped)
            assert (at.n_silenced, at.n_lost) == (silenced, lost)
            assert at.change <= 0
