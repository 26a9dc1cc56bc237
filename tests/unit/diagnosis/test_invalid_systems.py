"""A system whose run is no measurement is named, and is in no mean, rise, rule or verdict."""

from dataclasses import replace

import pytest

from searchmark.diagnosis.diagnosis import diagnosis_of
from searchmark.diagnosis.evidence import Evidence
from searchmark.reports.render import diagnosis_text, query_text

from .conftest import SetupOf

WHY = "3 of 5 queries failed"
ANSWER, OTHER = ["good1"], ["bad1"]


@pytest.fixture
def setup(setup_of: SetupOf) -> Evidence:
    """`words` answers well, `meaning` failed on the first three of five queries."""
    made = setup_of(
        {"words": [0.9, 0.8, 0.7, 1.0, 0.6], "meaning": [0.0, 0.0, 0.0, 0.1, 0.2]},
        documents={"words": [ANSWER] * 5, "meaning": [[], [], [], OTHER, OTHER]},
    )
    queries = tuple(
        replace(
            q,
            rankings=(
                q.rankings[0],
                replace(q.rankings[1], status="error", error="503") if i < 3 else q.rankings[1],
            ),
        )
        for i, q in enumerate(made.queries)
    )
    return replace(made, queries=queries, invalid={"meaning": WHY})


def test_it_is_in_no_mean_and_in_no_rise(setup: Evidence) -> None:
    found = diagnosis_of(setup)
    # (0.9 + 0.8 + 0.7 + 1.0 + 0.6) / 5 = 0.8; with the other's 0.06 it would be 0.43
    assert found.setup.overall == pytest.approx(0.8)
    assert found.all_mended.mean == pytest.approx(0.8)
    assert set(found.all_mended.by_system) == {"words"}
    assert all(set(g.rise.by_system) == {"words"} for g in found.groups)
    assert [set(r.means) for r in found.capabilities] == [{"words"}]
    assert all(set(r.values) == {"words"} for r in found.queries)
    assert found.queries[0].query_id == "q5"  # the worst of what counts: 0.6


def test_only_its_failures_are_told(setup: Evidence) -> None:
    found = diagnosis_of(setup)
    about = [f for f in found.findings if "meaning" in f.systems]
    assert {f.rule for f in about} == {"failed-or-partial"}
    assert sorted(f.query_id or "" for f in about) == ["q1", "q2", "q3"]
    assert all("meaning" not in f.repaired for f in found.findings)
    # were it counted, it would fail q4 and q5 where the keyword search succeeds
    counted = diagnosis_of(replace(setup, invalid={}))
    assert {f.query_id for f in counted.findings if f.rule == "pairwise-gap"} == {"q4", "q5"}


def test_an_empty_answer_of_it_is_no_finding(setup: Evidence) -> None:
    empty = tuple(
        replace(q, rankings=(q.rankings[0], replace(q.rankings[1], documents=(), status="empty")))
        for q in setup.queries
    )
    found = diagnosis_of(replace(setup, queries=empty))
    assert [f for f in found.findings if "meaning" in f.systems] == []


def test_the_verdict_is_of_the_others_and_names_it(setup: Evidence) -> None:
    found = diagnosis_of(setup, serving="words")
    assert found.completion.passed
    assert found.completion.because[0] == "the mean nDCG@5 of words is 0.8000, above 0.7"
    assert found.completion.caveat == (
        "left out of means and verdict is every run that is no measurement: that of meaning "
        f"({WHY})"
    )
    assert found.action is not None
    assert (found.action.system, found.action.tag) == ("meaning", "RELIABILITY")
    assert found.action.why[1] == found.completion.caveat
    assert next(s for s in found.steps if s.is_recommended).way == "experiment"


def test_nothing_passes_where_the_system_that_serves_is_invalid(setup: Evidence) -> None:
    found = diagnosis_of(setup, serving="meaning")
    assert not found.completion.passed
    assert found.completion.because == (f"meaning, which serves users, is INVALID: {WHY}",)
    deploy = next(s for s in found.steps if s.way == "deploy")
    assert deploy.text == "There is nothing to deploy yet: the run of meaning is no measurement."


def test_nothing_passes_where_every_system_is_invalid(setup: Evidence) -> None:
    found = diagnosis_of(replace(setup, invalid={"words": "x", "meaning": WHY}))
    assert not found.completion.passed
    assert found.completion.because == (
        f"no system's run is a measurement: words is INVALID: x; meaning is INVALID: {WHY}",
    )
    assert found.setup.overall is None
    for form in ("terminal", "markdown", "json", "csv"):
        assert diagnosis_text(found, form)


def test_its_numbers_are_marked_wherever_they_are_shown(setup: Evidence) -> None:
    found = diagnosis_of(setup)
    for form in ("terminal", "markdown"):
        lines = diagnosis_text(found, form).splitlines()
        # 0.06 is its mean: (0 + 0 + 0 + 0.1 + 0.2) / 5
        rows = [line for line in lines if "0.0600" in line]
        assert len(rows) == 1
        assert "meaning INVALID" in rows[0]
        assert "bad" not in rows[0]  # no word for what is no measurement
    for form in ("terminal", "markdown"):
        shown = query_text(setup, ["q4"], form)
        assert "meaning INVALID (vector)" in shown
        assert "words INVALID" not in shown
    assert f'"invalid": "{WHY}"' in query_text(setup, ["q4"], "json")
    rows = query_text(setup, ["q4"], "csv").splitlines()
    assert rows[0].endswith(",invalid,partial")
    assert [f",{WHY}," in row for row in rows[1:]] == [False, True]
