"""The published figures of the system that the x402 catalog comes from."""

import pytest

from searchmark.experiments.experiment import Experiment, run_experiment
from searchmark.project import Project

PUBLISHED = {
    # baseline.json of 0d1026/Rialto, packages/eval-harness, 2026-08-12
    "bm25-only": (0.44180861027398816, 0.3333333333333333, 0.43333333333333335),
    "dense-only": (0.980653982759791, 0.8666666666666667, 1.0),
    "fused": (0.980653982759791, 0.8666666666666667, 1.0),
}


@pytest.fixture(scope="module")
def experiment(x402: Project) -> Experiment:
    return run_experiment(x402)


@pytest.mark.parametrize("system", PUBLISHED)
def test_the_published_figures_come_out(experiment: Experiment, system: str) -> None:
    scores = next(s for s in experiment.evaluation.systems if s.system == system)
    assert [m.value for m in scores.means] == pytest.approx(PUBLISHED[system], abs=1e-12)


def test_the_ceiling_of_rr_is_what_two_queries_without_an_answer_leave(
    experiment: Experiment,
) -> None:
    # 13 of 15 queries have an answer
    for scores in experiment.evaluation.systems:
        assert scores.mean("RR").ceiling == pytest.approx(13 / 15)
        assert scores.mean("nDCG@10").ceiling == 1.0


def test_the_notes_tell_what_the_figures_hide(experiment: Experiment) -> None:
    notes = "\n".join(experiment.evaluation.notes)
    assert "RR cannot pass 0.866667 on this query set: 2 of 15 queries have no answer" in notes
    assert "dense-only 0.000 (0 of 2), fused 0.000 (0 of 2)" in notes
    assert "Category adversarial: nDCG@10 is 0.710 in every system" in notes
    assert "weather-forecast-stuffed' (grade 1) above" in notes


def test_the_adversarial_query_is_the_hand_worked_value_everywhere(
    experiment: Experiment,
) -> None:
    # the stuffed listing (grade 1) above the genuine one (3): (1 + 7/log2(3)) / (7 + 1/log2(3))
    for scores in experiment.evaluation.systems:
        assert scores.per_query["nDCG@10"]["q15"] == pytest.approx(5.41651 / 7.63093, abs=1e-5)
