"""Requests that nobody would think of: schemathesis against the running service.

Over PostgreSQL as a user would call it, with the address of the OpenAPI document and nothing else;
over the index in memory with all the checks that there are, and once more where it wants a token.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from searchmark.demo import place

if TYPE_CHECKING:
    from conftest import PostgresServer

pytest.importorskip("fastapi")
pytest.importorskip("schemathesis")

COMMAND = [sys.executable, "-c", "from searchmark.cli.main import main; main()"]
EXAMPLES = "15"
TOKEN = "a-token.of_16~letters"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the demo by its keyword search, whose answers need no model."""
    folder = tmp_path_factory.mktemp("demo")
    place(folder)
    yield from served("serve", "--api", str(folder), "--system", "keyword")


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the same to those alone who send the token."""
    place(tmp_path)
    monkeypatch.setenv("SERVE_TOKEN", TOKEN)
    options = ("--system", "keyword", "--token", "${SERVE_TOKEN}")
    yield from served("serve", "--api", str(tmp_path), *options)


@pytest.fixture(scope="module")
def on_postgres(
    postgres_server: "PostgresServer", repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Serve the same catalog from PostgreSQL, by words and meaning; nothing is embedded yet."""
    folder = tmp_path_factory.mktemp("on-postgres")
    example = repository / "examples" / "demo-postgres" / "searchmark.toml"
    data = (repository / "src" / "searchmark" / "demo").as_posix()
    text = example.read_text(encoding="utf-8").replace("../../src/searchmark/demo", data)
    (folder / "searchmark.toml").write_text(text, encoding="utf-8")
    options = ["--system", "hybrid-postgres", "--schema", "fuzzed", "--fill", "--workers", "1"]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DATABASE_URL", postgres_server.dsn)
        yield from served("serve", "--api", str(folder), *options)


def served(*options: str) -> Iterator[str]:
    command = [*COMMAND, *options, "--port", "0", "--rate", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = next((x for x in process.stderr if x.startswith("serving")), "")
            assert line
            yield line.split(" at ")[1].split("/discovery")[0]
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


def test_a_plain_run_over_postgresql_finds_nothing(on_postgres: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    fuzz(on_postgres, tmp_path)


def test_all_checks_find_nothing(address: str, tmp_path: Path) -> None:
    fuzz(address, tmp_path, "--checks", "all")


def test_all_checks_find_nothing_where_a_token_is_needed(guarded: str, tmp_path: Path) -> None:
    """Among the checks: who sends no token, or another one, is refused."""
    fuzz(guarded, tmp_path, "--checks", "all", "-H", f"Authorization: Bearer {TOKEN}")


def test_made_up_cursors_are_tried_and_said(address: str) -> None:
    with urlopen(f"{address}/openapi.json") as answer:
        found: dict[str, Any] = json.load(answer)
    for path in ("/discovery/search", "/discovery/resources"):
        asked = found["paths"][path]["get"]
        assert "cursor" in [p["name"] for p in asked["parameters"]]
        assert "404" in asked["responses"]
