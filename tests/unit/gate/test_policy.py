import pytest

from searchmark.gate.policy import (
    GatePolicy,
    category_problems,
    find_problems,
    limit_of,
    pinned_problems,
    share_of,
)

TOO_FINE = (
    "the test's p is never under 1/100,001 and alpha is shared by all limits, so that no loss "
    "might ever fail"
)
MEASURES = ["nDCG@10", "RBPResidual", "NumRet", "SNR@10"]


def problems(**keys: object) -> dict[str, str]:
    policy = GatePolicy(system="s", **keys)  # type: ignore[arg-type]
    return {p.key: p.message for p in find_problems(policy, ["s"], MEASURES)}


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("2%", 0.02),
        (" 2.5 % ", 0.025),
        ("0%", 0.0),
        ("100%", 1.0),
        ("101%", None),
        ("2", None),
        ("-2%", None),
        ("1e3%", None),
        ("%", None),
        ("٢%", None),
    ],
)
def test_a_share_is_a_number_and_a_percent_sign(text: str, share: float | None) -> None:
    assert share_of(text) == share


def test_a_share_is_taken_of_the_size_of_the_baseline() -> None:
    assert limit_of(0.03, 0.5) == 0.03
    assert limit_of(0.03, None) == 0.03
    assert limit_of("10%", 0.5) == pytest.approx(0.05)
    # SNR may lie under 0; a tenth of -40 points is still a loss of 4
    assert limit_of("10%", -40.0) == pytest.approx(4.0)
    assert limit_of("10%", None) is None


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ({"max_drop": "2"}, "gate.max_drop", "'2' is neither a number nor a share such as \"2%\""),
        ({"max_drop": float("nan")}, "gate.max_drop", "nan is not 0 or more"),
        (
            {"max_drop": "340%"},
            "gate.max_drop",
            "'340%' is more than 100%; give a share up to that or a number",
        ),
        ({"alpha": 0.0}, "gate.alpha", f"0 is less than 0.001: {TOO_FINE}"),
        ({"alpha": 0.0009}, "gate.alpha", f"0.0009 is less than 0.001: {TOO_FINE}"),
        ({"alpha": 0.3}, "gate.alpha", "0.3 is not between 0.001 and 0.25"),
        ({"alpha": float("nan")}, "gate.alpha", "nan is not between 0.001 and 0.25"),
        ({"category_max_drop": {"x": -0.1}}, "gate.category_max_drop.x", "-0.1 is not 0 or more"),
        (
            {"floors": {"nDCG@10": 1.1}},
            "gate.floors.nDCG@10",
            "1.1 is more than nDCG@10 can reach, 1",
        ),
        (
            {"floors": {"SNR@10": 101}},
            "gate.floors.SNR@10",
            "101 is more than SNR@10 can reach, 100",
        ),
        (
            {"floors": {"RBPResidual": -0.1}},
            "gate.floors.RBPResidual",
            "-0.1 is less than RBPResidual can reach, 0",
        ),
        (
            {"category_floors": {"x": {"nDCG@10": 1.5}}},
            "gate.category_floors.x.nDCG@10",
            "1.5 is more than nDCG@10 can reach, 1",
        ),
    ],
)
def test_a_limit_that_cannot_be_is_told(keys: dict[str, object], key: str, message: str) -> None:
    assert problems(**keys) == {key: message}


@pytest.mark.parametrize(
    "keys",
    [
        {"max_drop": "100%", "alpha": 0.001},
        {"max_drop": "2%", "alpha": 0.05, "category_max_drop": {"x": "5%", "y": 0.1}},
        {"floors": {"nDCG@10": 1.0, "RBPResidual": 0.3, "SNR@10": -20}},
        # a count is added up over the queries, so one query's range says nothing
        {"floors": {"NumRet": 5000}},
    ],
)
def test_a_limit_that_can_be_is_taken(keys: dict[str, object]) -> None:
    assert problems(**keys) == {}


def test_a_pinned_query_must_exist() -> None:
    policy = GatePolicy(system="s", pinned=["q1", "q9"])
    (problem,) = pinned_problems(policy, ["q1", "q2"])
    assert problem == ("gate.pinned[1]", "the query set has no query 'q9'")
    long = GatePolicy(system="s", pinned=["q\x1b[2J" + "9" * 5000])
    (problem,) = pinned_problems(long, ["q1"])
    # 80 characters: q, what clears a terminal written out in seven, 71 nines and the sign of a cut
    assert problem.message == "the query set has no query 'q\\x1b[2J" + "9" * 71 + "\u2026'"


def test_measures_are_held_under_the_names_that_scores_have() -> None:
    policy = GatePolicy(
        system="s",
        measures=["MRR", "RR"],
        floors={"MRR": 0.5},
        category_floors={"x": {"MRR": 0.6}},
    )
    renamed = policy.renamed({"MRR": "RR"})
    assert renamed.gated(["RR", "nDCG@10"]) == ["RR"]
    assert renamed.floors == {"RR": 0.5}
    assert renamed.category_floors == {"x": {"RR": 0.6}}
    assert GatePolicy(system="s").renamed({"MRR": "RR"}).measures is None


def test_a_limit_of_a_category_that_is_not_there_is_told_with_the_nearest() -> None:
    policy = GatePolicy(
        system="s",
        category_max_drop={"names": 0.1, "word": 0.1},
        category_floors={"zz": {"nDCG@10": 0.5}, "word": {}},
    )
    found = {p.key: p.message for p in category_problems(policy, {"name", "word"})}
    assert found == {
        "gate.category_max_drop.names": (
            "no judged query is of category 'names'; did you mean 'name'?"
        ),
        "gate.category_floors.zz": "no judged query is of category 'zz'; known: name, word",
    }


def test_a_baseline_is_a_path() -> None:
    assert problems(baseline="a\0b") == {"gate.baseline": "is no path"}
