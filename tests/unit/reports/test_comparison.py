"""Compared systems as people and programs read them."""

import json
from dataclasses import asdict
from pathlib import Path

import jsonschema
import pytest

from searchmark.reports.comparison import TABLE_COLUMNS, footing, notes, p_text, sentences
from searchmark.reports.render import comparison_text
from searchmark.reports.table import Look
from searchmark.stats.comparison import Comparison, Family


def comparison(**changed: object) -> Comparison:
    given = {
        "a": "bm25",
        "b": "fused",
        "measure": "nDCG@10",
        "n_queries": 120,
        "mean_a": 0.5,
        "mean_b": 0.6,
        "delta": 0.1,
        "low": 0.05,
        "high": 0.15,
        "interval_method": "bca",
        "test": "randomization",
        "p": 0.0002,
        "p_adjusted": 0.0004,
        "p_by_test": {"randomization": 0.0002, "t": 0.0003, "wilcoxon": None, "sign": 0.01},
        "effect": 0.4,
        "wins": 60,
        "ties": 40,
        "losses": 20,
        "detectable": 0.031,
    }
    return Comparison(**{**given, **changed})


UNSURE = comparison(
    a="dense", delta=-0.01, low=-0.05, high=0.03, p=0.4, p_adjusted=0.4, wins=20, losses=30
)
SAME = comparison(
    a="copy", delta=0.0, low=None, high=None, p=1.0, p_adjusted=1.0, wins=0, ties=120, losses=0
)
NOTHING = comparison(
    a="empty", mean_a=None, delta=None, low=None, high=None, p=None, p_adjusted=None,
    wins=0, ties=0, losses=0, n_queries=0, detectable=None, note="they share no query",
)  # fmt: skip
FAMILY = Family(
    comparisons=(comparison(), UNSURE, SAME, NOTHING),
    correction="holm",
    alpha=0.05,
    sentence="The p-values are corrected for 3 comparisons (Holm).",
    detectable={"nDCG@10": 0.031},
    notes=("empty answers none of the queries.",),
)


def test_the_drawing_stands_where_the_numbers_are() -> None:
    lines = comparison_text(FAMILY, "terminal").splitlines()
    assert lines[0] == "nDCG@10, over 0 to 120 queries"
    # 8 characters to each side, 0.15 the greatest end: 0.05 -> 2.7, 0.1 -> 5.3, 0.15 -> 8
    row = next(line for line in lines if "fused vs bm25" in line)
    assert "········│··──●───" in row
    assert "+0.1000" in row
    assert row.endswith("<0.001   60/40/20   better")
    assert "[+0.050, +0.150]" in lines[lines.index(row) + 1]
    # -0.05 -> -2.7, -0.01 -> -0.53, 0.03 -> 1.6
    assert any("·····──●┼──······" in line for line in lines if "fused vs dense" in line)


@pytest.mark.parametrize(
    ("low", "delta", "high", "drawn"),
    [
        # 8 cells reach to 0.657: 0.023 -> 0.3, 0.041 -> 0.5, 0.064 -> 0.8
        (0.023, 0.041, 0.064, "········│●·······"),
        (0.001, 0.002, 0.003, "········│●·······"),
        (-0.064, -0.05, -0.001, "·······●│········"),
        (0.02, 0.2, 0.4, "········│─●───···"),  # 0.2, 2.4 and 4.9 cells
        (-0.001, 0.09, 0.2, "········┼●─······"),
        (0.0, 0.09, 0.2, "········┼●─······"),
    ],
)
def test_an_interval_beside_0_is_drawn_beside_it(
    low: float, delta: float, high: float, drawn: str
) -> None:
    small = comparison(low=low, delta=delta, high=high)
    great = comparison(a="far", low=0.5, delta=0.6, high=0.657)
    family = Family(comparisons=(small, great), correction="holm", alpha=0.05, sentence="Two.")
    assert f" {drawn} " in comparison_text(family, "terminal")
    # where lower is better the picture is turned, the numbers are not
    turned = comparison(low=-high, delta=-delta, high=-low, higher_is_better=False)
    family = Family(comparisons=(turned, great), correction="holm", alpha=0.05, sentence="Two.")
    assert f" {drawn} " in comparison_text(family, "terminal")


def footed(**changed: object) -> str:
    given = {"comparisons": (NOTHING, UNSURE, comparison()), "correction": "holm"}
    return next(footing(Family(**{"alpha": 0.05, "sentence": "One.", **given, **changed})))


def test_the_footing_says_how_the_numbers_were_made() -> None:
    assert footed() == (
        "delta: the second mean taken from the first; [low, high]: where the true difference lies, "
        "95 times in 100 (bca); p: how often chance alone would give a difference as large "
        "(randomization test), after correction"
    )
    # NOTHING stands first and has no interval; nor is anything corrected that stands alone
    without = NOTHING.__class__(**{**asdict(NOTHING), "interval_method": "none"})
    assert "(bca)" in footed(comparisons=(without, comparison()))
    assert "[low" not in footed(comparisons=(without,))
    assert footed(comparisons=(without, comparison())).endswith("(randomization test)")
    assert footed(correction="none").endswith("(randomization test)")
    assert "99.5 times in 100" in footed(level=0.995)


def test_why_an_interval_is_missing_or_rough_stands_under_the_table_once() -> None:
    rough = "only 8 clusters: the interval is a rough one"
    equal = "all 9 queries differ by the same, so nothing is known of the spread"
    rows = [
        comparison(measure=measure, a=a, interval_note=rough, note=rough)
        for measure in ("nDCG@10", "RR")
        for a in ("bm25", "dense")
    ]
    rows.append(comparison(measure="P@5", low=None, high=None, interval_note=equal, note=equal))
    rows.append(comparison(measure="P@5", a="dense", interval_note=None))
    family = Family(
        comparisons=tuple(rows), correction="none", alpha=0.05, sentence="No.", notes=("More.",)
    )
    assert notes(family) == (
        f"nDCG@10 and RR: {rough}; P@5 (fused vs bm25) has no interval: {equal}.",
        "More.",
    )
    for form in ("terminal", "markdown"):
        text = " ".join(comparison_text(family, form, Look(width=400)).split())
        assert text.replace("\\", "").count(rough) == text.replace("\\", "").count(equal) == 1


def test_what_the_permutations_cannot_show_is_not_called_chance() -> None:
    note = "100,000 permutations cannot show a p under 1e-05, too much where alpha is 5e-06"
    rare = comparison(alpha=5e-6, p=1e-5, p_adjusted=1e-5, is_out_of_reach=True, note=note)
    assert rare.words == "cannot tell"
    family = Family(comparisons=(rare,), correction="holm", alpha=5e-6, sentence="One.")
    assert sentences(family) == [
        f"fused beside bm25: no p is small enough on nDCG@10 (+0.1000): {note}."
    ]


def test_it_says_in_words_what_can_be_trusted() -> None:
    text = " ".join(comparison_text(FAMILY, "terminal", Look(width=400)).split())
    assert "fused is better than bm25 on nDCG@10 (+0.1000)." in text
    assert (
        "fused beside dense: what they differ by may be chance on nDCG@10 (-0.0100, p = 0.400; one "
        "under 0.031 goes unseen here)."
    ) in text
    assert "fused and copy are the same on every query in nDCG@10." in text
    assert "fused and empty cannot be compared on nDCG@10: they share no query." in text
    assert "The p-values are corrected for 3 comparisons (Holm)." in text
    assert "What can be trusted, at a risk of 5 in 100" in text
    assert "empty answers none of the queries." in text
    # what can be trusted comes first
    assert text.index("fused is better") < text.index("may be chance")


def test_what_no_difference_can_be_is_not_told_as_one() -> None:
    """Two queries would show 3.014; nDCG ends at 1, and sizes of answers end nowhere."""
    unsure = {"delta": 0.2, "p": 0.5, "p_adjusted": 0.5, "low": -0.1, "high": 0.5}
    told = {
        measure: comparison_text(
            Family(
                comparisons=(comparison(measure=measure, detectable=size, **unsure),),
                correction="none", alpha=0.05, sentence="One.",
            ),
            "terminal", Look(width=400),
        )
        for measure, size in (("nDCG@10", 3.014), ("nDCG@5", 0.9), ("num_ret", 3.014))
    }  # fmt: skip
    assert "p = 0.500; no difference could be seen here)" in told["nDCG@10"]
    assert "one under 0.900 goes unseen here" in told["nDCG@5"]
    assert "one under 3.014 goes unseen here" in told["num_ret"]


def test_measures_of_one_pair_share_a_sentence() -> None:
    other = comparison(measure="RR", delta=0.2)
    worse = comparison(measure="P@5", delta=-0.2)
    pairs = (comparison(), other, worse)
    family = Family(comparisons=pairs, correction="none", alpha=0.05, sentence="One.")
    text = " ".join(comparison_text(family, "terminal", Look(width=400)).split())
    assert "fused is better than bm25 on nDCG@10 (+0.1000) and RR (+0.2000)." in text
    assert "fused is worse than bm25 on P@5 (-0.2000)." in text


def test_where_lower_is_better_right_is_still_better() -> None:
    cheaper = comparison(measure="Tokens@5", delta=-0.1, low=-0.15, high=-0.05)
    cheaper = comparison(
        measure="Tokens@5", delta=-0.1, low=-0.15, high=-0.05, higher_is_better=False
    )
    assert cheaper.words == "better"
    family = Family(comparisons=(cheaper,), correction="none", alpha=0.05, sentence="One.")
    assert "│··──●───" in comparison_text(family, "terminal")


def test_json_holds_everything_and_keeps_its_contract(repository: Path) -> None:
    found = json.loads(comparison_text(FAMILY, "json"))
    schema = json.loads((repository / "docs/reference/comparison.schema.json").read_text())
    jsonschema.validate(found, schema)
    first = found["comparisons"][0]
    assert first["delta"] == 0.1
    assert first["words"] == "better"
    assert first["p_by_test"]["wilcoxon"] is None
    assert found["comparisons"][3]["note"] == "they share no query"
    assert found["detectable"] == {"nDCG@10": 0.031}
    assert (first["interval_note"], found["level"]) == (None, 0.95)


def test_csv_and_markdown() -> None:
    lines = comparison_text(FAMILY, "csv").splitlines()
    assert lines[0] == ",".join(TABLE_COLUMNS)
    assert lines[1].startswith("bm25,fused,nDCG@10,120,0.5,0.6,0.1,0.05,0.15,randomization,0.0002")
    markdown = comparison_text(FAMILY, "markdown")
    assert (
        "| fused vs bm25 | +0.1000 \\[+0.050, +0.150\\] | \\<0.001 | 60/40/20 | better |"
        in markdown
    )
    assert "**What can be trusted, at" in markdown


def test_p_values_are_never_shown_as_zero() -> None:
    assert (p_text(0.0), p_text(0.00099), p_text(0.0012), p_text(None)) == (
        "<0.001",
        "<0.001",
        "0.001",
        "-",
    )
