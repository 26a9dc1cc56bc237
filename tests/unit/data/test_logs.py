"""Logs of results that users saw: which rows are one list, and which list counts."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from searchmark.data.logs import LogColumns, read_showings
from searchmark.data.showings import rankings_of
from searchmark.data.times import seconds
from searchmark.errors import InputError

COLUMNS = LogColumns(query="q", doc_id="d", rank="r", time="t", showing_id="s")


def rows(*lists: str) -> list[dict[str, Any]]:
    """Return rows of lists such as ``"a: x y"``: showing i at time i, ranks from 1."""
    found = []
    for i, text in enumerate(lists):
        query, ids = text.split(":")
        for rank, doc_id in enumerate(ids.split(), 1):
            found.append({"q": query, "d": doc_id, "r": rank, "t": i, "s": f"s{i}"})
    return found


def write(path: Path, found: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pl.DataFrame(found).write_parquet(path)
    elif path.suffix == ".csv":
        pl.DataFrame(found).write_csv(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return path


def ranking(path: Path, choice: Any, columns: LogColumns = COLUMNS, **keys: Any) -> dict[str, str]:
    showings = read_showings(path, columns)
    chosen = rankings_of(showings, choice, **keys)
    return {query: " ".join(r.doc_id for r in ranked) for query, ranked in chosen.items()}


LISTS = ("a: x y z", "a: y x z", "b: p q", "a: x y z", "a: z y x", "b: q p")


@pytest.mark.parametrize("kind", ["jsonl", "ndjson", "csv", "parquet"])
def test_which_list_counts(tmp_path: Path, kind: str) -> None:
    log = write(tmp_path / f"log.{kind}", rows(*LISTS))
    assert ranking(log, "latest") == {"a": "z y x", "b": "q p"}
    # a: 'x y z' twice; b: each list once, so that the later one counts
    assert ranking(log, "commonest") == {"a": "x y z", "b": "q p"}
    # a: x stands at 1, 2, 1, 3 (7/4), y at 2, 1, 2, 2 (7/4), z at 3, 3, 3, 1 (10/4); a tie by id
    assert ranking(log, "mean") == {"a": "x y z", "b": "p q"}


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    found = rows(*LISTS)
    forward = write(tmp_path / "a.jsonl", found)
    backward = write(tmp_path / "b.jsonl", found[::-1])
    for choice in ("latest", "commonest", "mean"):
        assert ranking(forward, choice) == ranking(backward, choice)


def test_what_a_list_lacks_stands_just_past_its_end(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", rows("a: x y", "a: x y", "a: rare x y"))
    (x, y, rare) = rankings_of(read_showings(log, COLUMNS), "mean")["a"]
    # x: (1 + 1 + 2) / 3, y: (2 + 2 + 3) / 3, rare: (3 + 3 + 1) / 3; y and rare tie, by id
    assert {x.doc_id: x.mean_position, y.doc_id: y.mean_position} == {"x": 4 / 3, "rare": 7 / 3}
    assert (rare.doc_id, rare.mean_position) == ("y", 7 / 3)


def test_times_from_and_until(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", rows(*LISTS))
    assert ranking(log, "latest", since=1, until=4) == {"a": "x y z", "b": "p q"}
    assert ranking(log, "latest", since=5) == {"b": "q p"}
    assert ranking(log, "latest", until=0) == {}


def test_a_list_with_gaps_counts_for_the_mean_alone(tmp_path: Path) -> None:
    found = rows("a: x y z", "a: u v w")
    log = write(tmp_path / "log.jsonl", [row for row in found if row["d"] != "u"])
    assert ranking(log, "latest") == {"a": "x y z"}
    # list 2 ends at 3: x 1 and 4, y 2 and 4, z 3 and 4; v 4 and 2, w 4 and 3
    assert ranking(log, "mean") == {"a": "x v y w z"}
    only = write(tmp_path / "only.jsonl", [row for row in found if row["d"] in ("v", "w")])
    assert ranking(only, "latest") == {}


def test_without_an_id_a_list_is_what_has_one_time_and_session(tmp_path: Path) -> None:
    found = [
        {"q": "a", "d": d, "r": r, "t": "2026-03-01T10:00:00Z", "u": u}
        for u, ids in (("u1", "x y"), ("u2", "y x"), ("u3", "y x"))
        for r, d in enumerate(ids.split())
    ]
    log = write(tmp_path / "log.jsonl", found)
    by_session = LogColumns(query="q", doc_id="d", rank="r", time="t", session="u")
    assert ranking(log, "commonest", by_session) == {"a": "y x"}
    with pytest.raises(InputError, match=r"log.jsonl:3: 'y' stands at rank 0 .* and so does 'x'"):
        ranking(log, "latest", LogColumns(query="q", doc_id="d", rank="r", time="t"))


def test_a_result_that_is_logged_twice_counts_once(tmp_path: Path) -> None:
    found = rows("a: x y")
    assert ranking(write(tmp_path / "l.jsonl", [*found, *found]), "latest") == {"a": "x y"}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_row_may_be_a_whole_list(tmp_path: Path, kind: str) -> None:
    found: list[dict[str, Any]] = [
        {"q": "a", "ids": ["x", "y"], "t": 1},
        {"q": "a", "ids": ["y", "x"], "t": 1},
        {"q": "b", "ids": ["x"], "t": 1},
        {"q": "b", "ids": [], "t": 2},
    ]
    log = write(tmp_path / f"log.{kind}", found)
    columns = LogColumns(query="q", doc_id="ids", time="t")
    assert ranking(log, "latest", columns) == {"a": "y x", "b": ""}


def test_events_of_the_bulk_form(tmp_path: Path) -> None:
    def event(action: str, doc_id: str, ordinal: int) -> list[dict[str, Any]]:
        attributes = {"object": {"object_id": doc_id}, "position": {"ordinal": ordinal}}
        body = {"action_name": action, "query_id": "i", "event_attributes": attributes}
        return [{"index": {"_index": "ubi_events"}}, {**body, "user_query": "a"}]

    log = write(
        tmp_path / "log.ndjson",
        [
            *event("impression", "x", 0),
            *event("impression", "y", 1),
            *event("click", "y", 1),
        ],
    )
    columns = LogColumns(
        query="user_query",
        doc_id="event_attributes.object.object_id",
        rank="event_attributes.position.ordinal",
        showing_id="query_id",
    )
    (showing,) = read_showings(log, columns, {"action_name": "impression"})
    assert [(r.doc_id, r.position) for r in showing.results] == [("x", 1), ("y", 2)]
    assert len(read_showings(log, columns, {"action_name": "*", "query_id": "i"})) == 1


def test_queries_may_be_brought_together(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", rows("Red  Shoe: x", " red shoe : y", "red shoé: z"))
    found = rankings_of(read_showings(log, COLUMNS, fold=True), "latest")
    assert {q: r[0].doc_id for q, r in found.items()} == {"red shoe": "y", "red shoé": "z"}
    assert len(ranking(log, "latest")) == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"r": "first"}, r"log.jsonl:2: the rank 'first' is none; ranks are whole numbers"),
        ({"r": None}, r"log.jsonl:2: the rank is missing"),
        ({"r": -1}, r"log.jsonl:2: the rank -1"),
        ({"r": "9" * 5000}, r"log.jsonl:2: the rank '9{78}\u2026 is none; .* to 2,147,483,648$"),
        ({"r": 10**30}, r"log.jsonl:2: the rank 10{30} is none; ranks are"),
        ({"r": 1e300}, r"log.jsonl:2: the rank 1e\+300 is none; ranks are"),
        ({"r": 2**31 + 1}, r"log.jsonl:2: the rank 2147483649 is none"),
        ({"r": "1_0"}, r"log.jsonl:2: the rank '1_0' is none"),
        ({"r": "\u0661"}, r"log.jsonl:2: the rank '\u0661' is none"),
        ({"r": True}, r"log.jsonl:2: the rank True is none"),
        ({"n": "1_0"}, r"log.jsonl:2: the tokens '1_0' is none"),
        ({"n": True}, r"log.jsonl:2: the tokens True is none"),
        ({"t": "\u0661"}, r"log.jsonl:2: the time '\u0661' is none"),
        ({"r": 1.5}, r"log.jsonl:2: the rank 1.5"),
        ({"d": None}, r"log.jsonl:2: the document id is missing; leave such rows out"),
        ({"d": 1.5}, r"log.jsonl:2: the document id is 1.5, not text"),
        ({"q": None}, r"log.jsonl:2: the query is None, not text"),
        ({"t": "noon"}, r"log.jsonl:2: the time 'noon' is none"),
        ({"r": 1}, r"log.jsonl:2: 'y' stands at rank 1 of a list for query 'a', and so does 'x'"),
        (
            {"r": 1, "d": "\x1b" + "y" * 5000},
            r"log.jsonl:2: '\\x1by{75}\u2026' stands at rank 1 of a list for query 'a', and so",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    first, second = rows("a: x y")
    log = write(tmp_path / "log.jsonl", [first, {**second, **change}])
    columns = msgspec.structs.replace(COLUMNS, tokens="n" if "n" in change else None)
    with pytest.raises(InputError, match=told):
        read_showings(log, columns)


@pytest.mark.parametrize(
    ("columns", "where", "told"),
    [
        (LogColumns(query="q", doc_id="id", rank="r"), {}, "value in 'id' .columns.doc_id; its"),
        (COLUMNS, {"q": "b"}, "no row of the log counts; check 'where'"),
        (COLUMNS, {"gone": "*"}, "no row of the log counts; check 'where'"),
    ],
)
def test_columns_that_are_not_there(
    tmp_path: Path, columns: LogColumns, where: dict[str, str], told: str
) -> None:
    log = write(tmp_path / "log.jsonl", rows("a: x y"))
    with pytest.raises(InputError, match=told):
        read_showings(log, columns, where)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1970-01-02", 86_400.0),
        ("1970-01-01T01:00:00+0100", 0.0),
        ("1970-01-01T00:00:01.500Z", 1.5),
        ("1970-01-01 00:00:02", 2.0),
        (datetime(1970, 1, 1, 0, 1), 60.0),
        (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), 60.0),
        (date(1970, 1, 2), 86_400.0),
        (1_717_527_764, 1_717_527_764.0),
        (1_717_527_764_433, 1_717_527_764.433),
        (1_717_527_764_433_000, 1_717_527_764.433),
        ("1717527764433", 1_717_527_764.433),
        ("yesterday", None),
        (10**400, None),
        ("", None),
        (True, None),
        (float("nan"), None),
        (None, None),
    ],
)
def test_times(value: Any, expected: float | None) -> None:
    assert seconds(value) == expected
