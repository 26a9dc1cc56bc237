"""The suggested project file: what changes in it, what stays, and that it runs."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from searchmark.demo import place
from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import Finding, Tag
from searchmark.diagnosis.rollup import roll_up
from searchmark.errors import InputError
from searchmark.experiments.diagnosing import run_evidence
from searchmark.experiments.remedies import CLOSE, Change
from searchmark.experiments.restart import (
    Suggestion,
    meant_by,
    new_names,
    suggest_project,
    toml,
    write_suggestion,
)
from searchmark.project import Project, read_project

HEAD = """\
corpus = "c.jsonl"   # documents
queries = "q.jsonl"
qrels = "r.qrels"
measures = ["nDCG@5"]
profile = "trec"
"""

WORDS = """\
# Strict on purpose.
[systems.words]
use = "bm25"
fields = { title = 2 } # only titles
fallback = false   # every word

[gate]
system = "words"
"""


def make(folder: Path, systems: str = WORDS) -> Project:
    (folder / "c.jsonl").write_text(
        '{"_id": "a", "title": "red shoe", "text": "leather", "note": "warm"}\n'
        '{"_id": "b", "title": "blue hat", "text": "wool", "note": "cold"}\n'
    )
    (folder / "q.jsonl").write_text(
        '{"_id": "q1", "text": "red wool"}\n{"_id": "q2", "text": "blue"}\n'
        '{"_id": "q3", "text": "green coat"}\n'
    )
    (folder / "r.qrels").write_text("q1 0 a 1\nq2 0 b 1\nq3 0 a 0\n")
    (folder / "searchmark.toml").write_bytes((HEAD + systems).encode())
    return read_project(folder)


def finding(
    query_id: str,
    *systems: str,
    tag: Tag = "INDEX_MAPPING",
    rule: str = "pairwise-gap",
    fix: str = "mend it.",
    **evidence: str,
) -> Finding:
    return Finding(rule, "MEDIUM", tag, "wrong", fix, query_id, systems=systems, evidence=evidence)


def suggested(
    project: Project, findings: Sequence[Finding], setup: Evidence | None = None
) -> Suggestion:
    shown = setup or run_evidence(project)
    return suggest_project(project, roll_up(findings, shown), shown)


def decoded(suggestion: Suggestion) -> dict[str, object]:
    return tomllib.loads(suggestion.text)


def test_a_strict_keyword_search_that_finds_nothing_falls_back_to_any_word(tmp_path: Path) -> None:
    found = suggested(make(tmp_path), [finding("q1", "words")])
    assert found.text == HEAD + (
        "# Strict on purpose.\n"
        "[systems.words-v2]\n"
        'use = "bm25"\n'
        "fields = { title = 2 } # only titles\n"
        "# Suggested: asking for every word found nothing for 1 query with an answer; it was right "
        "to for 1\n"
        "# without one, so look at these again.\n"
        "fallback = true   # every word\n"
        "\n"
        "[gate]\n"
        'system = "words-v2"\n'
    )
    assert found.renamed == {"words": "words-v2"}
    assert [(c.key, c.before, c.after) for c in found.changes] == [("fallback", False, True)]
    assert found.notes == (
        "the gate holds words-v2 now, and the baseline is of words: accept a new one with "
        "'searchmark baseline accept' when the change is good",
    )


def test_the_difference_is_shown_as_a_unified_diff(tmp_path: Path) -> None:
    lines = suggested(make(tmp_path), [finding("q1", "words")]).diff.splitlines()
    assert lines[:2] == ["--- searchmark.toml", "+++ searchmark.next.toml"]
    assert "-fallback = false   # every word" in lines
    assert "+fallback = true   # every word" in lines
    assert '-system = "words"' in lines


@pytest.mark.parametrize(
    "system",
    [
        'use = "bm25"\nfields = ["title"]\n',  # falls back already
        'use = "bm25"\nfields = ["title"]\ncandidates = "or"\nfallback = false\n',
    ],
)
def test_what_is_loose_already_is_not_loosened(tmp_path: Path, system: str) -> None:
    project = make(tmp_path, f"[systems.words]\n{system}")
    found = suggested(project, [finding("q1", "words", fix="use synonyms.")])
    assert (found.changes, found.diff, found.renamed) == ((), "", {})
    assert found.notes == ("use synonyms (1 finding of pairwise-gap)",)


def test_empty_answers_that_are_right_or_that_no_finding_is_about_loosen_nothing(
    tmp_path: Path,
) -> None:
    # q3 has no answer; q2 is answered
    found = suggested(make(tmp_path), [finding("q3", "words"), finding("q2", "words")])
    assert found.changes == ()


def test_nothing_found_changes_nothing(tmp_path: Path) -> None:
    found = suggested(make(tmp_path), [])
    assert (found.text, found.diff, found.notes) == (HEAD + WORDS, "", ())


MISSED = {"tag": "EMBEDDING_FIELDS", "rule": "relevant-missed"}


@pytest.mark.parametrize(
    ("written", "after"),
    [
        ("fields = { title = 2 } # short", "fields = { title = 2, text = 1 } # short"),
        ('fields = ["title" , ]', 'fields = ["title" , "text" ]'),
        ('fields = ["title"]', 'fields = ["title", "text"]'),
        ('fields = [\n  "title", # a\n] # b', 'fields = [\n  "title", "text" # a\n] # b'),
        ('"fields" = ["title"]', '"fields" = ["title", "text"]'),
    ],
)
def test_fields_that_hold_what_was_missed_are_added_as_the_list_is_written(
    tmp_path: Path, written: str, after: str
) -> None:
    project = make(tmp_path, f'[systems.words]\nuse = "bm25"\n{written}\n')
    found = suggested(project, [finding("q1", "words", **MISSED, fields="text, nowhere, title")])  # type: ignore[arg-type]
    assert found.text.endswith(f"{after}\n")
    assert found.changes[0].added == ("text",)
    assert "# Suggested: text holds words of queries whose documents were missed (1 times)." in (
        found.text
    )


def test_a_key_that_is_not_given_is_added_after_the_others(tmp_path: Path) -> None:
    project = make(
        tmp_path,
        '[systems.words]\nuse = "bm25"\n[[systems.words.constraints]]\npattern = "x(y)"\n'
        'field = "title"\n',
    )
    found = suggested(project, [finding("q1", "words", **MISSED, fields="note")])  # type: ignore[arg-type]
    assert found.text.endswith(
        '[systems.words-v2]\nuse = "bm25"\n'
        "# Suggested: note holds words of queries whose documents were missed (1 times).\n"
        'fields = ["title", "text", "note"]\n'
        '[[systems.words-v2.constraints]]\npattern = "x(y)"\nfield = "title"\n'
    )


PARTS = """\
[systems.one]
use = "bm25"
fields = ["title"]
fallback = false
[systems."two.b"]
use = "bm25"
[systems.both]
use = "hybrid"
of = ["one", 'two.b']  # "one" first
[systems.outer]
use = "hybrid"
of = ["both"]
"""


@pytest.mark.parametrize(("mended", "changes"), [(0.031, True), (0.029, False)])
def test_a_hybrid_that_loses_much_to_its_best_part_tries_a_smaller_constant(
    tmp_path: Path, mended: float, changes: bool
) -> None:
    # its mean is (1 + 1 + 0) / 3; q3 has no answer, and here stands for one that was lost: of
    # three queries 0.03 is 0.01 of the mean
    project = make(tmp_path, PARTS)
    setup = run_evidence(project)
    lost = Finding(
        "hybrid-below-best",
        "LOW",
        "SEARCH_PIPELINE",
        "",
        "",
        "q3",
        ("both",),
        repaired={"both": mended},
    )
    found = suggested(project, [lost], setup)
    assert [(c.system, c.key, c.before, c.after) for c in found.changes] == (
        [("both", "k", None, CLOSE)] if changes else []
    )
    assert ("[systems.both-v2]" in found.text) is changes
    assert ('of = ["both-v2"]' in found.text) is changes
    assert ("\nk = 10\n" in found.text) is changes


def test_references_follow_and_systems_that_do_not_change_keep_their_names(tmp_path: Path) -> None:
    found = suggested(make(tmp_path, PARTS), [finding("q1", "one")])
    assert list(decoded(found)["systems"]) == ["one-v2", "two.b", "both", "outer"]  # type: ignore[call-overload]
    assert 'of = ["one-v2", \'two.b\']  # "one" first\n' in found.text


@pytest.mark.parametrize(
    "systems",
    [
        'systems.words.use = "bm25"\nsystems.words.fields = ["title"]\n'
        "systems.words.fallback = false\n",
        '[systems]\nwords.use = "bm25"\nwords.fields = ["title"]\nwords.fallback = false\n',
        "[ systems . 'words' ]\r\nuse = 'bm25'\r\nfields = [ 'title' ]\r\n\tfallback=false",
    ],
)
def test_other_ways_to_write_a_table_are_understood(tmp_path: Path, systems: str) -> None:
    project = make(tmp_path, systems)
    found = suggested(project, [finding("q1", "words")])
    assert decoded(found)["systems"] == {
        "words-v2": {"use": "bm25", "fields": ["title"], "fallback": True}
    }


def test_a_dotted_table_takes_a_new_key(tmp_path: Path) -> None:
    project = make(tmp_path, '[systems]\nwords.use = "bm25"\nwords.fallback = true')
    found = suggested(project, [finding("q1", "words", **MISSED, fields="note")])  # type: ignore[arg-type]
    assert found.text.endswith('words-v2.fields = ["title", "text", "note"]')


def test_an_inline_table_is_left_as_it_is_and_told(tmp_path: Path) -> None:
    systems = '[systems]\nwords = { use = "bm25", fields = ["title"], fallback = false }\n'
    found = suggested(make(tmp_path, systems), [finding("q1", "words")])
    assert (found.text, found.diff, found.changes) == (HEAD + systems, "", ())
    assert found.notes[0].startswith(
        "this file cannot be edited automatically: set fallback = true in [systems.words] by hand"
    )


def test_what_the_file_cannot_mend_stands_in_it_as_a_comment(tmp_path: Path) -> None:
    answered = finding(
        "q3", "words", tag="QUERY_TUNING", rule="no-answer-answered", fix="Cut off below 0.4."
    )
    found = suggested(make(tmp_path), [answered])
    assert (found.changes, found.renamed) == ((), {})
    assert "# Note: Cut off below 0.4 (1 finding of no-answer-answered).\n" in found.text
    assert decoded(found) == tomllib.loads(HEAD + WORDS)


@pytest.mark.parametrize(
    ("system", "new"),
    [("words", "words-v2"), ("words-v2", "words-v3"), ("w" * 64, "w" * 61 + "-v2")],
)
def test_names_get_the_next_version(tmp_path: Path, system: str, new: str) -> None:
    project = make(tmp_path, WORDS.replace("words", system))
    change = Change(system, "fallback", False, True, "reason")
    assert new_names([change], project) == {system: new}


def test_a_name_that_is_taken_is_passed_over(tmp_path: Path) -> None:
    project = make(tmp_path, WORDS + '[systems.words-v2]\nuse = "bm25"\n')
    assert new_names([Change("words", "fallback", False, True, "")], project) == {
        "words": "words-v3"
    }


def test_what_is_meant_is_the_decoded_file_with_the_changes() -> None:
    table = {
        "systems": {"a": {"use": "x"}, "b": {"of": ["a", "c"]}},
        "gate": {"system": "a", "max_drop": 1},
    }
    meant = meant_by(table, [Change("a", "k", None, 3, "")], {"a": "a-v2"})
    assert meant == {
        "systems": {"a-v2": {"use": "x", "k": 3}, "b": {"of": ["a-v2", "c"]}},
        "gate": {"system": "a-v2", "max_drop": 1},
    }
    assert table["gate"]["system"] == "a"


@pytest.mark.parametrize("value", [True, 3, 1.5, 'a"b\\\n', ["a", ["b"]], {"a b": 1, "c": [2]}])
def test_values_read_back_as_they_were(value: object) -> None:
    assert tomllib.loads(f"x = {toml(value)}")["x"] == value


def test_the_file_is_written_once_and_never_over_another(tmp_path: Path) -> None:
    project = make(tmp_path)
    suggestion = suggested(project, [finding("q1", "words")])
    path = write_suggestion(suggestion, project)
    assert (path, path.read_text()) == (tmp_path / "searchmark.next.toml", suggestion.text)
    path.write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        write_suggestion(suggestion, project)
    assert path.read_text() == "mine"
    write_suggestion(suggestion, project, overwrite=True)
    assert path.read_text() == suggestion.text


def test_the_project_file_itself_is_never_overwritten(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "searchmark.toml").rename(tmp_path / "searchmark.next.toml")
    project = read_project(tmp_path / "searchmark.next.toml")
    suggestion = suggested(project, [finding("q1", "words")])
    with pytest.raises(InputError, match="the project file itself"):
        write_suggestion(suggestion, project, overwrite=True)


def applied(project: Project, system: str) -> tuple[Evidence, Evidence]:
    """Diagnose a system, write the suggestion and diagnose the system that it becomes."""
    before = run_evidence(project, [system])
    failing = [
        finding(q.query_id, system)
        for q in before.queries
        if q.has_answer and (q.ranking(system).value or 0) < 0.3
    ]
    suggestion = suggested(project, failing, before)
    following = read_project(write_suggestion(suggestion, project))
    return before, run_evidence(following, [suggestion.renamed[system]])


def with_one_measure(folder: Path) -> Project:
    """Leave out the measures that nothing here looks at."""
    path = folder / "searchmark.toml"
    path.write_text(re.sub("measures = .*", 'measures = ["nDCG@10"]', path.read_text()))
    return read_project(folder)


def test_the_suggestion_for_the_demo_runs_and_finds_more(tmp_path: Path) -> None:
    place(tmp_path)
    project = with_one_measure(tmp_path)
    before, after = applied(project, "keyword")
    assert after.overall is not None
    assert before.overall is not None
    assert after.overall > before.overall + 0.1
    text = (tmp_path / "searchmark.next.toml").read_text()
    assert 'of = ["keyword-v2", "dense"]' in text
    assert 'system = "hybrid"' in text


def test_the_suggestion_for_the_published_catalog_runs_and_finds_more(
    tmp_path: Path, repository: Path, shared: Path
) -> None:
    text = (repository / "examples" / "x402-catalog" / "searchmark.toml").read_text()
    data = (shared / "data").as_posix()
    (tmp_path / "searchmark.toml").write_text(text.replace("../../../shared/data", data))
    before, after = applied(with_one_measure(tmp_path), "bm25-only")
    assert before.overall == pytest.approx(0.441809, abs=1e-6)  # as published
    assert after.overall is not None
    assert after.overall > 0.6
    assert 'of = ["bm25-only-v2", "dense-only"]' in (tmp_path / "searchmark.next.toml").read_text()
