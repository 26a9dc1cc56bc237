"""Statuses, Retry-After and bodies, without a server."""

from datetime import UTC, datetime

import pytest

from searchmark.errors import SystemFailedError
from searchmark.systems.http.reply import document_of, failed_status, retry_after
from searchmark.systems.http.wire import Reply
from searchmark.systems.secrets import Secrets

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
SECRETS = Secrets({"API_TOKEN": "Zq8-Wv3-Kd6-Yt9"})


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("1.5", 1.5),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),  # it is over already
        ("Sun, 01 Mar 2026 12:01:00", 60.0),
        (None, None),
        ("", None),
        ("-5", None),
        ("soon", None),
        ("nan", None),
        ("Sun, 01 Mar 99999999999 12:00:30 GMT", None),
        ("99999999999", 99_999_999_999.0),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


def test_only_what_passes_is_tried_again() -> None:
    headers = {"retry-after": "7"}
    busy = failed_status(Reply(429, headers, b"slow down"), "GET http://h", SECRETS)
    assert (str(busy), busy.retry, busy.after_s) == (
        "GET http://h answered 429 Too Many Requests: slow down",
        True,
        7.0,
    )
    wrong = failed_status(Reply(400, headers, b""), "GET http://h", SECRETS)
    assert (str(wrong), wrong.retry, wrong.after_s) == (
        "GET http://h answered 400 Bad Request",
        False,
        None,
    )


def test_what_a_server_says_is_short_and_without_secrets() -> None:
    body = b"line one\r\nkey Zq8-Wv3-Kd6-Yt9 " + b"x" * 5000
    unchanged = failed_status(Reply(304, {}, b""), "GET http://h", SECRETS)
    assert str(unchanged) == "GET http://h answered 304 Not Modified"
    told = str(failed_status(Reply(500, {}, body), "GET http://h", SECRETS))
    assert "Zq8" not in told
    assert "\n" not in told
    assert len(told) < 280


def test_documents() -> None:
    def read(body: bytes, **headers: str) -> object:
        return document_of(Reply(200, headers, body), "GET http://h", SECRETS)

    assert read(b'\xef\xbb\xbf {"a": 123456789012345678901} ') == {"a": 123456789012345678901}
    for body in (b"", b"  ", b"[1,", b"NaN", b'"\xff"', b'"\\ud800"', b"<xml/>", b"[1] [2]"):
        with pytest.raises(SystemFailedError) as caught:
            read(body)
        assert str(caught.value).startswith("GET http://h answered 200 OK with ")
        assert not caught.value.retry
    with pytest.raises(SystemFailedError, match="a web page, not with JSON"):
        read(b"\n<HTML><body>hello")


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (202, "202 Accepted: the answer is not there yet"),
        (206, "206 Partial Content: it is not the whole"),
        (207, "207 Multi-Status: it is not the whole"),
    ],
)
def test_a_good_status_may_stand_for_no_whole_answer(status: int, why: str) -> None:
    reply = Reply(status, {}, b"[1]")
    with pytest.raises(SystemFailedError) as caught:
        document_of(reply, "GET http://h", SECRETS)
    assert str(caught.value) == f"GET http://h answered {why}"
    assert not caught.value.retry
    if status != 202:  # for callers that can say that it is a part
        assert document_of(reply, "GET http://h", SECRETS, in_part=True) == [1]
        return
    with pytest.raises(SystemFailedError):
        document_of(reply, "GET http://h", SECRETS, in_part=True)
