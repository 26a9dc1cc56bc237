import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from searchmark.gate.baseline import baseline_of
from searchmark.gate.cases import Background
from searchmark.gate.decision import decide
from searchmark.gate.policy import GatePolicy
from searchmark.gate.verdict import Verdict
from searchmark.measures.summary import Evaluation, Mean, Sensitivity, SystemScores
from searchmark.reports.evaluation import query_set_lines, sensitivity_lines
from searchmark.reports.render import FORMATS, baseline_text, evaluation_text, verdict_text
from searchmark.reports.table import Look, Table, clean, leaders, shown
from searchmark.reports.terminal import table_text

EVIL = "[red]=1|<b>\x1b[31m"


def mean(measure: str, value: float | None, unjudged: float = 0.0, best: float = 1.0) -> Mean:
    return Mean(measure, value, best, 3, 0, 0, unjudged)


def system(name: str, a: float, b: float | None) -> SystemScores:
    return SystemScores(
        system=name,
        means=(mean("nDCG@10", a), mean("RR", b, best=2 / 3)),
        by_category={
            "easy": (mean("nDCG@10", 1.0), mean("RR", 1.0)),
            "none": (mean("nDCG@10", 1.0), mean("RR", 0.0, best=0.0)),
        },
        per_query={"nDCG@10": {"q1": a, "q2": 0.1 + 0.2}, "RR": {"q1": 1.0}},
    )


EVALUATION = Evaluation(
    systems=(system("keyword", 0.5, 1 / 3), system("dense", 2 / 3, None)),
    conventions={"nDCG@10": "nDCG(dcg=exp-log2)@10", "RR": "RR(rel=1)"},
    profile="graded",
    n_queries=3,
    categories={"easy": 2, "none": 1},
    digests={"corpus": "c" * 64, "queries": "d" * 64, "qrels": "e" * 64},
    notes=("RR cannot pass 0.667.",),
)

TERMINAL = """\
Systems, mean over 3 queries

 system    nDCG@10       RR
 ──────────────────────────
 keyword   0.5000    0.3333
 dense     0.6667*        -

 ceiling   1.0000    0.6667

* the best of its column; ceiling: the best mean any ranking could reach

keyword by category

 category    queries   nDCG@10       RR
 ──────────────────────────────────────
 easy              2    1.0000   1.0000
 none              1    1.0000   0.0000
   ceiling         -         -   0.0000

 all               3    0.5000   0.3333

What the means hide
- RR cannot pass 0.667.

Conventions: profile graded; nDCG(dcg=exp-log2)@10; RR(rel=1)
"""


def verdict(a: float = 0.4) -> Verdict:
    policy = GatePolicy(system="keyword", floors={"nDCG@10": 0.3})
    before = baseline_of(EVALUATION.systems[0], EVALUATION)
    return decide(system("keyword", a, 1 / 3), before, policy, Background({"q1": "a text"}))


def lines(text: str) -> list[str]:
    """Return lines without the blanks at their ends, which no eye sees."""
    return [line.rstrip() for line in text.rstrip("\n").splitlines()]


def test_the_terminal_shows_what_a_person_reads() -> None:
    text = evaluation_text(EVALUATION, "terminal", system="keyword")
    assert lines(text) == lines(TERMINAL)


def test_without_colour_there_is_not_one_escape_and_with_it_there_is() -> None:
    assert "\x1b" not in evaluation_text(EVALUATION, "terminal")
    assert "\x1b[1m" in evaluation_text(EVALUATION, "terminal", look=Look(color=True))


@pytest.mark.parametrize("width", [100, 80, 60, 40, 20])
def test_no_number_is_ever_cut(width: int) -> None:
    text = evaluation_text(EVALUATION, "terminal", system="keyword", look=Look(width))
    for number in ("0.5000", "0.3333", "0.6667", "1.0000"):
        assert number in text
    assert "…" not in text
    if width >= 40:
        assert max(map(len, text.splitlines())) <= max(width, 65)


def test_more_decimals_on_request() -> None:
    text = evaluation_text(EVALUATION, "terminal", look=Look(digits=6))
    assert "0.333333" in text
    assert "0.3333 " not in text


def test_json_holds_to_its_schema_and_is_exact(repository: Path) -> None:
    schema = json.loads((repository / "docs/reference/evaluation.schema.json").read_text())
    sensitivity = (seen("nDCG@10", 204, 0.023, "keyword", "dense"), seen("RR", 9, 0.5))
    evaluation = replace(EVALUATION, sensitivity=sensitivity)
    found = json.loads(evaluation_text(evaluation, "json", per_query=True))
    assert [s["pair"] for s in found["sensitivity"]] == [["keyword", "dense"], None]
    jsonschema.validate(found, schema)
    assert found["systems"]["keyword"]["measures"]["RR"]["mean"] == 1 / 3
    assert found["systems"]["dense"]["measures"]["RR"]["mean"] is None
    assert found["systems"]["keyword"]["per_query"]["nDCG@10"]["q2"] == 0.1 + 0.2


def test_the_verdict_as_json_holds_to_its_schema(repository: Path) -> None:
    schema = json.loads((repository / "docs/reference/gate.schema.json").read_text())
    found = json.loads(verdict_text(verdict(), "json"))
    jsonschema.validate(found, schema)
    assert found["passed"] is False
    assert found["measures"][0]["delta"] == pytest.approx(-0.1)
    assert found["worst_queries"][0]["text"] == "a text"


def test_csv_is_exact_and_reads_back() -> None:
    rows = list(csv.reader(io.StringIO(evaluation_text(EVALUATION, "csv"))))
    assert rows[0][:4] == ["system", "category", "measure", "mean"]
    assert rows[2][:4] == ["keyword", "", "RR", repr(1 / 3)]
    queries = list(csv.reader(io.StringIO(evaluation_text(EVALUATION, "csv", per_query=True))))
    assert ["keyword", "q2", "nDCG@10", repr(0.1 + 0.2)] in queries


def test_markdown_marks_the_best_and_lists_the_notes() -> None:
    text = evaluation_text(EVALUATION, "markdown", system="keyword")
    assert "| dense | **0.6667** | - |" in text
    assert "- RR cannot pass 0.667." in text


def test_the_verdict_names_limits_and_queries() -> None:
    text = verdict_text(verdict(), "terminal")
    assert "Gate failed: keyword breaks 1 limit." in text
    assert "- nDCG@10 fell by 0.1000 (0.5000 -> 0.4000), more than the 0.02 allowed" in text
    assert "q1      a text   nDCG@10     0.5000      0.4000   -0.1000" in text
    assert verdict_text(verdict(0.5), "terminal").rstrip().endswith("holds every limit.")


def test_a_name_made_to_deceive_stands_for_itself_in_every_format() -> None:
    evil = Evaluation(
        systems=(system(EVIL, 0.5, 0.5),),
        conventions=EVALUATION.conventions,
        profile="graded",
        n_queries=3,
        categories={},
        digests=EVALUATION.digests,
    )
    terminal = evaluation_text(evil, "terminal")
    assert "[red]=1|<b>\ufffd[31m" in terminal
    markdown = evaluation_text(evil, "markdown")
    assert "\\[red\\]=1\\|\\<b\\>" in markdown
    assert "\x1b" not in terminal + markdown
    assert json.loads(evaluation_text(evil, "json"))["systems"][EVIL]["n_failed"] == 0


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_a_spreadsheet_runs_no_name_as_a_formula(text: str) -> None:
    evil = system(text, 0.5, 0.5)
    rows = csv.reader(
        io.StringIO(
            evaluation_text(Evaluation((evil,), EVALUATION.conventions, "graded", 3, {}, {}), "csv")
        )
    )
    assert list(rows)[1][0] == "'" + text


def test_the_baseline_is_shown_in_every_format() -> None:
    accepted = baseline_of(EVALUATION.systems[0], EVALUATION)
    for form in FORMATS:
        assert "0.5" in baseline_text(accepted, form)


def test_the_best_of_a_column_is_marked_only_where_rows_differ() -> None:
    rows = [("a", 1.0, 0.5, None), ("b", 1.0, 0.7, 0.1), ("c", 1.0, 0.7, None)]
    assert leaders(rows, [1, 2, 3]) == {(1, 2), (2, 2)}


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (1, "1"), (0.12345, "0.1235"), ("x\ny", "x\ufffdy"), ("a\u00a0b", "a b")],
)
def test_cells(value: str | float | None, text: str) -> None:
    assert shown(value) == text


def test_clean_keeps_letters_of_every_script() -> None:
    assert clean("äß 検索 🙂") == "äß 検索 🙂"


def seen(measure: str, n: int, size: float, *pair: str, clusters: int | None = None) -> Sensitivity:
    needed = ((0.01, 1037), (0.02, 261))
    named = (pair[0], pair[1]) if pair else None
    basis = "pairs" if pair else "one system"
    return Sensitivity(measure, None, n, clusters, basis, 0.1, size, needed, named)


def shown_by(*found: Sensitivity, n_systems: int = 3) -> str:
    systems = tuple(system(f"s{i}", 0.5, 0.5) for i in range(n_systems))
    return sensitivity_lines(replace(EVALUATION, systems=systems, sensitivity=found))[0]


def test_what_the_queries_show_names_the_pair_and_every_measure() -> None:
    both = (seen("nDCG@10", 204, 0.023, "a", "b"), seen("RR", 204, 0.028, "a", "b"))
    needed = " To see a difference in nDCG@10 of 0.01 about 1,037 and 0.02 about 261 queries are "
    assert shown_by(*both) == (
        "With 204 queries, differences under 0.023 nDCG@10 and 0.028 RR are not detectable (by "
        f"the differences between a and b; 80% power at the 5% level).{needed}needed."
    )
    assert "(by the differences between a and b; 80% power" in shown_by(*both, n_systems=2)
    other = seen("R@20", 204, 0.08, "a", "c")
    assert shown_by(*both, other).startswith(
        "With 204 queries, differences under 0.023 nDCG@10 and 0.028 RR (a and b) and 0.080 R@20 "
        "(a and c) are not detectable (by the differences of the pairs named; 80% power"
    )
    filtered = seen("FilterOK@10", 56, 0.07, "a", "b")
    assert shown_by(filtered, *both).startswith(
        "With 56 queries, differences under 0.070 FilterOK@10, and with 204 queries under 0.023 "
        "nDCG@10 and 0.028 RR, are not detectable (by the differences between a and b; "
        "80% power"
    )
    apart = seen("NoAnswer", 32, 0.3, "a", "c", clusters=8)
    assert shown_by(*both, filtered, apart).startswith(
        "With 204 queries, differences under 0.023 nDCG@10 and 0.028 RR (a and b), with 56 queries "
        "under 0.070 FilterOK@10 (a and b), and with 32 queries in 8 clusters under 0.300 NoAnswer "
        "(a and c), are not detectable (by the differences of the pairs"
    )
    assert "(by two unrelated systems like this one; 80%" in shown_by(
        seen("RR", 9, 0.5), n_systems=1
    )


def test_why_an_interval_is_missing_is_told_once() -> None:
    alone = "one query tells nothing of others"
    rough = "only 8 clusters: the interval is a rough one"

    def scores(name: str) -> SystemScores:
        given = system(name, 0.5, 0.5)
        first, second = given.means
        lonely = given.by_category["easy"][0]._replace(interval_note=alone)
        return replace(
            given,
            means=(
                first._replace(interval_note=rough, low=0.1, high=0.9),
                second._replace(interval_note=rough, low=0.1, high=0.9),
            ),
            by_category={"easy": (lonely, second), "few": (lonely, second)},
        )

    found = replace(EVALUATION, systems=(scores("keyword"), scores("dense")))
    assert query_set_lines(found) == [f"nDCG@10 and RR: {rough}."]
    line = f"nDCG@10 and RR: {rough}; nDCG@10 of easy and nDCG@10 of few have no interval: {alone}."
    assert query_set_lines(found, "keyword") == [line]
    for form in ("terminal", "markdown"):
        text = evaluation_text(found, form, system="keyword", look=Look(width=400))
        assert f"- {line}" in text
    assert query_set_lines(EVALUATION, "keyword") == []


def test_an_empty_table_prints_its_heads() -> None:
    assert "system" in table_text(Table("Nothing", ("system", "RR"), ()), Look())
