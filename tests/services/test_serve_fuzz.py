"""Requests that nobody would think of: schemathesis against the running service.

Twice: a cursor that fits its description and was never given out is refused with 400, which the
description of a parameter cannot say. So one run is about everything but cursors, with all checks;
the other has them, without the check that everything which fits is accepted.
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


def described(address: str) -> dict[str, Any]:
    with urlopen(f"{address}/openapi.json") as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def fuzz(document: dict[str, Any], address: str, folder: Path, *options: str) -> None:
    (folder / "openapi.json").write_text(json.dumps(document))
    command = [sys.executable, "-m", "schemathesis.cli", "run", "openapi.json", "--url", address]
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


def test_all_checks_find_nothing(address: str, tmp_path: Path) -> None:
    document = described(address)
    for path in document["paths"].values():
        parameters = path["get"].get("parameters", [])
        path["get"]["parameters"] = [p for p in parameters if p["name"] != "cursor"]
    fuzz(document, address, tmp_path, "--checks", "all")


def test_cursors_find_nothing(address: str, tmp_path: Path) -> None:
    document = described(address)
    named = [p["name"] for p in document["paths"]["/discovery/search"]["get"]["parameters"]]
    assert "cursor" in named
    options = ("--checks", "all", "--exclude-checks", "positive_data_acceptance")
    fuzz(document, address, tmp_path, *options)
