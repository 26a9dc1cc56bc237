"""An explanation as people and machines read it."""

import json

from searchmark.reports.explanation import explanation_text
from searchmark.systems.explanation import Explanation, Reason

FOUND = Explanation(
    "d7",
    10,
    rank=2,
    score=3.5,
    reason=Reason(3.5, "sum of:", (Reason(2.0, "weight(title:red)"), Reason(None, "x" * 500))),
)
GONE = Explanation("d8", 10, note="the document does not match the query")


def test_parts_are_indented_below_what_they_are_parts_of() -> None:
    lines = explanation_text(FOUND, "shop", "red\nshoes", "terminal").splitlines()
    assert lines[0].strip() == "d7 for 'red shoes' in shop: rank 2, score 3.5"
    shown = [line for line in lines if "sum of:" in line or "weight" in line]
    assert shown[0].split() == ["3.5000", "sum", "of:"]
    assert shown[1].split() == ["2.0000", "weight(title:red)"]
    assert shown[1].index("weight") == shown[0].index("sum") + 2
    assert "x" * 500 not in "".join(lines)


def test_machines_get_all_of_it() -> None:
    document = json.loads(explanation_text(FOUND, "shop", "red\nshoes", "json"))
    assert (document["system"], document["query"], document["rank"]) == ("shop", "red\nshoes", 2)
    assert document["reason"]["details"][1] == {
        "value": None,
        "description": "x" * 500,
        "details": [],
    }
    rows = explanation_text(FOUND, "shop", "red", "csv").splitlines()
    assert rows == ["value,reason", "3.5,sum of:", "2.0,  weight(title:red)", ",  " + "x" * 500]


def test_what_was_not_found_is_told_with_why() -> None:
    text = explanation_text(GONE, "shop", "red shoes", "terminal")
    assert "d8 for 'red shoes' in shop: not among the 10 first" in " ".join(text.split())
    assert "the document does not match the query" in " ".join(text.split())
