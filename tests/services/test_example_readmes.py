"""What the pages of the examples say is printed is printed; their scripts fail in a sentence."""

import io
import re
import runpy
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .example_pages import as_it_is, called, check

PRINTED = ("sqlite-fts5", "duckdb", "qdrant", "command", "python-callable")
"""Examples that run here as they are; those that need a server are run in tests of their own."""

DOWN = "does not answer"

WITH_PAGES = (*PRINTED, "http-api", "postgres", "opensearch", "elasticsearch")


@pytest.mark.parametrize("example", PRINTED)
def test_the_page_shows_what_is_printed(repository: Path, tmp_path: Path, example: str) -> None:
    folder = as_it_is(repository, example, tmp_path)
    check(folder, called(folder, "run"))


def test_the_page_about_http_shows_what_is_printed(repository: Path, tmp_path: Path) -> None:
    folder = as_it_is(repository, "http-api", tmp_path)
    command = [sys.executable, str(folder / "server.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            project = folder / "searchmark.toml"
            text = project.read_text(encoding="utf-8")
            project.write_text(text.replace("http://127.0.0.1:8123", address), encoding="utf-8")
            check(folder, called(folder, "run"))
        finally:
            process.kill()


def test_the_page_about_postgres_shows_what_is_printed(
    postgres_server: Any, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn)
    folder = as_it_is(repository, "postgres", tmp_path)
    runpy.run_path(str(folder / "seed.py"))["main"](["--replace"])
    try:
        check(folder, called(folder, "run"))
    finally:
        with postgres_server.connect() as connection:
            connection.execute("DROP TABLE searchmark_example")


def test_a_page_that_is_a_blank_off_is_noticed(tmp_path: Path) -> None:
    table = [" system   AP", " ───────────", " a        1.0"]
    printed = "\n".join(["Systems", "", *table, "", "more"])
    page = "\n".join(["    run", "", "prints", "", *(f"    {line}" for line in table), ""])
    (tmp_path / "README.md").write_text(page, encoding="utf-8")
    check(tmp_path, printed)
    (tmp_path / "README.md").write_text(page.replace(" 1.0", "1.0"), encoding="utf-8")
    with pytest.raises(AssertionError, match="is not in"):
        check(tmp_path, printed)


@pytest.mark.parametrize(
    ("example", "module", "variable", "address", "told"),
    [
        (
            "elasticsearch",
            "elasticsearch",
            "ELASTICSEARCH_URL",
            "http://me:hush@127.0.0.1:{}",
            DOWN,
        ),
        ("elasticsearch", "elasticsearch", "ELASTICSEARCH_URL", "hush", "has to be as http://"),
        ("opensearch", "opensearchpy", "OPENSEARCH_URL", "http://me:hush@127.0.0.1:{}", DOWN),
        ("postgres", "psycopg", "DATABASE_URL", "postgresql://me:hush@127.0.0.1:{}/a", DOWN),
        ("postgres", "psycopg", "DATABASE_URL", "hush", "has to be as postgresql://"),
    ],
)
def test_seeds_say_in_a_sentence_that_nothing_answers(
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    example: str,
    module: str,
    variable: str,
    address: str,
    told: str,
) -> None:
    pytest.importorskip(module)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        monkeypatch.setenv(variable, address.format(taken.getsockname()[1]))
        main = runpy.run_path(str(repository / "examples" / example / "seed.py"))["main"]
        with pytest.raises(SystemExit) as caught:
            main([])
    said = str(caught.value.code)
    assert variable in said and told in said
    assert "hush" not in said and "\n" not in said


def test_the_server_sends_head_and_body_at_once(repository: Path) -> None:
    handler = runpy.run_path(str(repository / "examples" / "http-api" / "server.py"))["Handler"]
    request = b"GET /discovery/search?query=wind&limit=1 HTTP/1.1\r\nConnection: close\r\n\r\n"
    connection = Connection(request)
    handler(connection, ("127.0.0.1", 1), None)
    (sent,) = connection.sent
    assert sent.startswith(b"HTTP/1.1 200 ") and b'{"resource": "wind"}' in sent


class Connection(io.RawIOBase):
    """A connection that keeps what is sent, each write by itself."""

    def __init__(self, request: bytes) -> None:
        self.request, self.sent = request, list[bytes]()

    def makefile(self, mode: str, size: int) -> io.BufferedIOBase:
        if mode == "rb":
            return io.BytesIO(self.request)
        return io.BufferedWriter(self)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sent.append(bytes(data))
        return len(data)

    sendall = write


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
