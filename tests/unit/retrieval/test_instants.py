"""Times of last updates: as moments, in whatever zone they are written."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from searchmark.data.corpus import read_corpus
from searchmark.errors import InputError
from searchmark.retrieval.instants import instant_of, instants, microseconds
from searchmark.systems.catalog import open_catalog
from searchmark.systems.catalog_postgres import documents_of


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2025-10-02T10:00:00+05:00", datetime(2025, 10, 2, 5, tzinfo=UTC)),
        ("2025-10-02T10:00:00", datetime(2025, 10, 2, 10, tzinfo=UTC)),
        ("2025-10-02", datetime(2025, 10, 2, tzinfo=UTC)),
        (date(2025, 10, 2), datetime(2025, 10, 2, tzinfo=UTC)),
        (
            datetime(2025, 10, 2, 3, tzinfo=timezone(timedelta(hours=3))),
            datetime(2025, 10, 2, tzinfo=UTC),
        ),
        (86400.5, datetime(1970, 1, 2, microsecond=500_000, tzinfo=UTC)),
        (-1, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("", None),
        (None, None),
        (float("nan"), None),
    ],
)
def test_what_stands_for_a_moment(value: object, moment: datetime | None) -> None:
    assert instant_of(value) == moment


@pytest.mark.parametrize(
    "value",
    [
        "yesterday",
        " ",
        "2025-13-01",
        True,
        [],
        1e30,
        float("inf"),
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-01:00",
    ],
)
def test_what_stands_for_none(value: object) -> None:
    with pytest.raises(ValueError):
        instant_of(value)


def test_microseconds_keep_all_digits() -> None:
    assert microseconds(instant_of("1970-01-02T00:00:00.000001Z")) == 86_400_000_001
    assert microseconds(None) is None


def corpus(folder: Path, *times: object) -> Path:
    path = folder / "corpus.jsonl"
    lines = [json.dumps({"_id": f"d{i}", "last_updated": t}) for i, t in enumerate(times)]
    path.write_text("\n\n".join(lines), encoding="utf-8")
    return path


def test_ties_go_to_the_later_moment_and_not_to_the_greater_text(tmp_path: Path) -> None:
    times = ["2025-10-02T10:00:00+05:00", "2025-10-02T09:00:00Z", "2025-10-02T09:00:00.5Z", None]
    catalog = open_catalog(read_corpus(corpus(tmp_path, *times)), ties=["last_updated"])
    assert catalog.order.tolist() == [2, 1, 0, 3]


def test_a_time_that_is_none_is_told_with_its_document_and_line(tmp_path: Path) -> None:
    path = corpus(tmp_path, "2025-10-02", "yesterday")  # with an empty line between them
    read = read_corpus(path)
    told = r"corpus\.jsonl:3: the document 'd1' has last_updated 'yesterday', no time of the years"
    for use in (instants, documents_of, lambda c: open_catalog(c, ties=["last_updated"])):
        with pytest.raises(InputError, match=told):
            use(read)
    open_catalog(read)  # who orders nothing by it may hold there what he likes
