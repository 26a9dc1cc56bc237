"""What the pages of the examples show of what is printed, and the examples as they are."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def as_it_is(repository: Path, name: str, to: Path) -> Path:
    """Copy an example and the documents that it searches in the repository."""
    ignored = shutil.ignore_patterns(".searchmark", "__pycache__")
    shutil.copytree(repository / "examples" / "data", to / "data")
    return shutil.copytree(repository / "examples" / name, to / name, ignore=ignored)


def called(folder: Path, *arguments: str, **environment: str) -> str:
    """Return what the command prints in this folder."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("searchmark")), *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(page: str) -> Iterator[str]:
    """Yield what the page says is printed: indented text with the rule of a table in it."""
    for block in re.findall(r"(?:^(?: {4}.*)?\n)+", page + "\n", re.MULTILINE):
        if re.search("^ +─+$", block, re.MULTILINE):
            yield "\n".join(line.removeprefix("    ") for line in block.strip("\n").splitlines())


def check(folder: Path, printed: str, n: int = 1) -> None:
    """Compare what the page of an example shows with what it printed, blank by blank."""
    blocks = list(shown((folder / "README.md").read_text(encoding="utf-8")))
    assert len(blocks) == n
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    for block in blocks:
        assert f"\n{block}\n" in f"\n{lines}\n", f"{block}\n\nis not in\n\n{lines}"
