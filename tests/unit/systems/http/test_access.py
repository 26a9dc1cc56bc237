"""Keys that all systems asked over HTTP share mean the same in each of them, wrong ones too."""

from typing import Any

import pytest

from searchmark.project.entries import decode_systems

TABLES: dict[str, dict[str, Any]] = {
    "http": {"url": "https://h/?q={query}", "ids": "[]"},
    "opensearch": {"hosts": "https://h", "index": "i", "fields": ["t"]},
    "elasticsearch": {"hosts": "https://h", "index": "i", "fields": ["t"]},
}

WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"max_bytes": 0}, "max_bytes", "0 is not from 1 to 1,000,000,000"),
    ({"max_bytes": 10**9 + 1}, "max_bytes", "1000000001 is not from 1 to 1,000,000,000"),
    ({"client_key": "k.pem"}, "client_cert", "is missing: client_key belongs to a certificate"),
    ({"bearer": " "}, "bearer", "is empty; write ${NAME}, a variable that holds it"),
    ({"basic": "Basic ${A}:${B}"}, "basic", "'Basic' is put in front of it anyway; leave it out"),
    ({"headers": {"a b": "c"}}, "headers.a b", ""),
    ({"proxy": "ftp://p"}, "proxy", ""),
    ({"verify": 1}, "verify", "must be"),
    ({"ca_file": 1}, "ca_file", "must be"),
    ({"server_name": []}, "server_name", "must be"),
]


@pytest.mark.parametrize(("keys", "key", "told"), WRONG, ids=[str(w[0]) for w in WRONG])
def test_a_wrong_key_is_told_in_the_same_words(keys: dict[str, Any], key: str, told: str) -> None:
    found = {}
    for use, table in TABLES.items():
        problems: list[Any] = []
        decode_systems({"s": {"use": use, **table, **keys}}, problems)
        found[use] = [(p.key, p.message) for p in problems]
    first = found["http"]
    assert [k for k, _ in first] == [f"systems.s.{key}"]
    assert told in first[0][1]
    assert found == dict.fromkeys(TABLES, first)


@pytest.mark.parametrize("use", TABLES)
def test_defaults_are_the_same(use: str) -> None:
    config: Any = decode_systems({"s": {"use": use, **TABLES[use]}}, [])["s"].config
    assert (config.verify, config.max_bytes, config.headers) == (True, 10_000_000, {})
    assert config.credentials == {"bearer": None, "basic": None, "api_key": None}
    assert (config.proxy, config.tls.ca_file, config.tls.verify) == (None, None, True)
