"""Data of a project whose systems fail on some queries."""

from pathlib import Path

import pytest

from .outages import N


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a project's data: ten queries, each with a document of its own."""
    ids = [f"d{i}" for i in range(N)]
    (tmp_path / "c.jsonl").write_text("".join(f'{{"_id": "{i}", "title": "{i}"}}\n' for i in ids))
    (tmp_path / "q.jsonl").write_text("".join(f'{{"_id": "q{i}", "text": "{i}"}}\n' for i in ids))
    (tmp_path / "r.qrels").write_text("".join(f"q{i} 0 {i} 1\n" for i in ids))
    (tmp_path / "down").write_text("")
    return tmp_path
