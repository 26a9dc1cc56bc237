"""What a reply means: a document, nothing found, or a failure that may or may not pass."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Literal

import msgspec

from searchmark.errors import SystemFailedError
from searchmark.systems.http.wire import Reply
from searchmark.systems.secrets import Secrets

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may go well a little later."""

NOT_YET = 202
"""The request is taken, and what comes of it stands elsewhere, later."""

IN_PART = frozenset({206, 207})
"""A part of the content, or several answers with a status each: not the whole answer."""

Format = Literal["json", "jsonl"]
"""One JSON value, or one a line."""


def document_of(
    reply: Reply,
    shown: str,
    secrets: Secrets,
    format: Format = "json",
    *,
    in_part: bool = False,
) -> Any:
    """Return the parsed body of a good reply; whatever else it is is raised.

    A part is good only for a caller that can say so (`in_part`).
    """
    if not 200 <= reply.status < 300:
        raise failed_status(reply, shown, secrets)
    if reply.status == NOT_YET or (reply.status in IN_PART and not in_part):
        why = "the answer is not there yet" if reply.status == NOT_YET else "it is not the whole"
        raise SystemFailedError(f"{shown} answered {_named(reply.status)}: {why}")
    body = reply.body.removeprefix(b"\xef\xbb\xbf")
    if not body or (not body.strip() and format == "json"):
        raise SystemFailedError(
            f"{shown} answered {_named(reply.status)} with nothing; if that means no results, "
            f"set empty_status = [{reply.status}]"
            if reply.status == 204
            else f"{shown} answered {_named(reply.status)} with an empty body, not with JSON"
        )
    try:
        if format == "jsonl":
            return [msgspec.json.decode(line) for line in body.splitlines() if line.strip()]
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SystemFailedError(_unparsable(reply, body, shown, secrets, error)) from error


def failed_status(reply: Reply, shown: str, secrets: Secrets) -> SystemFailedError:
    """Return the failure that a status stands for, with what the server said about it."""
    said = secrets.excerpt(reply.body)
    if 300 <= reply.status < 400 and (target := reply.headers.get("location")):
        said = f"to '{secrets.excerpt(target, 100)}', not followed"
    return SystemFailedError(
        f"{shown} answered {_named(reply.status)}" + (f": {said}" if said else ""),
        retry=reply.status in PASSING,
        after_s=retry_after(reply.headers.get("retry-after")) if reply.status in PASSING else None,
        busy=reply.status == 429,
    )


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds that a Retry-After header asks for: a number, or a date."""
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]{1,20}(\.[0-9]+)?", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def _unparsable(
    reply: Reply, body: bytes, shown: str, secrets: Secrets, error: BaseException
) -> str:
    answered = f"{shown} answered {_named(reply.status)}"
    content = reply.headers.get("content-type", "").split(";")[0].strip().lower()
    if content == "text/html" or re.match(
        rb"\s*<(?:!doctype html|html)", body[:200], re.IGNORECASE
    ):
        title = re.search(rb"<title[^>]*>(.*?)</title>", body[:20_000], re.IGNORECASE | re.DOTALL)
        named = f" titled '{secrets.excerpt(title[1], 80)}'" if title else ""
        return (
            f"{answered} with a web page{named}, not with JSON; does the URL lead to the API, and "
            "does it ask for a login?"
        )
    why = "it nests too deeply" if isinstance(error, RecursionError) else str(error)
    return f"{answered} with what is no JSON ({why}): {secrets.excerpt(body, 120)}"


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
