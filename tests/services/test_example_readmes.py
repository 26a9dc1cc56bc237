"""What the pages of the examples say is printed is printed."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PRINTED = ("sqlite-fts5", "duckdb", "qdrant", "command", "python-callable")
"""Examples that run here as they are; those that need a server are run in tests of their own."""

WITH_PAGES = (*PRINTED, "http-api", "postgres", "opensearch", "elasticsearch")


def rows(text: str) -> Iterator[list[str]]:
    """Yield the rows of the first table: a system and its values."""
    for line in text.splitlines():
        cells = re.findall(r"[\w@.-]+", line)
        if len(cells) > 2 and re.fullmatch(r" +[\w-]+(?: +\d\.\d{4}\*?)+", line):
            yield cells


@pytest.mark.parametrize("example", PRINTED)
def test_the_page_shows_what_is_printed(repository: Path, tmp_path: Path, example: str) -> None:
    ignored = shutil.ignore_patterns(".searchmark", "__pycache__")
    for name in ("data", example):
        shutil.copytree(repository / "examples" / name, tmp_path / name, ignore=ignored)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("searchmark")), "run"],
        cwd=tmp_path / example,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    printed = [row for row in rows(done.stdout) if row[0] != "ceiling"]
    shown = list(rows((tmp_path / example / "README.md").read_text(encoding="utf-8")))
    assert shown == printed
    assert len(shown) == 2


@pytest.mark.parametrize("example", WITH_PAGES)
def test_an_example_needs_nothing_outside_of_the_repository(repository: Path, example: str) -> None:
    folder = repository / "examples" / example
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "searchmark run" in page
    for path in folder.iterdir():
        if path.suffix in (".toml", ".py", ".sql", ".json"):
            assert "shared" not in path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((\.[^)#]+)", page):
        assert (folder / link).exists(), link
