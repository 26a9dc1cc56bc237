"""The ordering rule three ways: from raw bytes, through tables, by the loop in this file."""

import math
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from searchmark.data.hits import Hits, ScoreType
from searchmark.data.judged import Judged, prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import Qrels, read_qrels
from searchmark.data.rawshuffled import hits_from_shuffled
from searchmark.data.rawtext import Irregular
from searchmark.data.rawtrec import hits_from_trec, judged_from_trec
from searchmark.data.reading import hits_in_file, judged_from_file
from searchmark.data.run import Run, read_run
from searchmark.errors import InputError

quiet = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

# one id the beginning of another, eight bytes and more, zeros in front, not ASCII, quotes
QUERY_IDS = ["1", "10", "q", "007", "7", "query-number-1", "query-number-2", "ä", "x" * 70]
DOC_IDS = [
    *["a", "b", "ab", "a0", "D1234567", "D12345678", "D12345679", "d" * 16, "d" * 17, "d" * 90],
    *["12345678901234567890", "12345678901234567891", "0", "00", "é", "語", '"a', "a,b", "#"],
]
# equal numbers written in several ways, at the limits of what is read eight digits at a time
SHORT = ["0", "0.0", "1", "1.0", "1.00", "2.5", "10", "12345678", "12345678.5", "0.12345678"]
SHORT += [".5", "5.", "007", "99999999.9999999", "8.0", "80000000.0", "08"]
LONG = [*SHORT, "123456789", "123456780", "1234567890", "0.123456789", "123456789012345"]
ANY = [*LONG, "-1", "-1.5", "+2.5", "1e-5", "1E5", "-0.0", "1e400", "16777216", "16777217"]
ANY += ["1.0000000001", "1.0000000002", "1234567890123456789", "12345678901234567890.5"]

Lists = dict[str, list[tuple[str, str]]]


class Case(NamedTuple):
    """Judgments, and each query's documents with the texts of their scores, in file order."""

    grades: dict[str, dict[str, int]]
    lists: Lists

    def write(self, folder: Path) -> tuple[Path, Path]:
        qrels, run = folder / "qrels", folder / "run"
        qrels.write_text(
            "".join(f"{q} 0 {d} {g}\n" for q, docs in self.grades.items() for d, g in docs.items()),
            encoding="utf-8",
        )
        run.write_text("".join(self.lines()), encoding="utf-8")
        return qrels, run

    def lines(self) -> list[str]:
        return [f"{q} Q0 {d} 1 {s} tag\n" for q, docs in self.lists.items() for d, s in docs]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    ids = st.lists(st.sampled_from(DOC_IDS), unique=True, min_size=1, max_size=9)
    some = st.lists(st.sampled_from(QUERY_IDS), unique=True, min_size=1, max_size=5)
    texts = st.sampled_from(draw(st.sampled_from([SHORT, LONG, ANY])))
    grades = {q: {d: draw(st.integers(-2, 12)) for d in draw(ids)} for q in draw(some)}
    lists = {q: [(d, draw(texts)) for d in draw(ids)] for q in draw(some)}
    for found in lists.values():
        found.sort(key=lambda x: float(x[1]), reverse=True)
    return Case(grades, lists)


def number(text: str, scores: ScoreType) -> float:
    if scores == "float64":
        return float(text)
    with np.errstate(over="ignore"):
        return float(np.float32(float(text)))


def by_hand(case: Case, scores: ScoreType) -> set[tuple[str, str, int, int, int, int]]:
    """Return (query, document, grade, rank, first and last rank of its tie), by counting."""
    found = set()
    for q, docs in case.lists.items():
        rows = [(number(s, scores), d.encode()) for d, s in docs]
        for score, doc in rows:
            grade = case.grades.get(q, {}).get(doc.decode())
            if grade is None:
                continue
            above = sum(other > score for other, _ in rows)
            tied = sum(other == score for other, _ in rows)
            before = sum(other == score and d > doc for other, d in rows)
            found.add((q, doc.decode(), grade, above + before + 1, above + 1, above + tied))
    return found


def seen(hits: Hits) -> list[tuple[str, str, int, int, int, int]]:
    judged = hits.judged
    return [
        (judged.query_ids[q], judged.doc_ids[row], grade, rank, first, last)
        for q, row, grade, rank, first, last in zip(
            hits.query.tolist(),
            hits.row.tolist(),
            hits.grade.tolist(),
            hits.rank.tolist(),
            hits.tie_first.tolist(),
            hits.tie_last.tolist(),
            strict=True,
        )
    ]


def check(hits: Hits, case: Case, scores: ScoreType = "float64") -> None:
    rows = seen(hits)
    assert set(rows) == by_hand(case, scores)
    assert len(set(rows)) == len(rows)
    places = list(zip(hits.query.tolist(), hits.rank.tolist(), strict=True))
    assert places == sorted(places)
    counts = dict(zip(hits.judged.query_ids, hits.n_retrieved.tolist(), strict=True))
    assert counts == {q: len(case.lists.get(q, [])) for q in case.grades}
    assert hits.answered.tolist() == [n > 0 for n in counts.values()]
    assert hits.n_unjudged_queries == len(case.lists.keys() - case.grades.keys())
    assert hits.n_duplicates == 0


def same_judgments(a: Judged, b: Judged) -> None:
    assert a.query_ids == b.query_ids
    assert a.query.tolist() == b.query.tolist()
    assert a.grade.tolist() == b.grade.tolist()
    assert a.start.tolist() == b.start.tolist()
    assert a.doc_ids.series.to_list() == b.doc_ids.series.to_list()


@quiet
@given(case=cases(), scores=st.sampled_from(["float64", "float32"]))
def test_tables_follow_the_rule(tmp_path: Path, case: Case, scores: ScoreType) -> None:
    qrels, run = case.write(tmp_path)
    check(find_hits(read_run(run), prepare(read_qrels(qrels)), scores=scores), case, scores)


@quiet
@given(case=cases(), scores=st.sampled_from(["float64", "float32"]), block=st.integers(1, 400))
def test_raw_bytes_follow_the_rule_whatever_the_block(
    tmp_path: Path, case: Case, scores: ScoreType, block: int
) -> None:
    qrels, run = case.write(tmp_path)
    # these files are regular: Irregular would be a fault
    judged = judged_from_trec(qrels)
    tag, hits = hits_from_trec(run, judged, scores=scores, block=block)
    check(hits, case, scores)
    assert tag == "tag"
    same_judgments(judged, prepare(read_qrels(qrels)))


@quiet
@given(case=cases(), seed=st.integers(0, 9), block=st.integers(1, 400))
def test_the_order_of_lines_does_not_matter(
    tmp_path: Path, case: Case, seed: int, block: int
) -> None:
    qrels, run = case.write(tmp_path)
    lines = case.lines()
    random.Random(seed).shuffle(lines)
    run.write_text("".join(lines), encoding="utf-8")
    judged = judged_from_file(qrels)
    check(hits_in_file(run, judged)[1], case)
    check(find_hits(read_run(run), judged), case)
    with suppress(Irregular):
        # either it notices, or the lines happen to stand in order
        check(hits_from_trec(run, judged, block=block)[1], case)


@quiet
@given(case=cases())
def test_dicts_and_judgments_of_either_kind_follow_the_rule(tmp_path: Path, case: Case) -> None:
    qrels, run = case.write(tmp_path)
    table = Run.from_dict({q: {d: float(s) for d, s in x} for q, x in case.lists.items()})
    check(find_hits(table, judged_from_trec(qrels)), case)
    check(hits_from_trec(run, prepare(Qrels.from_dict(case.grades)))[1], case)


@quiet
@given(case=cases(), data=st.data())
def test_a_document_that_stands_twice_is_always_found(
    tmp_path: Path, case: Case, data: st.DataObject
) -> None:
    qrels, run = case.write(tmp_path)
    query = data.draw(st.sampled_from(list(case.lists)))
    place = data.draw(st.integers(0, len(case.lists[query]) - 1))
    doc = case.lists[query][place][0]
    twice = [*case.lists[query], (doc, "-9")]
    broken = Case(case.grades, {**case.lists, query: twice})
    run.write_text("".join(broken.lines()), encoding="utf-8")
    judged = judged_from_file(qrels)
    if query not in case.grades:  # nothing is computed for it
        check(hits_in_file(run, judged)[1], broken)
        return
    of_it = [n for n, x in enumerate(broken.lines(), 1) if x.split()[:3:2] == [query, doc]]
    with pytest.raises(InputError, match="occurs twice") as error:
        hits_in_file(run, judged)
    assert error.value.line == of_it[1]
    _, kept = hits_in_file(run, judged, keep_first=True)
    assert kept.n_duplicates == 1
    check(replace(kept, n_duplicates=0), case)


@quiet
@given(case=cases())
def test_given_ranks_are_taken_as_they_are(case: Case) -> None:
    lists = {q: {d: -float(i) for i, (d, _) in enumerate(x)} for q, x in case.lists.items()}
    judged = prepare(Qrels.from_dict(case.grades))
    hits = find_hits(Run.from_dict(lists), judged, order="rank")
    places = {(q, d): i for q, x in case.lists.items() for i, (d, _) in enumerate(x, 1)}
    for query, doc, _, rank, first, last in seen(hits):
        assert rank == first == last == places[query, doc]


def test_the_loop_above_knows_the_rule() -> None:
    # by hand: 2 before the tie of a and b at 1, in which b, the greater id, comes first
    case = Case({"q": {"a": 3, "b": -1}}, {"q": [("c", "2"), ("a", "1.0"), ("b", "1")]})
    assert by_hand(case, "float64") == {("q", "b", -1, 2, 2, 3), ("q", "a", 3, 3, 2, 3)}
    assert math.isinf(number("1e39", "float32"))


@quiet
@given(
    case=cases(),
    scores=st.sampled_from(["float64", "float32"]),
    block=st.integers(1, 400),
    order=st.randoms(use_true_random=False),
)
def test_raw_bytes_follow_the_rule_whatever_the_order(
    tmp_path: Path, case: Case, scores: ScoreType, block: int, order: random.Random
) -> None:
    qrels, run = case.write(tmp_path)
    lines = case.lines()
    order.shuffle(lines)
    run.write_text("".join(lines), encoding="utf-8")
    judged = judged_from_trec(qrels)
    # these files are regular: Irregular would be a fault
    tag, hits = hits_from_shuffled(run, judged, scores=scores, block=block, least=0)
    assert tag == "tag"
    check(hits, case, scores)


def test_more_queries_than_sixteen_bits_count(tmp_path: Path) -> None:
    # every query's three lines stand far apart; rank 2 is the judged one
    n = (1 << 16) + 3
    (tmp_path / "qrels").write_text("".join(f"q{i} 0 b 1\n" for i in range(n)))
    parts = [
        [f"q{i} Q0 {d} 1 {s} t\n" for i in range(n)] for d, s in [("a", 1), ("b", 2), ("c", 3)]
    ]
    (tmp_path / "run").write_text("".join(line for part in parts for line in part))
    judged = judged_from_file(tmp_path / "qrels")
    hits = hits_from_shuffled(tmp_path / "run", judged, least=0)[1]
    assert (hits.rank == 2).all()
    assert hits.query.tolist() == list(range(n))


def test_shuffled_lines_that_need_a_word_said_are_left_to_the_general_path(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\nr 0 a 1\n")
    judged = judged_from_file(tmp_path / "qrels")
    twice = "q Q0 a 1 1 t\nr Q0 a 1 1 t\nq Q0 x 2 2 t\nq Q0 x 3 3 t\n"
    wrong = "q Q0 a 1 1 t\nr Q0 a 1 1 t\nq Q0 x 2 nan t\n"
    for text in (twice, wrong, "\n", "q Q0 a 1 1\n"):
        (tmp_path / "run").write_text(text)
        with pytest.raises(Irregular):
            hits_from_shuffled(tmp_path / "run", judged, least=0)
    # with few lines a query the tables are quicker
    (tmp_path / "run").write_text("q Q0 a 1 1 t\n")
    with pytest.raises(Irregular):
        hits_from_shuffled(tmp_path / "run", judged)
