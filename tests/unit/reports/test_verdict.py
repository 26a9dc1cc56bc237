"""A verdict as people and machines read it."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from searchmark.gate.verdict import MeasureVerdict, PinnedVerdict, QueryChange, Verdict
from searchmark.reports.render import FORMATS, verdict_text
from searchmark.reports.table import Look

CHANGE = QueryChange("q1", "red shoes", "RR", 1.0, 0.5)
BLIND = "RR: 8 queries cannot tell"
HELD = MeasureVerdict("RR", None, 0.75, 0.7, 0.02, None, None)
SURE = replace(HELD, n_queries=8, low=-0.2, high=0.1, p=0.03125, p_adjusted=0.0625, detectable=0.25)


def verdict(*measures: MeasureVerdict, **parts: object) -> Verdict:
    made = Verdict("ours", measures, (), (CHANGE,), {"RR": 0}, {"RR": 1})
    return replace(made, **parts)  # type: ignore[arg-type]


UNSURE = verdict(
    replace(SURE, blind=BLIND),
    alpha=0.05,
    notes=("a note",),
    suggestions=("set max_drop = 0.25",),
    suggested_max_drop=0.25,
)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip("\n").splitlines()]


def test_the_terminal_shows_what_a_person_reads() -> None:
    assert lines(verdict_text(UNSURE, "terminal")) == lines(
        """\
ours against its baseline

 measure   baseline   candidate     delta   max drop   floor   better   worse
 ─────────────────────────────────────────────────────────────────────────────────
 RR          0.7500      0.7000   -0.0500     0.0200   -            0       1   ok

How sure that is: 95% intervals, alpha 0.05

 measure   queries     delta       low      high        p   p (Holm)   detectable
 ────────────────────────────────────────────────────────────────────────────────
 RR              8   -0.0500   -0.2000   +0.1000   0.0312     0.0625       0.2500

The query that lost most

 query   text        measure   baseline   candidate     delta
 ────────────────────────────────────────────────────────────
 q1      red shoes   RR          1.0000      0.5000   -0.5000

Gate passed, but cannot tell: a loss of RR beyond the limit may be there unseen.

What it cannot see
- RR: 8 queries cannot tell

Suggestions
- set max_drop = 0.25

To know
- a note
"""
    )


def test_without_a_test_no_p_value_is_shown() -> None:
    text = verdict_text(verdict(replace(SURE, p=None, p_adjusted=None)), "terminal")
    assert "How sure that is: 95% intervals\n" in text
    assert "p (Holm)" not in text
    assert "Gate passed: ours holds every limit." in text


def test_where_nothing_is_known_no_table_says_so() -> None:
    assert "How sure" not in verdict_text(verdict(HELD), "terminal")


def test_a_failure_outranks_blindness() -> None:
    failed = verdict(replace(SURE, because="RR fell"), replace(SURE, blind=BLIND))
    text = verdict_text(failed, "terminal")
    assert "Gate failed: ours breaks 1 limit.\n- RR fell\n" in text
    assert "- RR: 8 queries cannot tell" in text


def test_guards_of_categories_stand_with_the_categories() -> None:
    guard = replace(SURE, category="x", limit=0.1)
    shown = verdict(HELD, categories=(guard, replace(HELD, category="y", limit=None)))
    text = verdict_text(shown, "terminal")
    assert "category   measure   baseline   candidate     delta   max drop   floor" in text
    assert " x          RR          0.7500      0.7000   -0.0500     0.1000   -       ok" in text
    assert " RR, x           8   -0.0500   -0.2000   +0.1000" in text
    blind = verdict_text(verdict(HELD, categories=(replace(guard, blind=BLIND),)), "terminal")
    assert "a loss of RR in category x beyond the limit" in blind


def test_without_a_guard_there_is_no_column_for_one() -> None:
    shown = verdict(HELD, categories=(replace(HELD, category="y", limit=None),))
    (head,) = [x for x in verdict_text(shown, "terminal").splitlines() if " category " in x]
    assert "max drop" not in head


def test_pinned_queries_show_what_moved() -> None:
    lost = PinnedVerdict("q3", "hats", (), "pinned query q3 got worse: RR has no value any more")
    pinned = (
        PinnedVerdict("q1", "red shoes", (CHANGE,), "pinned query q1 got worse: RR 1.0 -> 0.5"),
        PinnedVerdict("q2", "blue", (replace(CHANGE, candidate=1.0),), None),
        lost,
    )
    text = verdict_text(verdict(HELD, pinned=pinned), "terminal")
    assert "Pinned queries: 1 of 3 are no worse" in text
    assert "q1      red shoes   RR          1.0000      0.5000   -0.5000   FAILED" in text
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "q2 blue - - - - ok" in rows
    assert "q3 hats - - - - FAILED" in rows
    assert "Gate failed: ours breaks 2 limits." in text


@pytest.mark.parametrize("width", [100, 60, 30])
def test_no_sentence_runs_over_the_width(width: int) -> None:
    text = verdict_text(UNSURE, "terminal", Look(width))
    assert max(map(len, text.splitlines())) <= max(width, 60)


def test_json_says_all_of_it_and_holds_to_its_schema(repository: Path) -> None:
    schema = json.loads((repository / "docs/reference/gate.schema.json").read_text())
    pinned = (PinnedVerdict("q1", "red shoes", (CHANGE,), "worse"),)
    shown = replace(UNSURE, pinned=pinned, categories=(replace(SURE, category="x"),))
    found = json.loads(verdict_text(shown, "json"))
    jsonschema.validate(found, schema)
    assert found["blind"] == [BLIND]
    assert (found["alpha"], found["suggested_max_drop"]) == (0.05, 0.25)
    (measure,) = found["measures"]
    assert {k: measure[k] for k in ("low", "high", "p", "p_adjusted", "detectable")} == {
        "low": -0.2,
        "high": 0.1,
        "p": 0.03125,
        "p_adjusted": 0.0625,
        "detectable": 0.25,
    }
    assert found["categories"][0]["category"] == "x"
    assert found["pinned"][0]["changes"] == [
        {"measure": "RR", "baseline": 1.0, "candidate": 0.5, "delta": -0.5}
    ]
    assert found["passed"] is False


def test_every_field_of_the_json_is_in_its_schema(repository: Path) -> None:
    schema = json.loads((repository / "docs/reference/gate.schema.json").read_text())
    pinned = (PinnedVerdict("q1", "red shoes", (CHANGE,), "worse"),)
    found = json.loads(verdict_text(replace(UNSURE, pinned=pinned), "json"))
    assert set(found) <= set(schema["properties"])
    assert set(found["measures"][0]) <= set(schema["$defs"]["measure"]["properties"])
    assert set(found["pinned"][0]) <= set(schema["properties"]["pinned"]["items"]["properties"])


def test_csv_has_a_row_a_measure_with_everything_known() -> None:
    (row,) = csv.DictReader(io.StringIO(verdict_text(UNSURE, "csv")))
    assert row["p_adjusted"] == "0.0625"
    assert row["detectable"] == "0.25"
    assert row["ok"] == "True"


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_in_a_text_reaches_the_reader_unescaped(form: str) -> None:
    evil = "[red]=1|<b>\x1b[31m"
    pinned = (PinnedVerdict(evil, evil, (), evil),)
    text = verdict_text(replace(UNSURE, pinned=pinned, notes=(evil,)), form)
    assert "\x1b" not in text
    if form == "markdown":
        assert "<b>" not in text.replace("\\<b\\>", "")
