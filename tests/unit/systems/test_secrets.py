"""Values of the environment: what is put in, what is hidden, and in which writings."""

import base64
import html
import json
import shlex
from collections.abc import Callable
from time import process_time
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from searchmark.errors import InputError
from searchmark.systems.literals import literal_secret_problems
from searchmark.systems.secrets import Secrets

AWKWARD = "s3\"cr/e t\\+%'é€\U0001f600<&>x"

WRITINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "URL": lambda v: quote(v, safe=""),
    "URL with slashes": quote,
    "form": quote_plus,
    "lower-case URL": lambda v: quote(v, safe="").replace("%2F", "%2f").replace("%C3", "%c3"),
    "JSON": lambda v: json.dumps(v)[1:-1],
    "JSON in Unicode": lambda v: json.dumps(v, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda v: json.dumps(json.dumps(v)[1:-1])[1:-1],
    "JSON of PHP": lambda v: json.dumps(v)[1:-1].replace("/", "\\/"),
    "repr": lambda v: repr(v)[1:-1],
    "repr of bytes": lambda v: repr(v.encode())[2:-1],
    "escapes": lambda v: v.encode("unicode_escape").decode(),
    "HTML": html.escape,
    "HTML numbers": lambda v: "".join(c if c.isalnum() else f"&#{ord(c)};" for c in v),
    "shell": lambda v: shlex.quote(v)[1:-1],
    "base64": lambda v: base64.b64encode(v.encode()).decode(),
    "base64 of URLs": lambda v: base64.urlsafe_b64encode(v.encode()).decode().rstrip("="),
}


@pytest.mark.parametrize("writing", WRITINGS)
def test_a_value_is_hidden_however_it_is_written(writing: str) -> None:
    written = WRITINGS[writing](AWKWARD)
    assert Secrets({"MY_TOKEN": AWKWARD}).redact(f"<{written}>") == "<${MY_TOKEN}>"


LETTERWISE: dict[str, Callable[[str], str]] = {
    "JSON": lambda v: "".join(f"\\u{ord(c):04x}" for c in v),
    "JSON, some letters": lambda v: v.replace("b", "\\u0062").replace("7", "\\u0037"),
    "JSON in JSON": lambda v: v.replace("b", "\\\\u0062"),
    "URL": lambda v: "".join(f"%{b:02X}" for b in v.encode()),
    "URL, some letters": lambda v: v.replace("b", "%62"),
    "URL in a URL": lambda v: v.replace("b", "%2562"),
    "HTML": lambda v: "".join(f"&#{ord(c)};" for c in v),
    "HTML in hexadecimal": lambda v: v.replace("b", "&#x62;"),
    "bytes": lambda v: v.replace("b", "\\x62"),
}


@pytest.mark.parametrize("writing", LETTERWISE)
@pytest.mark.parametrize("value", ["a7b9-k2", "abcdefgh7", "b" * 40 + "7" * 40, "Bearer a7b9k2-q"])
def test_letters_that_nobody_needs_to_escape(value: str, writing: str) -> None:
    written = LETTERWISE[writing](value)
    assert Secrets({"MY_TOKEN": value}).redact(f"<{written}>") == "<${MY_TOKEN}>"


PARTS = [
    ("Bearer a7b9k2-q", ["a7b9k2-q"]),
    ("Authorization: Bearer a7b9k2-q", ["a7b9k2-q"]),
    ("ApiKey hunter", ["hunter"]),
    ("sess=a7b9k2-q; other=zz88yy77", ["a7b9k2-q", "zz88yy77"]),
    ("X-Api-Key: a7b9k2-q", ["a7b9k2-q"]),
    ("sid=a7%2Fb9k2; Path=/; Max-Age=3600", ["a7%2Fb9k2", "a7/b9k2"]),
    ("me:a7b9k2-q", ["a7b9k2-q"]),
    ('{"type": "service", "private_key": "a7b9k2-q"}', ["a7b9k2-q"]),
    ("Basic bWU6YTdiOWsyLXE=", ["bWU6YTdiOWsyLXE=", "a7b9k2-q"]),  # base64 of me:a7b9k2-q
]


@pytest.mark.parametrize(("value", "parts"), PARTS)
def test_what_a_value_holds_beside_names_is_hidden_alone(value: str, parts: list[str]) -> None:
    used = Secrets({"SHOWN": value})
    used.expand("${SHOWN}", key="headers.X")
    for secrets, name in ((Secrets({"MY_COOKIE": value}), "MY_COOKIE"), (used, "SHOWN")):
        assert secrets.redact(f"<{value}>") == f"<${{{name}}}>"
        for part in parts:
            for write in ("as it is", "URL", "JSON", "HTML numbers", "base64", "repr"):
                shown = secrets.redact(f"no {WRITINGS[write](part)} here")
                assert shown == f"no ${{{name}}} here", (part, write)
            escaped = "".join(f"\\u{ord(c):04x}" for c in part)
            assert secrets.redact(f"no {escaped} here") == f"no ${{{name}}} here"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            "sid=a7b9k2-q; Path=/search; Max-Age=3600; SameSite=Strict",
            "/search 3600 Strict SameSite",
        ),
        ("a7b9k2-q lang=english; mode=fast", "english fast"),
        ("some key-phrase9", "some"),
    ],
)
def test_words_beside_a_secret_stay(value: str, text: str) -> None:
    assert Secrets({"MY_COOKIE": value}).redact(f"in {text}") == f"in {text}"


def test_a_variable_is_searched_in_a_time_that_grows_with_its_length() -> None:
    # a pattern that begins anew at each of 200,000 letters would look at 2 * 10^10 of them
    begin = process_time()
    for text in ("A" * 200_000, "A.b" * 60_000, "x://" + "a:" * 90_000, "?" * 200_000 + "://"):
        Secrets({"CONFIG": text, "MY_COOKIE": text})
    assert process_time() - begin < 20


def test_an_excerpt_gives_a_terminal_no_orders() -> None:
    said = "\x1b[2Jgone\x07 \x9b1m \u202eabc\u2028\tend\ud800"
    assert Secrets({}).excerpt(said) == r"\x1b[2Jgone\x07 \x9b1m \u202eabc  end\ud800"


@pytest.mark.parametrize("user", ["", "u", "us", "use", "elastic"])
def test_the_password_of_basic_authentication_is_hidden(user: str) -> None:
    secret = "correct-horse-9"
    header = base64.b64encode(f"{user}:{secret}".encode()).decode()
    shown = Secrets({"ES_PASSWORD": secret}).redact(f"Authorization: Basic {header}")
    assert shown.endswith("${ES_PASSWORD}")
    left = shown.removeprefix("Authorization: Basic ").removesuffix("${ES_PASSWORD}")
    # what is left before it is the user's name, no bit of the password
    assert header.startswith(left)
    assert 6 * len(left) <= 8 * (len(user) + 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AUTH_ENABLED", "true"),
        ("MY_SECRET", "disabled"),
        ("TOKEN_TYPE", "bearer"),
        ("AUTH_MODE", "password"),
        ("TOKEN_LIMIT", "100000"),
        ("SORT_KEY", "timestamp"),
        ("API_KEY", "12345"),
        ("PWD", "/not/there/any-more"),
        ("SSH_AUTH_SOCK", "/tmp"),
        ("MONKEY", "banana-77"),
        ("HOME_URL", "http://localhost:9200/x"),
    ],
)
def test_what_only_looks_secret_is_not_hidden(name: str, value: str) -> None:
    text = f"it says {value}"
    assert Secrets({name: value}).redact(text) == text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PGPASSWORD", "correcthorse"),
        ("DB_PASSWORD", "12345678"),
        ("OPENAI_API_KEY", "sk-a1b2c3"),
        ("AWS_SECRET_ACCESS_KEY", "/wJalrXUtn+FEMI"),
        ("GITHUB_TOKEN", "ghp_abcdef"),
        ("SESSION_COOKIE", "a1b2c3d4"),
    ],
)
def test_names_that_tell_hide_their_value(name: str, value: str) -> None:
    assert Secrets({name: value}).redact(f"with {value}!") == f"with ${{{name}}}!"


@pytest.mark.parametrize(
    ("value", "password"),
    [
        ("postgres://app:hunter2@db:5432/x", "hunter2"),
        ("postgres://app:p%40ss9@db/x", "p@ss9"),
        ("postgres://app:p%40ss9@db/x", "p%40ss9"),
        ("redis://:hunter2@cache", "hunter2"),
        ("host=db password='hunt er2' user=app", "hunt er2"),
        ("https://x.example/search?api-key=hunter2&q=a", "hunter2"),
    ],
)
def test_the_password_in_a_url_is_hidden_whatever_the_variable_is_called(
    value: str, password: str
) -> None:
    shown = Secrets({"BACKEND": value}).redact(f"app at db: {password} refused")
    assert shown == "app at db: ${BACKEND} refused"


def test_a_value_that_is_used_is_hidden_whole() -> None:
    secrets = Secrets({"WHERE": "db.internal", "MODE": "true", "N": "12"})
    text = secrets.expand("https://${WHERE}/?m=${MODE}&n=${N}", key="url")
    assert text == "https://db.internal/?m=true&n=12"
    assert secrets.redact("db.internal true 12") == "${WHERE} true 12"


def test_a_longer_value_is_not_torn_by_a_part_of_it() -> None:
    secrets = Secrets({"A_TOKEN": "abcdef-1", "B_TOKEN": "abcdef-1-long"})
    assert secrets.redact("abcdef-1-long abcdef-1") == "${B_TOKEN} ${A_TOKEN}"


def test_half_of_a_long_value_is_hidden_with_what_follows() -> None:
    secret = "sk-0123456789abcdefghij"
    shown = Secrets({"MY_TOKEN": secret}).redact(f"key {secret[:15]}… is wrong")
    assert shown == "key ${MY_TOKEN} is wrong"


def test_a_key_file_is_hidden_line_by_line() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n9w0BAQEFAASCBKcwggSj\n-----END KEY-----"
    shown = Secrets({"TLS_PRIVATE_KEY": key}).redact("line 2: 9w0BAQEFAASCBKcwggSj")
    assert shown == "line 2: ${TLS_PRIVATE_KEY}"


@pytest.mark.parametrize("before", range(0, 230, 3))
def test_an_excerpt_never_shows_a_part_of_a_secret(before: int) -> None:
    secret = "Zq7-Zq7-Zq7-Zq7-Zq7"
    secrets = Secrets({"MY_TOKEN": secret})
    for text in ("." * before + secret + "." * 99_999, ("." * before + secret).encode()):
        shown = secrets.excerpt(text, 200)
        assert "Zq7" not in shown
        assert len(shown) <= 200


def test_many_secrets_in_a_row_leave_none_cut_off_at_the_window() -> None:
    secret = "Zq7-" * 50
    assert "Zq7" not in Secrets({"T_TOKEN": secret}).excerpt((secret + " ") * 1000)


def test_an_excerpt_is_one_line() -> None:
    assert Secrets({}).excerpt(" a\r\n\n  b\n" + "c" * 300, 10) == "a b ccccc…"
    assert Secrets({}).excerpt(b"a\xff") == "a\ufffd"


def test_references_are_replaced_in_tables_and_lists() -> None:
    secrets = Secrets({"T": "value"})
    table = {"${T}": ["x ${T}", 3, {"y": "$${T}"}], "n": None}
    assert secrets.expand_in(table, key="body") == {
        "${T}": ["x value", 3, {"y": "${T}"}],
        "n": None,
    }
    with pytest.raises(InputError, match=r"^body\.a\[1\] needs the environment variable GONE"):
        secrets.expand_in({"a": ["", "${GONE}"]}, key="body")


def test_what_a_value_holds_is_not_replaced_again() -> None:
    assert Secrets({"A": "${B}", "B": "x"}).expand("${A}", key="url") == "${B}"


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"headers": {"Authorization": "Bearer abc"}}, "headers.Authorization"),
        ({"headers": {"X-Api-Key": "abc"}}, "headers.X-Api-Key"),
        ({"headers": {"Cookie": "a=b"}}, "headers.Cookie"),
        ({"headers": {"Authorization": "Bearer $${TOKEN}"}}, "headers.Authorization"),
        ({"env": {"PGPASSWORD": "abc"}}, "env.PGPASSWORD"),
        ({"url": "http://u:abc@h/?q={query}"}, "url"),
        ({"url": "http://h/?api_key=abc&q={query}"}, "url"),
        ({"dsn": "postgresql://u:abc@h/db"}, "dsn"),
        ({"dsn": "host=h password=abc"}, "dsn"),
        ({"values": {"api_key": "abc"}}, "api_key"),
    ],
)
def test_a_secret_written_out_is_a_problem_that_does_not_show_it(given: dict, key: str) -> None:  # type: ignore[type-arg]
    problems = literal_secret_problems(**given)
    assert [p.key for p in problems] == [key]
    assert "${NAME}" in problems[0].message
    assert "abc" not in problems[0].message


@pytest.mark.parametrize(
    "given",
    [
        {"headers": {"Authorization": "Bearer ${TOKEN}", "Accept": "text/html"}},
        {"env": {"DISABLE_TELEMETRY": "1", "API_KEY": "${KEY}"}},
        {"url": "http://127.0.0.1:8000/search?query={query}&limit={k}"},
        {"url": "http://u:${PASSWORD}@h/a:b@c?key=${KEY}"},
        {"url": "http://h/?token={query}"},
        {"dsn": "postgresql://u@h/db"},
        {"dsn": "host=h password=${PW}"},
        {"dsn": "${DATABASE_URL}"},
        {"values": {"api_key": "${KEY}", "other": None, "third": ""}},
    ],
)
def test_references_and_plain_values_are_no_problem(given: dict[str, Any]) -> None:
    assert literal_secret_problems(**given) == []
