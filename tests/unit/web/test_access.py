"""Who is answered."""

from typing import Any

import pytest

pytest.importorskip("fastapi")

from searchmark.errors import InputError
from searchmark.systems.secrets import Secrets
from searchmark.web.access import Admission, read_token
from searchmark.web.limits import Limits

from .test_app import Reply, Service, ids

TOKEN = "a-token.of_16~+/"
PATHS = ("/discovery/search?query=a", "/discovery/resources", "/openapi.json", "/nothing", "/")


def ask(access: Admission, target: str, **headers: str) -> Reply:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    return Service(Limits(), access).get(target, headers=raw)


@pytest.mark.parametrize(
    ("sent", "is_known"),
    [
        (f"Bearer {TOKEN}", True),
        (f"bearer  {TOKEN} ", True),
        (TOKEN, False),
        (f"Basic {TOKEN}", False),
        (f"Bearer {TOKEN}x", False),
        (f"Bearer {TOKEN[:-1]}", False),
        (f"Bearer {TOKEN.upper()}", False),
        ("Bearer", False),
        ("Bearer \xff", False),
        ("", False),
    ],
)
def test_the_token_opens_and_nothing_else_does(sent: str, is_known: bool) -> None:
    for path in PATHS:
        reply = ask(Admission(TOKEN), path, authorization=sent)
        assert (reply.status != 401) is is_known
        assert TOKEN not in str(reply)
    if not is_known:
        assert reply.headers["www-authenticate"] == (
            'Bearer realm="searchmark", error="invalid_token"'
        )
        assert ask(Admission(TOKEN), "/health", authorization=sent).status == 401


def test_two_tokens_are_none() -> None:
    one = (b"authorization", f"Bearer {TOKEN}".encode())
    assert Service(Limits(), Admission(TOKEN)).get("/health", headers=[one, one]).status == 401


def test_without_the_token_there_is_the_state_alone() -> None:
    for path in PATHS:
        reply = ask(Admission(TOKEN), path)
        assert reply.status == 401
        assert reply.headers["www-authenticate"] == 'Bearer realm="searchmark"'
        assert list(reply.body) == ["error"]
    assert ask(Admission(TOKEN), "/health").body == {"status": "ok", "partialResults": False}
    whole = ask(Admission(TOKEN), "/health", authorization=f"Bearer {TOKEN}").body
    assert whole["documents"] == 25
    assert ask(Admission(), "/health").body == whole


def test_guesses_count_as_requests() -> None:
    service = Service(Limits(per_second=0.5), Admission(TOKEN))
    assert [service.get("/openapi.json").status for _ in range(2)] == [401, 429]


@pytest.mark.parametrize(
    ("host", "is_meant"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1:8765", True),
        ("127.9.9.9:1", True),
        ("LocalHost:99999", True),
        ("[::1]", True),
        ("[::1]:80", True),
        ("given", True),
        ("evil.example", False),
        ("evil.example:8765", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("evil@127.0.0.1", False),
        ("192.0.2.1", False),
        ("[::2]:80", False),
        ("[::1", False),
        ("localhost:evil.example", False),
        ("", False),
    ],
)
def test_on_this_machine_this_machine_is_meant(host: str, is_meant: bool) -> None:
    access = Admission(names=frozenset({"given"}))
    reply = ask(access, "/discovery/search?query=a", host=host)
    if is_meant:
        assert ids(reply)
    else:
        assert reply.status == 421
        assert reply.body["error"] == (
            f"the request is for the host '{host}', and this service answers for 127.0.0.1, "
            "localhost, [::1] and given alone"
        )
        assert ask(access, "/health", host=host).status == 421
    assert ask(Admission(TOKEN), "/health", host=host).status == 200  # names are not looked at


def test_on_this_machine_a_host_must_be_named() -> None:
    for path in ("/discovery/search?query=a", "/health"):
        reply = ask(Admission(names=frozenset({"127.0.0.1"})), path)
        assert reply.status == 421
        assert reply.body["error"] == (
            "the request names no host, and this service answers for 127.0.0.1, localhost and "
            "[::1] alone"
        )
    assert ask(Admission(), "/health").status == 200


def test_the_host_of_the_address_is_the_one_that_is_meant() -> None:
    access = Admission(names=frozenset())
    target = "/discovery/search?query=a&limit=2"
    reply = ask(access, f"http://localhost:1{target}", host="evil.example")
    assert ids(reply) == ids(ask(access, target, host="localhost"))
    assert ask(access, f"HTTP://evil.example{target}", host="localhost").status == 421
    assert ask(access, "http://localhost", host="localhost").status == 404


def test_the_document_tells_of_the_token() -> None:
    known = {"authorization": f"Bearer {TOKEN}"}
    document = ask(Admission(TOKEN), "/openapi.json", **known).body
    assert document["security"] == [{"token": []}]
    assert document["components"]["securitySchemes"] == {
        "token": {"type": "http", "scheme": "bearer"}
    }
    operations = {path: item["get"] for path, item in document["paths"].items()}
    assert operations["/health"]["security"] == [{}, {"token": []}]
    assert all("401" in one["responses"] for one in operations.values())
    assert not any("421" in one["responses"] for one in operations.values())

    document = ask(Admission(names=frozenset()), "/openapi.json", host="localhost").body
    assert "security" not in document and "securitySchemes" not in document["components"]
    operations = {path: item["get"] for path, item in document["paths"].items()}
    assert all("421" in one["responses"] for one in operations.values())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TOKEN, "--token takes the name of a variable alone"),
        (f"Bearer ${{NAME}}{TOKEN}", "--token takes the name of a variable alone"),
        ("$${NAME}", "--token takes the name of a variable alone"),
        ("", "--token takes the name of a variable alone"),
        ("${NOT_SET}", "--token needs the environment variable NOT_SET, which is not set"),
        ("${SHORT}", "the variable SHORT holds no token: 16 or more"),
        ("${ODD}", "the variable ODD holds no token"),
        ("${EMPTY}", "the variable EMPTY holds no token"),
    ],
)
def test_what_is_no_token_is_told_without_it(text: str, told: str) -> None:
    values = {"SHORT": "short-token-123", "ODD": "a-token-with a blank", "EMPTY": ""}
    with pytest.raises(InputError) as caught:
        read_token(text, Secrets({**values, "NAME": TOKEN}))
    said = str(caught.value)
    assert told in said
    assert not any(value in said for value in (TOKEN, values["SHORT"], values["ODD"]))


def test_a_token_is_read_and_hidden() -> None:
    secrets = Secrets({"NAME": TOKEN})
    token = read_token("${NAME}", secrets)
    assert token == TOKEN
    assert secrets.redact(f"it is {TOKEN}") == "it is ${NAME}"
    shown: Any = Admission(token)
    assert TOKEN not in repr(shown)
