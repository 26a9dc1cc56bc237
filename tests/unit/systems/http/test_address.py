"""Addresses and headers: the same rule for every adapter, before and after variables are put in."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError, Problem
from searchmark.project.entries import decode_systems
from searchmark.systems.pool import Pool

CORPUS = Corpus(pl.DataFrame({"doc_id": ["d"], "title": ["one"], "text": ["red"]}))

SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "http": ("url", {"params": {"q": "{query}"}, "ids": "[]"}),
    "opensearch": ("hosts", {"index": "i", "fields": ["title"]}),
    "elasticsearch": ("hosts", {"index": "i", "fields": ["title"]}),
    "chat": ("url", {"model": "m"}),
}

NONE = "is no http:// or https:// address with a host"

WRONG = [
    ("localhost:8000", NONE),
    ("ftp://h/", NONE),
    ("http://:80", NONE),
    ("http://[::1/", NONE),
    ("http://h:99999/", NONE),
    ("http://me@h/v1", "holds a user"),
    ("http://a b/v1", "the host 'a b', which is no name"),
    ("http://h..x/v1", "which is no name of a machine"),
    ("http://-h/v1", "which is no name of a machine"),
    (f"http://{'a' * 64}.x/v1", "which is no name of a machine"),
    ("http://h%41/v1", "which is no name of a machine"),
    ("http://höst/v1", "not ASCII; write it as xn--hst-sna"),
    ("http://h/v\n1", "a line end or another control character"),
]

RIGHT = [
    "http://h",
    "HTTP://H:1/v1/",
    "https://a-b.c_d.example.:65535/v1",
    "http://127.0.0.1:80",
    "http://[::1]:9200/v1",
    "https://${APP}-dsn.example.net:${PORT}/v1",
]


def table(use: str, address: str, **more: Any) -> dict[str, Any]:
    key, keys = SYSTEMS[use]
    return {"use": use, key: address, **keys, **more}


def problems(use: str, address: str) -> list[Problem]:
    found = list[Problem]()
    decode_systems({"s": table(use, address)}, found)
    return found


def opening(folder: Path, **keys: Any) -> None:
    entries = decode_systems({"s": keys}, [])
    with Pool(entries, CORPUS, folder=folder, cache=folder) as pool:
        pool.open("s")


@pytest.mark.parametrize("use", SYSTEMS)
@pytest.mark.parametrize(("address", "told"), WRONG)
def test_an_address_that_is_none_is_a_problem(use: str, address: str, told: str) -> None:
    (found,) = problems(use, address)
    assert found.key == f"systems.s.{SYSTEMS[use][0]}"
    assert told in found.message


@pytest.mark.parametrize("use", SYSTEMS)
@pytest.mark.parametrize(("address", "told"), WRONG)
def test_so_is_one_that_a_variable_holds_and_no_query_is_asked(
    use: str, address: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHERE", address)
    assert problems(use, "${WHERE}") == []
    with pytest.raises(InputError, match=told) as raised:
        opening(tmp_path, **table(use, "${WHERE}"))
    assert SYSTEMS[use][0] in str(raised.value)


@pytest.mark.parametrize("use", SYSTEMS)
@pytest.mark.parametrize("address", RIGHT)
def test_an_address_that_is_one(use: str, address: str) -> None:
    assert problems(use, address) == []


def test_a_query_may_not_choose_the_server() -> None:
    (found,) = problems("http", "http://{query}/")
    assert "a query may not choose the server" in found.message


@pytest.mark.parametrize("address", ["http://h/v1?version=1", "http://h/v1#top"])
def test_a_path_cannot_be_put_behind_parameters(address: str) -> None:
    (found,) = problems("chat", address)
    assert "holds parameters" in found.message


@pytest.mark.parametrize(
    ("use", "key"),
    [("http", "bearer"), ("http", "basic"), ("opensearch", "api_key"), ("chat", "key")],
)
def test_a_variable_that_is_empty_is_no_token(
    use: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "")
    with pytest.raises(InputError, match=f"{key}: the variable that it names is empty"):
        opening(tmp_path, **table(use, "http://127.0.0.1:9", **{key: "${TOKEN}"}))


def test_a_password_needs_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIR", "no-colon")
    for use in ("http", "opensearch"):
        with pytest.raises(InputError, match="must be a user and a password") as raised:
            opening(tmp_path, **table(use, "http://127.0.0.1:9", basic="${PAIR}"))
        assert "no-colon" not in str(raised.value)


@pytest.mark.parametrize("value", ["a\nb", "ab ", "schlüssel"])
@pytest.mark.parametrize(
    ("use", "key"), [("http", "bearer"), ("opensearch", "bearer"), ("chat", "key")]
)
def test_a_token_that_no_header_can_hold(
    use: str, key: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", value)
    with pytest.raises(InputError, match="no header can hold"):
        opening(tmp_path, **table(use, "http://127.0.0.1:9", **{key: "${TOKEN}"}))
