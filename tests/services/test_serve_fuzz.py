"""Requests that nobody would think of: schemathesis against the running service.

As a user would call it, with the address of the OpenAPI document and nothing else; and with all the
checks that there are.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from searchmark.demo import place

pytest.importorskip("fastapi")
pytest.importorskip("schemathesis")

COMMAND = [sys.executable, "-c", "from searchmark.cli.main import main; main()"]
EXAMPLES = "25"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the demo by its keyword search, whose answers need no model."""
    folder = tmp_path_factory.mktemp("demo")
    place(folder)
    options = ["serve", "--api", str(folder), "--system", "keyword", "--port", "0", "--rate", "0"]
    with subprocess.Popen([*COMMAND, *options], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split(" at ")[1].split("/discovery")[0]
        finally:
            process.terminate()
            assert process.wait(10) == 0
            assert process.stderr.read() == ""  # nothing went wrong that it had to tell


def fuzz(address: str, folder: Path, *options: str) -> None:
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"]
    done = subprocess.run(
        [*command, "--max-examples", EXAMPLES, "--seed", "1", "--no-color", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Tested: 3" in done.stdout, done.stdout
    assert "no issues found" in done.stdout.lower(), done.stdout


def test_a_plain_run_finds_nothing(address: str, tmp_path: Path) -> None:
    fuzz(address, tmp_path)


def test_all_checks_find_nothing(address: str, tmp_path: Path) -> None:
    fuzz(address, tmp_path, "--checks", "all")


def test_made_up_cursors_are_tried_and_said(address: str) -> None:
    with urlopen(f"{address}/openapi.json") as answer:
        found: dict[str, Any] = json.load(answer)
    for path in ("/discovery/search", "/discovery/resources"):
        asked = found["paths"][path]["get"]
        assert "cursor" in [p["name"] for p in asked["parameters"]]
        assert "404" in asked["responses"]
