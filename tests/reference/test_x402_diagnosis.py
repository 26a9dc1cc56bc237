"""What diagnosis says of the x402 catalog, whose faults are known from reading it."""

import pytest

from searchmark.diagnosis.diagnosis import Diagnosis, diagnosis_of
from searchmark.diagnosis.finding import Finding
from searchmark.experiments.diagnosing import run_evidence, serving_system
from searchmark.project import Project

STUFFED = "https://eval.example.com/weather-forecast-stuffed"
GENUINE = "https://eval.example.com/weather-forecast"


@pytest.fixture(scope="module")
def diagnosis(x402: Project) -> Diagnosis:
    setup = run_evidence(x402, k=5)
    return diagnosis_of(setup, serving_system(x402, setup))


def of_rule(diagnosis: Diagnosis, rule: str) -> dict[str | None, Finding]:
    return {f.query_id: f for f in diagnosis.findings if f.rule == rule}


def test_the_stuffed_listing_above_the_genuine_one_is_named(diagnosis: Diagnosis) -> None:
    found = of_rule(diagnosis, "stuffed-above-genuine")
    text = {q.query_id: q.text for q in diagnosis.queries}
    assert [text[str(q)] for q in found] == ["weather forecast"]
    (finding,) = found.values()
    assert finding.documents == (STUFFED, GENUINE)
    assert finding.systems == ("bm25-only", "dense-only", "fused")
    assert (finding.severity, finding.tag) == ("MEDIUM", "QUERY_TUNING")


def test_answers_to_what_has_none_come_with_a_cut_off_and_its_cost(diagnosis: Diagnosis) -> None:
    found = of_rule(diagnosis, "no-answer-answered")
    assert set(found) == {"q13", "q14"}
    for finding in found.values():
        assert finding.systems == ("dense-only", "fused")
        # q14's best cosine is 0.289, q13's 0.227: anything above silences both
        assert 0.289 < float(finding.evidence["cutoff"]) < 0.30
        assert finding.evidence["cutoff_silences"] == 2
        # one of 15 queries loses all it has
        assert finding.evidence["cutoff_changes_mean"] == pytest.approx(-1 / 15)


def test_paraphrases_that_strict_matching_cannot_find_are_a_matter_of_the_index(
    diagnosis: Diagnosis,
) -> None:
    found = of_rule(diagnosis, "pairwise-gap")
    lost = {q.query_id for q in diagnosis.queries if q.category == "paraphrase"} & set(found)
    assert len(lost) == 5  # of 6: the words of one are all in its document
    assert {(f.severity, f.tag, f.systems) for f in found.values()} == {
        ("MEDIUM", "INDEX_MAPPING", ("bm25-only",))
    }


def test_the_next_action_loosens_the_matching_and_says_that_users_do_not_suffer(
    diagnosis: Diagnosis,
) -> None:
    action = diagnosis.action
    assert action is not None
    assert (action.tag, action.system) == ("INDEX_MAPPING", "bm25-only")
    assert "any word" in action.what
    assert "fused" in (action.serving or "")
    assert diagnosis.groups[0].rise.overall == pytest.approx(0.1778, abs=5e-5)
    assert diagnosis.completion.passed
