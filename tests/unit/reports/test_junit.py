"""A verdict as build servers read it."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.errors import InputError, NotComparableError, SystemFailedError
from searchmark.gate.verdict import MeasureVerdict, PinnedVerdict, QueryChange, Verdict
from searchmark.reports.junit import no_verdict_junit, verdict_junit
from searchmark.reports.verdict import NoVerdict, no_verdict

CHANGE = QueryChange("q1", "red shoes", "RR", 1.0, 0.5)
HELD = MeasureVerdict("RR", None, 0.75, 0.7, 0.02, None, None)
FELL = "RR fell by 0.0500 (0.7500 -> 0.7000), more than the 0.02 allowed"
VERDICT = Verdict(
    "ours",
    measures=(
        replace(HELD, because=FELL),
        replace(HELD, measure="nDCG@10", blind="8 queries cannot tell"),
        replace(HELD, measure="R@20"),
        MeasureVerdict("P@5", None, 0.5, 0.5, None, 0.4, None),
    ),
    categories=(
        replace(HELD, category="shoes", because="RR in category shoes fell"),
        replace(HELD, category="hats", limit=None),
        MeasureVerdict("R@20", "none", None, None, 0.02, None, None),
        MeasureVerdict("P@5", "gone", None, None, None, 0.4, "which no query belongs to"),
    ),
    worst_queries=(CHANGE,),
    n_better={},
    n_worse={},
    pinned=(
        PinnedVerdict("q1", "red shoes", (CHANGE,), "pinned query q1 got worse"),
        PinnedVerdict("q2", "", (), None),
    ),
)

REASON = {"message", "type"}
ALLOWED = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "time", "tests", "failures", "errors", "skipped"},
    "testcase": {"name", "time", "classname"},
    "properties": set[str](),
    "property": {"name", "value"},
    **dict.fromkeys(("failure", "error", "skipped"), REASON),
    "system-out": set[str](),
}
"""Element -> what it may carry: junit-10.xsd of Jenkins' xUnit plugin, which refuses all else."""


def suite(text: str) -> ET.Element:
    root = ET.fromstring(text.encode())
    (found,) = root.findall("testsuite")
    cases = found.findall("testcase")
    counts = {"tests": len(cases)}
    for outcome, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        counts[name] = sum(case.find(outcome) is not None for case in cases)
    assert {name: int(found.attrib[name]) for name in counts} == counts
    del counts["skipped"]
    assert {name: int(root.attrib[name]) for name in counts} == counts
    for element in root.iter():
        assert set(element.attrib) <= ALLOWED[element.tag], element.tag
    return found


def outcome(case: ET.Element) -> str:
    found = [c.tag for c in case if c.tag in ("failure", "error", "skipped")]
    assert len(found) <= 1
    return found[0] if found else "ok"


def test_everything_that_is_held_is_a_test_and_nothing_else() -> None:
    found = suite(verdict_junit(VERDICT))
    assert found.attrib["name"] == "searchmark gate: ours"
    # hats has no limit and R@20 counts no query of 'none': neither holds anything
    assert [(c.attrib["name"], outcome(c)) for c in found.findall("testcase")] == [
        ("RR", "failure"),
        ("nDCG@10", "skipped"),
        ("R@20", "ok"),
        ("P@5 (floor)", "ok"),
        ("RR in category shoes", "failure"),
        ("P@5 in category gone (floor)", "failure"),
        ("pinned query q1: red shoes", "failure"),
        ("pinned query q2", "ok"),
    ]
    counts = ("tests", "failures", "errors", "skipped")
    assert [found.attrib[n] for n in counts] == ["8", "4", "0", "1"]
    assert {c.attrib["classname"] for c in found.findall("testcase")} == {"searchmark.gate.ours"}


def test_a_failure_says_why_and_shows_numbers_and_the_worst_queries() -> None:
    case = suite(verdict_junit(VERDICT, digits=3)).findall("testcase")[0]
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib["message"] == FELL
    assert failure.text is not None
    first, second, *rest = failure.text.splitlines()
    assert first == FELL  # GitLab shows the text and not the attribute
    assert second == "baseline 0.750, candidate 0.700, delta -0.050, max drop 0.020"
    assert "The query that lost most" in rest
    assert " q1      red shoes   RR           1.000       0.500   -0.500" in rest


def test_the_failure_of_a_category_shows_no_queries_of_others() -> None:
    case = suite(verdict_junit(VERDICT)).findall("testcase")[4]
    assert "q1" not in "".join(case.itertext())


def test_a_check_that_cannot_see_is_skipped_only_where_it_passes() -> None:
    blind = replace(VERDICT.measures[0], blind="cannot tell")
    case = suite(verdict_junit(replace(VERDICT, measures=(blind,)))).findall("testcase")[0]
    assert outcome(case) == "failure"


def test_means_are_properties_in_full_precision() -> None:
    third = replace(HELD, baseline=1 / 3, candidate=None)
    found = suite(verdict_junit(replace(VERDICT, measures=(third,))))
    properties = {p.attrib["name"]: p.attrib["value"] for p in found.iter("property")}
    assert properties == {"RR baseline": "0.3333333333333333"}


@given(st.text(st.characters(codec=None), max_size=20))
def test_any_text_makes_well_formed_xml(text: str) -> None:
    change = replace(CHANGE, query_id=text, text=text)
    evil = replace(
        VERDICT,
        system=text,
        measures=(replace(HELD, because=text or "x"), replace(HELD, blind=text or "x")),
        categories=(replace(HELD, category=text or "x"),),
        worst_queries=(change,),
        pinned=(PinnedVerdict(text, text, (change,), None),),
    )
    assert len(suite(verdict_junit(evil)).findall("testcase")) == 4
    suite(no_verdict_junit(NoVerdict(text, (text,), 4, comparable=False)))


def test_what_xml_forbids_is_replaced_and_the_rest_kept() -> None:
    text = 'a\x00b\x1b<&">\ufffe\n\u00e9'
    evil = replace(VERDICT, pinned=(PinnedVerdict("q", text, (), None),))
    case = suite(verdict_junit(evil)).findall("testcase")[-1]
    # NUL, escape, U+FFFE and the line break, which would break a name, each become U+FFFD
    assert case.attrib["name"] == 'pinned query q: a\ufffdb\ufffd<&">\ufffd\ufffd\u00e9'


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (
            NotComparableError("long story", reasons=("the qrels changed", "RR is new")),
            "comparable with the baseline",
            "No verdict on ours: not comparable with the baseline. the qrels changed; RR is new",
        ),
        (
            SystemFailedError("it burns\nbadly"),
            "the system answers",
            "No verdict on ours: the system or a service failed. it burns badly",
        ),
        (
            InputError("no baseline"),
            "the input can be used",
            "No verdict on ours: the input or the project file is wrong. no baseline",
        ),
    ],
)
def test_no_verdict_is_one_error(error: NotComparableError, name: str, message: str) -> None:
    found = suite(no_verdict_junit(no_verdict("ours", error)))
    (case,) = found.findall("testcase")
    assert case.attrib["name"] == name
    (element,) = case
    assert (element.tag, element.attrib["message"]) == ("error", message)
    assert element.text is not None
    assert ("baseline accept" in element.text) is (name == "comparable with the baseline")
