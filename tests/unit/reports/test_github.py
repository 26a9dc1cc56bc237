"""What GitHub Actions is told of a verdict, and the Markdown that it shows."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from searchmark.errors import InputError, NotComparableError, Problem, ProjectError
from searchmark.gate.verdict import MeasureVerdict, PinnedVerdict, QueryChange, Verdict
from searchmark.reports.github import MAX_SUMMARY, annotations, fitted, unread
from searchmark.reports.render import VERDICT_FORMATS, no_verdict_text, verdict_text
from searchmark.reports.verdict import no_verdict

HELD = MeasureVerdict("RR", None, 0.75, 0.7, 0.02, None, None)
PASSED = Verdict("ours", (HELD,), (), (), {"RR": 0}, {"RR": 1})
NOT_COMPARABLE = no_verdict(
    "ours", NotComparableError("long story", reasons=("the qrels changed", "RR is new"))
)


def pinned(n: int) -> tuple[PinnedVerdict, ...]:
    return tuple(PinnedVerdict(f"q{i}", "", (), f"q{i} got worse") for i in range(1, n + 1))


def test_reasons_are_errors_blindness_warns_and_advice_is_a_notice() -> None:
    verdict = replace(
        PASSED,
        measures=(replace(HELD, because="RR fell by 2%, badly: see"), replace(HELD, blind="dark")),
        suggestions=("set max_drop",),
    )
    assert annotations(verdict) == [
        "::error title=Searchmark gate failed (ours)::RR fell by 2%25, badly: see",
        "::warning title=Searchmark gate cannot tell (ours)::dark",
        "::notice title=Searchmark gate suggests (ours)::set max_drop",
    ]


def test_a_good_verdict_without_advice_annotates_nothing() -> None:
    assert annotations(PASSED) == []


def test_no_text_ends_a_command_early_or_begins_another() -> None:
    evil = replace(PASSED, system="a,b:c%d", pinned=pinned(1), suggestions=())
    (line,) = annotations(replace(evil, pinned=(PinnedVerdict("q", "", (), "x\r\n::error::y"),)))
    # a line break is no character that a message may hold; it is replaced, as on a terminal
    title = "Searchmark gate failed (a%2Cb%3Ac%25d)"
    assert line == f"::error title={title}::x\ufffd\ufffd::error::y"


@pytest.mark.parametrize(("n", "shown", "more"), [(10, 10, None), (11, 10, 2), (1234, 10, 1225)])
def test_at_most_ten_of_a_level_and_the_rest_is_counted(
    n: int, shown: int, more: int | None
) -> None:
    lines = annotations(replace(PASSED, pinned=pinned(n)))
    assert len(lines) == shown
    last = lines[-1].partition(")::")[2]
    if more is None:
        assert last == "q10 got worse"
    else:
        assert last == f"and {more:,} more; the log and the summary have them all"
        assert lines[8].endswith("::q9 got worse")


def test_no_verdict_is_annotated_with_every_difference_and_what_to_do() -> None:
    title = "title=Searchmark%3A No verdict on ours%3A not comparable with the baseline"
    first, second, advice = annotations(NOT_COMPARABLE)
    assert first == f"::error {title}::the qrels changed"
    assert second == f"::error {title}::RR is new"
    assert advice.startswith(f"::notice {title}::If that is meant")
    assert "searchmark baseline accept" in advice


def test_problems_of_a_project_file_are_annotated_one_by_one() -> None:
    problems = [Problem("corpus", "is missing"), Problem("foo", "unknown key")]
    lines = annotations(no_verdict(None, ProjectError("x.toml", problems)))
    title = "Searchmark%3A No verdict%3A the input or the project file is wrong"
    assert lines == [
        f"::error title={title}::corpus: is missing",
        f"::error title={title}::foo: unknown key",
    ]


def test_what_is_shown_is_not_obeyed() -> None:
    assert unread("::error::x\n", "t0k3n") == "::stop-commands::t0k3n\n::error::x\n::t0k3n::\n"


def test_a_summary_that_fits_is_untouched_to_the_last_byte() -> None:
    text = "\u00e9" * (MAX_SUMMARY // 2)  # two bytes each
    assert fitted(text) == text
    assert fitted(text[1:], taken=2) == text[1:]


@pytest.mark.parametrize("taken", [0, 1000])
def test_a_longer_summary_is_cut_at_a_line_and_says_so(taken: int) -> None:
    line = "| \u00e9\u00e9\u00e9 |\n"  # 11 bytes
    text = line * (MAX_SUMMARY // 11 + 1)
    cut = fitted(text, taken)
    assert MAX_SUMMARY - taken - 11 < len(cut.encode()) <= MAX_SUMMARY - taken
    head, _, told = cut.partition("\n\n")
    assert set(head.splitlines()) == {line.rstrip("\n")}
    assert told == "The rest is left out: GitHub takes 1 MiB of summary from a step.\n"


def test_a_full_summary_takes_nothing_more() -> None:
    assert fitted("text", taken=MAX_SUMMARY) == ""
    assert fitted("text", taken=2 * MAX_SUMMARY) == ""


def test_markdown_begins_with_the_marker_and_the_verdict() -> None:
    failed = replace(PASSED, measures=(replace(HELD, because="RR fell"), replace(HELD, blind="b")))
    assert verdict_text(failed, "markdown").startswith(
        "<!-- searchmark-gate -->\n"
        "### Gate failed: ours breaks 1 limit.\n"
        "\n- RR fell\n"
        "\n**What it cannot see**\n\n- b\n"
        "\n**ours against its baseline**\n\n| measure |"
    )
    assert no_verdict_text(NOT_COMPARABLE, "markdown") == (
        "<!-- searchmark-gate -->\n"
        "### No verdict on ours: not comparable with the baseline.\n"
        "\n- the qrels changed\n- RR is new\n"
        "\nIf that is meant, look at the scores, run 'searchmark baseline accept' and commit the "
        "new baseline.\n"
    )


def test_markdown_calls_nobody_and_hides_nothing() -> None:
    text = "@team see #12 & &#64;x `a|b` <img src=x>\n\n# [l](u)"
    change = QueryChange("q1", text, "nDCG@10", 1.0, 0.5)
    shown = verdict_text(replace(PASSED, worst_queries=(change,)), "markdown")
    (row,) = [line for line in shown.splitlines() if line.startswith("| q1 |")]
    # an entity that is a space without width stands where a name or a number would begin; the text
    # is cut at 37 characters, and its line breaks are marks
    assert row == (
        "| q1 | @&#8203;team see \\#&#8203;12 \\& \\&\\#&#8203;64;x \\`a\\|b\\` \\<img src... "
        "| nDCG@10 | 1.0000 | 0.5000 | -0.5000 |"
    )


@pytest.mark.parametrize("form", sorted(set(VERDICT_FORMATS) - {"terminal"}))
def test_no_verdict_tells_its_reasons_in_every_format(form: str) -> None:
    text = no_verdict_text(NOT_COMPARABLE, form)
    assert "the qrels changed" in text
    assert "RR is new" in text


def test_no_verdict_prints_nothing_on_a_terminal_where_the_error_stands() -> None:
    assert no_verdict_text(NOT_COMPARABLE, "terminal") == ""


@pytest.mark.parametrize(
    ("found", "code", "comparable"),
    [
        (NOT_COMPARABLE, 4, False),
        (no_verdict(None, InputError("no project", path="x.toml")), 2, None),
    ],
)
def test_no_verdict_as_json_holds_to_the_schema(
    repository: Path, found: object, code: int, comparable: bool | None
) -> None:
    schema = json.loads((repository / "docs/reference/gate.schema.json").read_text())
    document = json.loads(no_verdict_text(found, "json"))  # type: ignore[arg-type]
    jsonschema.validate(document, schema)
    assert set(document) <= set(schema["properties"])
    assert (document["passed"], document["exit_code"]) == (None, code)
    assert document["comparable"] is comparable
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "passed": True}, schema)


def test_the_csv_names_pinned_queries_and_reasons() -> None:
    failed = replace(PASSED, measures=(replace(HELD, because="RR fell"),), pinned=pinned(1))
    head, measure, query = verdict_text(failed, "csv").splitlines()
    assert head.endswith(",n_queries,because,query_id")
    assert measure == ",RR,0.75,0.7,-0.050000000000000044,0.02,,False,,,,,,0,RR fell,"
    assert query == ",,,,,,,False,,,,,,,q1 got worse,q1"
