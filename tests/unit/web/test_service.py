"""What a service does to the process that it runs in."""

import logging
import socket
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from searchmark.demo import place
from searchmark.errors import InputError
from searchmark.project import read_project
from searchmark.web import service
from searchmark.web.front import App
from searchmark.web.limits import Limits
from searchmark.web.quiet import at_level
from searchmark.web.service import NOISY, Asked, open_served, run_service

from .test_app import Service

TOKEN = "a-token.of_16~+/"


def test_loggers_tell_again_what_they_told_of(tmp_path: Path) -> None:
    place(tmp_path)
    project = read_project(tmp_path)
    logging.getLogger(NOISY[0]).setLevel(logging.DEBUG)
    try:
        before = [logging.getLogger(name).level for name in NOISY]
        with open_served(project, Asked("keyword")):
            assert {logging.getLogger(name).level for name in NOISY} == {logging.ERROR}
        assert [logging.getLogger(name).level for name in NOISY] == before
        with pytest.raises(InputError), open_served(project, Asked("keyword")):
            raise InputError("something else")
        assert [logging.getLogger(name).level for name in NOISY] == before
    finally:
        logging.getLogger(NOISY[0]).setLevel(logging.NOTSET)


def begun(folder: Path, asked: Asked) -> tuple[Service, list[str]]:
    """Return what `run_service` would serve, and what it says."""
    said: list[str] = []
    begun = Service(Limits())

    def serve(app: App, bound: socket.socket) -> None:
        begun.app = app  # type: ignore[assignment]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SERVE_TOKEN", TOKEN)
        patch.setattr(service, "serve", serve)
        run_service(read_project(folder), asked, say=said.append, progress=None)
    return begun, said


def test_on_this_machine_hosts_are_looked_at_beside_the_token(tmp_path: Path) -> None:
    place(tmp_path)
    served, said = begun(tmp_path, Asked("keyword", host="LocalHost", token="${SERVE_TOKEN}"))
    known = (b"authorization", f"Bearer {TOKEN}".encode())
    here, elsewhere = (b"host", b"localhost:1"), (b"host", b"evil.example")
    assert served.get("/openapi.json", headers=[here, known]).status == 200
    assert served.get("/openapi.json", headers=[here]).status == 401
    assert served.get("/openapi.json", headers=[elsewhere, known]).status == 421
    (line,) = said
    assert line.startswith("serving 'keyword' at http://")


def test_who_lets_others_ask_is_told_that_nothing_is_encrypted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path)
    monkeypatch.setattr(service, "is_loopback", lambda bound: False)
    served, said = begun(tmp_path, Asked("keyword", token="${SERVE_TOKEN}"))
    assert said[0] == (
        "warning: requests, and the token in them, are not encrypted; put TLS before"
    )
    assert len(said) == 2
    known = (b"authorization", f"Bearer {TOKEN}".encode())
    assert served.get("/openapi.json", headers=[(b"host", b"any"), known]).status == 200
    with pytest.raises(InputError, match="so requests need a token"):
        begun(tmp_path, Asked("keyword"))


def test_a_level_goes_back_whatever_happens() -> None:
    logger = logging.getLogger("searchmark.test.quiet")
    with pytest.raises(KeyboardInterrupt), at_level(logging.CRITICAL, logger.name):
        assert logger.level == logging.CRITICAL
        raise KeyboardInterrupt
    assert logger.level == logging.NOTSET
