import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from searchmark.errors import InputError
from searchmark.gate.baseline import (
    Baseline,
    baseline_of,
    baseline_text,
    check_categories,
    differences,
    natural,
    read_baseline,
    write_baseline,
)
from searchmark.gate.cases import Background
from searchmark.gate.decision import decide
from searchmark.gate.policy import GatePolicy
from searchmark.measures.summary import Evaluation, Mean, SystemScores

POLICY = GatePolicy(system="s")


def mean(measure: str, value: float | None) -> Mean:
    return Mean(measure, value, 1.0, 0 if value is None else 4, 0, 0, 0.0)


def scores(a: float | None, b: float = 0.5, **queries: float) -> SystemScores:
    return SystemScores(
        system="s",
        means=(mean("A", a), mean("B", b)),
        by_category={"x": (mean("A", a), mean("B", b))},
        per_query={"A": queries or {"q1": 0.5, "q2": 0.5}, "B": {"q1": b}},
    )


def evaluation(of: SystemScores) -> Evaluation:
    return Evaluation(
        systems=(of,),
        conventions={"A": "A(x=1)", "B": "B()"},
        profile="graded",
        n_queries=2,
        categories={"x": 2},
        digests={"corpus": "c" * 64, "queries": "q" * 64, "qrels": "r" * 64},
    )


def accepted(of: SystemScores) -> Baseline:
    return baseline_of(of, evaluation(of))


BEFORE = accepted(scores(0.8))


@pytest.mark.parametrize(
    ("candidate", "passes"),
    [
        (0.8, True),
        (0.9, True),
        # exactly the limit: in doubles 0.8 - 0.78 is 0.020000000000000018, and it must pass
        (0.78, True),
        (0.7799, False),
        (0.0, False),
        (None, False),
    ],
)
def test_a_drop_of_more_than_the_limit_fails(candidate: float | None, passes: bool) -> None:
    verdict = decide(scores(candidate), BEFORE, POLICY)
    assert verdict.passed is passes
    assert bool(verdict.because) is not passes


def test_the_reason_names_measure_values_and_limit() -> None:
    verdict = decide(scores(0.7), BEFORE, POLICY)
    assert verdict.because == ("A fell by 0.1000 (0.8000 -> 0.7000), more than the 0.02 allowed",)


def test_only_the_measures_asked_for_are_held() -> None:
    policy = GatePolicy(system="s", measures=["B"])
    assert decide(scores(0.1), BEFORE, policy).passed


def test_small_losses_that_add_up_meet_the_floor() -> None:
    policy = GatePolicy(system="s", floors={"A": 0.75})
    falling = [0.79, 0.775, 0.76, 0.745]
    before = BEFORE
    verdicts = []
    for value in falling:
        verdicts.append(decide(scores(value), before, policy).passed)
        before = accepted(scores(value))
    # each step loses 0.015 at most, under the limit of 0.02; the floor sees the last one
    assert verdicts == [True, True, True, False]


def test_a_floor_of_a_category_is_held_and_named() -> None:
    policy = GatePolicy(system="s", category_floors={"x": {"A": 0.95}})
    verdict = decide(scores(0.8), BEFORE, policy)
    assert verdict.because == ("A in category x is 0.8000, under its floor of 0.95",)


def test_a_floor_of_a_category_nobody_belongs_to_fails() -> None:
    policy = GatePolicy(system="s", category_floors={"y": {"A": 0.1}})
    assert "no query belongs to" in decide(scores(0.8), BEFORE, policy).because[0]


def test_the_ten_queries_that_lost_most_are_named_worst_first() -> None:
    before = accepted(scores(0.5, **{f"q{i}": 1.0 for i in range(1, 13)}))
    # q1 loses 0.01, q2 0.02, ... q12 0.12
    now = scores(0.5, **{f"q{i}": 1.0 - i / 100 for i in range(1, 13)})
    worst = decide(now, before, POLICY, Background({"q12": "the text"})).worst_queries
    assert [q.query_id for q in worst] == [f"q{i}" for i in range(12, 2, -1)]
    assert worst[0].text == "the text"
    assert worst[0].delta == pytest.approx(-0.12)


def test_a_query_stands_once_with_its_largest_loss() -> None:
    before = accepted(scores(0.5, 0.9, q1=0.9))
    worst = decide(scores(0.5, 0.1, q1=0.8), before, POLICY).worst_queries
    assert [(q.query_id, q.measure) for q in worst] == [("q1", "B")]


def test_better_and_worse_queries_are_counted() -> None:
    before = accepted(scores(0.5, q1=0.5, q2=0.5, q3=0.5))
    verdict = decide(scores(0.5, q1=0.6, q2=0.4, q3=0.5), before, POLICY)
    assert (verdict.n_better["A"], verdict.n_worse["A"]) == (1, 1)


def test_the_baseline_reads_back_to_the_same_doubles(tmp_path: Path) -> None:
    odd = accepted(scores(1 / 3, q1=1 / 3))
    write_baseline(tmp_path / "b.json", odd)
    assert read_baseline(tmp_path / "b.json") == odd


def test_the_file_has_a_query_a_line_in_natural_order() -> None:
    text = baseline_text(accepted(scores(0.5, q10=0.1, q2=0.2, q1=0.3)))
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith('"q')]
    assert lines[-4:] == ['"q1": 0.3,', '"q2": 0.2,', '"q10": 0.1', '"q1": 0.5']
    assert json.loads(text)["format"] == "searchmark/baseline/1"


def test_natural_order_tells_ids_apart_that_read_the_same() -> None:
    ids = ["q10", "q2", "q02", "10", "9", "a", ""]
    assert sorted(ids, key=natural) == ["9", "10", "a", "q02", "q2", "q10", ""]
    assert natural("q2") != natural("q02")


def test_a_number_of_any_length_has_its_place() -> None:
    nines, power = "9" * 5000, "1" + "0" * 5000  # int() takes 4300 digits
    assert sorted([power, nines, "000", "0" * 6000 + "7", "8"], key=natural) == [
        "000",
        "0" * 6000 + "7",
        "8",
        nines,
        power,
    ]
    written = accepted(scores(0.5, **{f"q{power}": 0.1, "q2": 0.2}))
    assert list(json.loads(baseline_text(written))["per_query"]["A"]) == ["q2", f"q{power}"]


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    before = accepted(scores(0.5))
    path.write_text(baseline_text(before), encoding="utf-8-sig")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert read_baseline(path) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a baseline"),
        ("[]", "not a baseline"),
        ('{"format": "searchmark/baseline/1"}', "not a baseline"),
    ],
)
def test_a_broken_baseline_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_baseline(path)


def test_a_baseline_whose_means_were_cut_out_is_refused(tmp_path: Path) -> None:
    text = json.loads(baseline_text(BEFORE))
    del text["means"]["A"]
    (tmp_path / "b.json").write_text(json.dumps(text))
    with pytest.raises(InputError, match="of different measures"):
        read_baseline(tmp_path / "b.json")


def edited(folder: Path, key: str, **changed: object) -> Path:
    """Return a baseline of two queries at 0.5 in which somebody changed something."""
    text = json.loads(baseline_text(accepted(scores(0.5))))
    text[key].update(changed)
    (folder / "b.json").write_text(json.dumps(text))
    return folder / "b.json"


@pytest.mark.parametrize(
    ("key", "changed", "message"),
    [
        (
            "means",
            {"A": 0.05},
            r"baseline's A is 0\.05, but its queries come to 0\.5",
        ),
        ("means", {"A": 0.5 + 1e-8}, "baseline's A is 0.5, but"),
        ("means", {"A": None}, "baseline's A is missing, but .* 0.5"),
        ("per_query", {"A": {}}, "baseline's A is 0.5, but no query has a value"),
        ("per_query", {"A": {"q1": -7.0, "q2": 0.5}}, r"baseline's A is 0\.5, but .* -3\.25"),
        ("per_query", {"A": {"q1": 1e308, "q2": 1e308}}, r"baseline's A is 0\.5, but .* inf"),
    ],
)
def test_a_number_that_its_queries_do_not_give_is_refused(
    tmp_path: Path, key: str, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_baseline(edited(tmp_path, key, **changed))


def test_sums_in_another_order_are_the_same_number(tmp_path: Path) -> None:
    read_baseline(edited(tmp_path, "means", A=0.5 + 1e-12))


def test_sums_and_geometric_means_are_added_up_as_they_are(tmp_path: Path) -> None:
    # geometric: 0 counts as 0.00001, so the root of 0.00001 x 0.4 is 0.002
    made = SystemScores(
        system="s",
        means=(mean("NumRet", 30.0), mean("GMAP", 0.002)),
        by_category={},
        per_query={"NumRet": {"q1": 10.0, "q2": 20.0}, "GMAP": {"q1": 0.0, "q2": 0.4}},
    )
    conventions = {"NumRet": "n", "GMAP": "g"}
    right = baseline_of(made, Evaluation((made,), conventions, "graded", 2, {}, {}))
    path = tmp_path / "b.json"
    write_baseline(path, right)
    assert read_baseline(path).means == {"NumRet": 30.0, "GMAP": pytest.approx(0.002)}
    for measure, other in (("NumRet", 15.0), ("GMAP", 0.2)):  # their plain means
        path.write_text(
            baseline_text(msgspec.structs.replace(right, means={**right.means, measure: other}))
        )
        with pytest.raises(InputError, match=f"baseline's {measure} is"):
            read_baseline(path)


def test_a_category_is_held_to_its_queries(tmp_path: Path) -> None:
    before = accepted(scores(0.5, q1=0.5, q2=0.5))
    check_categories(tmp_path, before, {"q1": "x"})
    with pytest.raises(InputError, match=r"A in category x is 0\.5, but no query has a value"):
        check_categories(tmp_path, before, {"q1": "y"})
    low = msgspec.structs.replace(before, by_category={"x": {"A": 0.01, "B": 0.5}})
    with pytest.raises(InputError, match=r"A in category x is 0\.01, but .* 0\.5"):
        check_categories(tmp_path, low, {"q1": "x"})


def test_a_missing_baseline_tells_how_to_accept_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="searchmark baseline accept"):
        read_baseline(tmp_path / "b.json")


def test_the_same_inputs_are_comparable() -> None:
    assert differences(BEFORE, evaluation(scores(0.1)), POLICY) == []


@pytest.mark.parametrize("name", ["corpus", "queries", "qrels"])
def test_a_changed_input_is_named(name: str) -> None:
    now = evaluation(scores(0.8))
    now = replace(now, digests={**now.digests, name: "0" * 64})
    found = differences(BEFORE, now, POLICY)
    assert len(found) == 1
    assert f"the {name} changed" in found[0]


def test_a_changed_corpus_can_be_allowed_by_name() -> None:
    now = evaluation(scores(0.8))
    now = replace(now, digests={**now.digests, "corpus": "0" * 64})
    policy = GatePolicy(system="s", allow_changed=["corpus"])
    assert differences(BEFORE, now, policy) == []


def test_measures_and_conventions_that_differ_are_named() -> None:
    now = replace(evaluation(scores(0.8)), conventions={"A": "A(x=2)", "C": "C()"})
    assert differences(BEFORE, now, POLICY) == [
        "the measure B is no longer computed",
        "the measure C is new",
        "the conventions of A changed (A(x=1) -> A(x=2))",
    ]


def test_another_system_is_not_comparable() -> None:
    policy = GatePolicy(system="t")
    assert "of system 's'" in differences(BEFORE, evaluation(scores(0.8)), policy)[0]
