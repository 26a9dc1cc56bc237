"""The history of rolling evaluations: capped, whole, and nothing lost."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from searchmark.errors import InputError
from searchmark.experiments.rolling.history import append_record, earlier, read_history
from searchmark.reports.rollingrecord import Catalog, Record, Sampled


def record(number: int, api: str = "http://x") -> Record:
    return Record(
        made=f"night {number}",
        api=api,
        depth=20,
        texts={},
        catalog=Catalog(0, 0, ""),
        sample=Sampled(0, 1, 0, "", {}),
        whole=None,
        partial=None,
        n_failed=0,
        errors=[],
        calls={},
        items=[],
    )


def nights(path: Path) -> list[str]:
    return [r.made for r in read_history(path)]


def test_the_newest_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "new" / "h.jsonl"
    assert read_history(path) == []
    assert [append_record(path, record(i), keep=3) for i in range(5)] == [1, 2, 3, 3, 3]
    assert nights(path) == ["night 2", "night 3", "night 4"]
    assert path.read_bytes().endswith(b"}\n")


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    future = {**msgspec.to_builtins(record(1)), "added_later": {"a": 1}}
    path.write_text(json.dumps(future) + "\n\n")
    append_record(path, record(2))
    first = path.read_text().splitlines()[0]
    assert json.loads(first) == future


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"format": "searchmark/rolling/1"', "is no record"),
        ("[]", "is no record"),
        ('{"a": 1}', "is no record"),
        ("\ufffd\x00", "is no record"),
    ],
)
def test_a_damaged_line_is_told_and_nothing_is_written(
    tmp_path: Path, line: str, told: str
) -> None:
    path = tmp_path / "h.jsonl"
    append_record(path, record(1))
    with path.open("a") as stream:
        stream.write(line + "\n")
    before = path.read_bytes()
    for attempt in (lambda: read_history(path), lambda: append_record(path, record(2))):
        with pytest.raises(InputError, match=rf"h\.jsonl:2: {told}.*--history"):
            attempt()
    assert path.read_bytes() == before


def test_another_format_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    other = msgspec.structs.replace(record(1), format="searchmark/rolling/2")
    path.write_bytes(msgspec.json.encode(other) + b"\n")
    with pytest.raises(InputError, match="has the format 'searchmark/rolling/2'"):
        append_record(path, record(2))


def test_records_of_other_apis_are_apart(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    for number, api in enumerate(["http://a", "http://b", "http://a"]):
        append_record(path, record(number, api))
    found = earlier(read_history(path), "http://a")
    assert [r.made for r in found] == ["night 0", "night 2"]


@pytest.mark.skipif(sys.platform == "win32", reason="no flock there")
def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: append_record(path, record(i), keep=100), range(40)))
    assert sorted(nights(path)) == sorted(f"night {i}" for i in range(40))
