"""The guide without a terminal: the same steps from files; what is missing is said."""

import csv
import json
from pathlib import Path

import pytest

from searchmark.cli.main import main

DOCUMENTS = [
    ("d1", "Weather forecast", "Rain and sun at any place."),
    ("d2", "Weather history", "Rain of past years."),
    ("d3", "Flight delays", "Late planes."),
]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    rows = [{"id": i, "title": t, "text": x} for i, t, x in DOCUMENTS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "asked.txt"
    path.write_text("weather\n\n  late   planes \nweather\n")
    return path


def call(folder: Path, *arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["guide", str(folder), "--no-dense", *map(str, arguments)])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def fill_in(folder: Path, grades: dict[tuple[str, str], str]) -> Path:
    sheet = folder / "to-judge.tsv"
    with sheet.open(newline="") as stream:
        rows = [*csv.DictReader(stream, delimiter="\t")]
    with sheet.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*rows[0]], delimiter="\t")
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "grade": grades.get((row["query_id"], row["doc_id"]), "")})
    return sheet


def test_step_by_step_from_files(
    tmp_path: Path, documents: Path, queries: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a"
    assert call(folder) == 2
    assert "it is not known where the documents are" in (said := capsys.readouterr().err)
    assert "give --documents FILE" in said
    assert call(folder, "--documents", documents) == 2
    assert "there are no queries" in (said := capsys.readouterr().err)
    assert "give --queries FILE, or --generate N for stand-ins" in said
    assert call(folder, "--queries", queries) == 2
    assert "nothing is judged yet, of 3 documents" in (said := capsys.readouterr().err)
    assert "Going on with step 2 of 8, queries" in said
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    assert rows == [
        {"query_id": "q1", "text": "weather"},
        {"query_id": "q2", "text": "late planes"},
    ]

    # "weather" is in d1 and d2, both words of "late planes" in d3 alone
    sheet = fill_in(folder, {("q1", "d1"): "3", ("q1", "d2"): "1"})
    assert call(folder, "--judgments", sheet) == 0
    shown = capsys.readouterr()
    assert "2 judgments in" in shown.err
    assert "1 document within 5 left to judge" in shown.err
    assert "mean over 1 query" in shown.out
    assert "The ways on" in shown.out
    qrels = (folder / "qrels.tsv").read_text().splitlines()
    assert sorted(qrels[1:]) == ["q1\td1\t3", "q1\td2\t1"]
    assert [line.split("\t")[:3] for line in sheet.read_text().splitlines()[1:]] == [
        ["q2", "d3", ""]
    ]


def test_a_sheet_with_grades_is_not_written_over(
    tmp_path: Path, documents: Path, queries: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a"
    assert call(folder, "--documents", documents, "--queries", queries) == 2
    sheet = fill_in(folder, {("q1", "d1"): "3"})
    before = sheet.read_text()
    capsys.readouterr()
    assert call(folder) == 2
    assert "the sheet holds 1 grade that nobody took" in capsys.readouterr().err
    assert sheet.read_text() == before


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("q1\td1\t4", ":2: the grade is '4'"),
        ("q1\td1\tgood", ":2: the grade is 'good'"),
        ("q9\td1\t3", ":2: there is no query 'q9'"),
        ("q1\td9\t3", ":2: there is no document 'd9'"),
    ],
)
def test_a_wrong_grade_is_told_with_its_line_and_nothing_is_taken(
    tmp_path: Path,
    documents: Path,
    queries: Path,
    capsys: pytest.CaptureFixture[str],
    row: str,
    said: str,
) -> None:
    folder = tmp_path / "a"
    wrong = tmp_path / "wrong.tsv"
    wrong.write_text(f"query_id\tdoc_id\tgrade\n{row}\nq1\td2\t1\n")
    given = ("--documents", documents, "--queries", queries)
    assert call(folder, *given, "--judgments", wrong) == 2
    assert said in capsys.readouterr().err
    assert (folder / "guide-judgments.jsonl").read_text() == ""


def test_a_grade_changed_by_hand_in_the_qrels_stays(
    tmp_path: Path, documents: Path, queries: Path
) -> None:
    folder = tmp_path / "a"
    grades = tmp_path / "grades.tsv"
    grades.write_text("query_id\tdoc_id\tgrade\nq1\td1\t3\nq1\td2\t1\nq2\td3\t3\n")
    given = ("--documents", documents, "--queries", queries, "--judgments", grades)
    assert call(folder, *given) == 0
    qrels = folder / "qrels.tsv"
    qrels.write_text(qrels.read_text().replace("q1\td2\t1", "q1\td2\t2"))
    assert call(folder) == 0
    assert "q1\td2\t2" in qrels.read_text()


def test_new_queries_keep_the_ids_of_the_old_ones_and_give_none_twice(
    tmp_path: Path, documents: Path, queries: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a"
    assert call(folder, "--documents", documents, "--queries", queries) == 2
    queries.write_text("rain\nlate planes\n")
    assert call(folder, "--queries", queries) == 2
    assert len((folder / "queries.jsonl").read_text().splitlines()) == 2
    assert call(folder, "--queries", queries, "--restart-step", "queries") == 2
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    assert [(r["query_id"], r["text"]) for r in rows] == [("q3", "rain"), ("q2", "late planes")]


def test_a_project_file_that_was_edited_is_never_written_anew(
    tmp_path: Path, documents: Path, queries: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a"
    assert call(folder, "--documents", documents, "--queries", queries) == 2
    project = folder / "searchmark.toml"
    edited = project.read_text() + "\n# mine\n"
    project.write_text(edited)
    assert call(folder, "--restart-step", "documents") == 2
    assert "is not as the guide wrote it" in capsys.readouterr().err
    assert project.read_text() == edited


PROJECT = """
corpus = "docs.jsonl"
queries = "queries.csv"
qrels = "judged.txt"
measures = ["nDCG@1", "RR"]
complete = {complete}

[systems.words]
use = "bm25"
"""


def other_project(folder: Path, *, complete: bool = False) -> Path:
    """Set up a project by hand, whose qrels leave one of three documents open."""
    (folder / "queries.csv").write_text("query_id,text\nq1,weather\nq2,late planes\n")
    (folder / "judged.txt").write_text("q1 0 d1 2\nq1 0 d3 0\n")
    (folder / "searchmark.toml").write_text(PROJECT.format(complete=str(complete).lower()))
    return folder


def test_a_project_that_is_there_already_is_judged_where_it_has_holes(
    tmp_path: Path, documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = other_project(tmp_path)
    assert call(folder, "-k", "2") == 0
    shown = capsys.readouterr()
    assert "Going on with step 4 of 8, run" in shown.err
    assert "2 documents within 2 left to judge" in shown.err
    assert "The ways on" in shown.out
    assert (folder / "judged.txt").read_text() == "q1 0 d1 2\nq1 0 d3 0\n"
    sheet = fill_in(folder, {("q1", "d2"): "1", ("q2", "d3"): "3"})
    assert call(folder, "-k", "2", "--judgments", sheet) == 0
    assert (folder / "judged.txt").read_text().splitlines() == [
        *("q1 0 d1 2", "q1 0 d3 0", "q1 0 d2 1", "q2 0 d3 3")
    ]
    assert "left to judge" not in capsys.readouterr().err


def test_the_cutoff_is_the_one_that_the_project_measures(
    tmp_path: Path, documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(other_project(tmp_path)) == 0  # nDCG@1
    assert " within 1 left to judge" in capsys.readouterr().err


def test_where_everything_was_judged_nothing_is_left_to_judge(
    tmp_path: Path, documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(other_project(tmp_path, complete=True), "-k", "2") == 0
    assert "left to judge" not in capsys.readouterr().err
    assert not (tmp_path / "to-judge.tsv").exists()


@pytest.mark.parametrize(("fields", "names"), [(("blurb",), None), (("blurb",), "code")])
def test_fields_are_taken_as_told(
    tmp_path: Path, queries: Path, fields: tuple[str, ...], names: str | None
) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(
        "id,code,blurb,remark\na,Red kettle,Boils water quickly,none of it\n"
        "b,Blue lamp,Lights weather maps,all of it\n"
    )
    folder = tmp_path / "a"
    given = [x for f in fields for x in ("--field", f)]
    given += ["--name-field", names] if names else []
    assert call(folder, "--documents", path, "--queries", queries, *given) == 2
    text = (folder / "searchmark.toml").read_text()
    assert "fields = { blurb = 3 }" in text
    assert ('names = ["code"]' in text) == (names is not None)


def test_a_field_that_is_not_there_is_told(
    tmp_path: Path, documents: Path, queries: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--documents", documents, "--queries", queries, "--field", "titel")
    assert call(tmp_path / "a", *given) == 2
    assert "no field 'titel'; did you mean 'title'?" in capsys.readouterr().err
