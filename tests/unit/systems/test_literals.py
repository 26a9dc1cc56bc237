"""Secrets written out in a project file are problems wherever they stand, and other texts are none.

The tokens here are made up, and put together so that no scanner takes them for real ones.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError
from searchmark.project.entries import decode_systems
from searchmark.systems.pool import Pool

LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kL9n"
FORMED = {
    "OpenAI": "sk-" + LETTERS,
    "GitHub": "ghp_" + LETTERS[:36],
    "GitLab": "glpat-" + LETTERS[:20],
    "Slack": "xoxb-" + "1234567890-" + LETTERS[:12],
    "AWS": "AKIA" + "ABCDEFGHIJ234567",
    "Google": "AIza" + LETTERS[:35],
    "Hugging Face": "hf_" + LETTERS[:34],
    "JWT": "eyJ" + LETTERS[:12] + ".eyJ" + LETTERS[:20] + "." + LETTERS[:10],
    "a key file": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "a header": "Bearer " + LETTERS[:20],
}

TABLES: dict[str, dict[str, Any]] = {
    "http": {"url": "http://h/?q={query}", "ids": "[]"},
    "command": {"argv": ["./find", "--", "{query}"], "ids": "[]"},
    "opensearch": {"hosts": "http://h", "index": "i", "template": {"query": {"x": "{query}"}}},
    "chat": {"url": "http://h", "model": "m"},
}


def problems(use: str, **keys: Any) -> dict[str, str]:
    found: list[Any] = []
    decode_systems({"s": {"use": use, **TABLES[use], **keys}}, found)
    return {p.key.removeprefix("systems.s."): p.message for p in found}


PLACES: dict[str, tuple[str, str, Any]] = {
    "a member of a body": ("http", "body.auth.value", {"auth": {"value": "?"}}),
    "an element of a body": ("http", "body.list[0]", {"list": ["?"]}),
    "a parameter": ("http", "params.other", {"other": "?"}),
    "a field of a form": ("http", "form.other", {"other": "?"}),
    "a text": ("http", "text", "hello ? there"),
    "a header": ("http", "headers.X-Other", {"X-Other": "?"}),
    "an argument": ("command", "argv[1]", ["./find", "?", "{query}"]),
    "an argument of version": ("command", "version[1]", ["./find", "?"]),
    "standard input": ("command", "stdin", "?\n{query}"),
    "a variable": ("command", "env.OTHER", {"OTHER": "?"}),
    "a template": ("opensearch", "template.query.y", {"query": {"x": "{query}", "y": "?"}}),
    "what goes into every request": ("chat", "extra.user", {"user": "?"}),
}


def put(value: Any, secret: str) -> Any:
    if isinstance(value, dict):
        return {name: put(inner, secret) for name, inner in value.items()}
    if isinstance(value, list):
        return [put(inner, secret) for inner in value]
    return value.replace("?", secret)


@pytest.mark.parametrize("form", FORMED)
@pytest.mark.parametrize("place", PLACES)
def test_what_has_the_form_of_a_secret_is_refused_everywhere(place: str, form: str) -> None:
    use, key, value = PLACES[place]
    found = problems(use, **{key.split(".")[0].split("[")[0]: put(value, FORMED[form])})
    assert set(found) == {key}
    assert "holds a secret written out" in found[key]
    assert "${NAME}" in found[key]
    assert FORMED[form] not in str(found)


@pytest.mark.parametrize(
    ("use", "keys", "key"),
    [
        ("http", {"body": {"q": "{query}", "password": "hunter2"}}, "body.password"),
        ("http", {"body": {"a": [{"apiKey": "hunter2"}]}}, "body.a[0].apiKey"),
        ("http", {"body": {"access_token": ["hunter2"]}}, "body.access_token[0]"),
        ("http", {"body": {"token": "aB3dE6gH9jK2mN5pQ8"}}, "body.token"),
        ("http", {"body": {"see": "http://me:hunter2@db/"}}, "body.see"),
        ("http", {"body": {"see": "http://h/?api_key=hunter2"}}, "body.see"),
        ("http", {"form": {"client-secret": "hunter2"}}, "form.client-secret"),
        ("http", {"params": {"f": {"password": "hunter2"}}}, "params.f.password"),
        ("http", {"text": '{"q": 1, "api_key": "hunter2"}'}, "text"),
        ("http", {"text": "q={query}&password=hunter2"}, "text"),
        ("http", {"url": "http://h/?q={query}&accessToken=hunter2"}, "url"),
        ("http", {"url": "http://me:hunter2@h/?q={query}"}, "url"),
        ("command", {"argv": ["./f", "--api-key", "hunter2", "{query}"]}, "argv[2]"),
        ("command", {"argv": ["./f", "--password=hunter2", "{query}"]}, "argv[1]"),
        ("command", {"argv": ["./f", "-H", "X-Api-Key: hunter2", "{query}"]}, "argv[2]"),
        ("command", {"argv": ["env", "API_KEY=hunter2", "./f", "{query}"]}, "argv[1]"),
        ("command", {"argv": ["./f", "http://me:hunter2@h/", "{query}"]}, "argv[1]"),
        ("command", {"version": ["./f", "--secret", "hunter2"]}, "version[2]"),
        ("command", {"stdin": '{"password": "hunter2", "q": "x"}'.replace("{", "{{", 1)}, "stdin"),
        ("opensearch", {"params": {"api_key": "hunter2"}}, "params.api_key"),
        ("chat", {"extra": {"metadata": {"secret": "hunter2"}}}, "extra.metadata.secret"),
    ],
)
def test_what_has_the_name_of_a_secret(use: str, keys: dict[str, Any], key: str) -> None:
    found = problems(use, **keys)
    assert "holds" in found[key]
    assert "written out" in found[key]
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    ("use", "keys"),
    [
        ("http", {"body": {"query": "{query}", "fields": ["password", "token", "api_key"]}}),
        ("http", {"body": {"key": "title", "token": "word", "auth": "none", "pass": "second"}}),
        ("http", {"body": {"sort": [{"key": "price_2024"}], "token_chars": ["letter", "digit"]}}),
        ("http", {"body": {"password": "${PW}", "token": "{query}", "secret": "none"}}),
        ("http", {"body": {"api_key": "{query_id}", "apiKey": "$${LATER}", "x": "$token"}}),
        ("http", {"body": {"q": "sk-learn-tutorial-for-beginners", "is_valid_token": "yes"}}),
        ("http", {"body": {"query": "SELECT id FROM t WHERE token = ? AND password = :pw"}}),
        ("http", {"body": {"see": "http://user@h:80/a:b@c?q=token"}}),
        ("http", {"params": {"q": "{query}", "fl": "id,token", "sort": "key asc"}}),
        ("http", {"headers": {"X-Auth-Mode": "none", "Accept": "application/json"}}),
        ("http", {"text": "find: password reset, bearer tokens and basic authentication"}),
        ("http", {"text": "token={query}&key={k}&password=?"}),
        ("http", {"url": "http://h/token/api_key?q={query}&fields=password&sort=key"}),
        ("command", {"argv": ["./f", "--token-file", "/run/secrets/Token1", "{query}"]}),
        ("command", {"argv": ["./f", "--sort-key", "title", "--token", "word", "{query}"]}),
        ("command", {"argv": ["./f", "--password", "--", "{query}"]}),
        ("command", {"argv": ["sh", "-c", 'curl -H "X-Api-Key: $KEY" "$1"', "sh", "{query}"]}),
        ("command", {"argv": ["./f", "-H", "Authorization: Bearer $${TOKEN}", "{query}"]}),
        ("command", {"argv": ["./f", "password: how to reset", "{query}"]}),
        ("command", {"argv": ["./f", "--api-key={query}"]}),
        ("command", {"stdin": "bearer of bad news: {query}"}),
        ("command", {"env": {"AUTH_ENABLED": "false", "TOKENIZERS_PARALLELISM": "false"}}),
        ("opensearch", {"params": {"preference_key": "a", "allow_partial": True}}),
        ("chat", {"extra": {"user": "me", "stop": ["token"], "logit_bias": {"12": 1}}}),
    ],
)
def test_ordinary_texts_are_no_secrets(use: str, keys: dict[str, Any]) -> None:
    assert [m for m in problems(use, **keys).values() if "secret" in m or "password" in m] == []


@pytest.mark.parametrize(
    ("use", "key"),
    [("http", "body_file"), ("opensearch", "template"), ("elasticsearch", "template")],
)
def test_a_file_of_the_project_holds_none_either(use: str, key: str, tmp_path: Path) -> None:
    name = "template" if key == "template" else "body_file"
    (tmp_path / "s.json").write_text('{"query": {"q": "{query}", "password": "hunter2"}}')
    table = {"use": use, **TABLES["opensearch" if use == "elasticsearch" else use], key: "s.json"}
    entries = decode_systems({"s": table}, [])
    corpus = Corpus(pl.DataFrame({"doc_id": ["d"], "text": ["red"]}))
    with (
        pytest.raises(
            InputError, match=rf"s\.json: {name}\.query\.password: holds a secret"
        ) as told,
        Pool(entries, corpus, folder=tmp_path, cache=tmp_path) as pool,
    ):
        pool.open("s")
    assert "hunter2" not in str(told.value)
