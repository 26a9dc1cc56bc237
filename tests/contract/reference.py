"""A small adapter over HTTP that keeps the contract, and can be told to break a rule of it."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

import msgspec
import urllib3

from searchmark.errors import InputError, SystemFailedError, SystemTimeoutError
from searchmark.systems.protocol import Answer, Context, Hit, Kind, Query, System


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`fault` names the rule that is broken; empty for none."""

    url: str
    token: str
    fault: str = ""
    max_bytes: int = 10_000_000


@dataclass
class ReferenceSystem:
    name: str
    config: Config
    context: Context
    pool: urllib3.HTTPConnectionPool
    tags: frozenset[str] = frozenset()
    text: str = ""

    @property
    def identity(self) -> Mapping[str, str]:
        if self.has("has secrets in its identity"):
            return {"token": self.context.secrets.expand(self.config.token, key="token")}
        return {}

    def has(self, fault: str) -> bool:
        return self.config.fault == fault

    def search(self, query: Query, k: int) -> Answer:
        if self.has("hides failures"):
            try:
                return self._answer(self._ask(query.text), k)
            except SystemFailedError:
                return Answer(())
        if self.has("lets exceptions out"):
            return self._answer(self._exchange(query.text), k)
        if self.has("retries by itself"):
            for _ in range(2):
                try:
                    return self._answer(self._ask(query.text), k)
                except SystemFailedError:
                    continue
        if self.has("shares what is one thread's"):
            self.text = query.text
            sleep(0.02)
            return self._answer(self._ask(self.text), k)
        return self._answer(self._ask(query.text), k)

    def search_many(self, queries: Sequence[Query], k: int) -> list[Answer | SystemFailedError]:
        if self.has("hides failures in batches"):
            try:
                answers = self._many(queries, k)
            except SystemFailedError:
                return [Answer(()) for _ in queries]
            return answers
        found = self._many(queries, k)
        return found[::-1] if self.has("turns batches round") else found

    def _many(self, queries: Sequence[Query], k: int) -> list[Answer | SystemFailedError]:
        document = self._ask([q.text for q in queries])
        parts = document.get("answers")
        if not isinstance(parts, list) or len(parts) != len(queries):
            raise SystemFailedError("the answer has no list 'answers'")
        return [self._answer(part, k) for part in parts]

    def _ask(self, asked: str | list[str]) -> Any:
        try:
            return self._exchange(asked)
        except UnicodeEncodeError as error:
            raise SystemFailedError("the query cannot be written as UTF-8") from error
        except urllib3.exceptions.NewConnectionError as error:  # which is a timeout by its class
            raise self._failed("nobody listens", retry=True) from error
        except (TimeoutError, urllib3.exceptions.TimeoutError) as error:
            raise self._late() from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._failed(type(error).__name__, retry=True) from error

    def _exchange(self, asked: str | list[str]) -> Any:
        end = monotonic() + (self.context.calls.timeout_s or 60.0)
        response = self._sent(asked)
        try:
            raw = self._read(response, end)
        finally:
            if not self.has("leaves connections open"):
                response.close()
        if response.status != 200 and not self.has("ignores the status"):
            raise self._refused(response, raw)
        try:
            return json.loads(raw)
        except ValueError as error:
            if self.has("takes no JSON for nothing"):
                return {"hits": []}
            raise self._failed(f"no JSON: {self._said(raw)}") from error

    def _sent(self, asked: str | list[str]) -> urllib3.BaseHTTPResponse:
        secret = self.context.secrets.expand(self.config.token, key="token")
        seconds = self.context.calls.timeout_s
        fields: dict[str, Any] = {
            "headers": {"Authorization": f"Bearer {secret}"},
            "retries": False,
            "timeout": None if self.has("has no time limit") else seconds,
            "preload_content": False,
        }
        if isinstance(asked, list):
            fields["body"] = json.dumps({"q": asked})
            return self.pool.urlopen("POST", "/search", **fields)
        if self.has("strips queries"):
            asked = asked.strip()
        errors = "replace" if self.has("replaces what it cannot send") else "strict"
        safe = "&+%" if self.has("pastes queries") else ""
        path = f"/search?q={quote(asked, safe=safe, errors=errors)}"
        return self.pool.urlopen("GET", path, **fields)

    def _read(self, response: urllib3.BaseHTTPResponse, end: float) -> bytes:
        parts, size = [], 0
        while part := response.read1(65536):
            parts.append(part)
            size += len(part)
            if monotonic() > end and not self.has("limits each read only"):
                raise TimeoutError
            if size > self.config.max_bytes and not self.has("reads without end"):
                key = "a limit" if self.has("does not name the key") else "max_bytes"
                raise SystemFailedError(f"the answer is longer than {key}")
        return b"".join(parts)

    def _refused(self, response: urllib3.BaseHTTPResponse, raw: bytes) -> SystemFailedError:
        may_pass = response.status in (429, 500, 502, 503, 504)
        if self.has("never says that it may pass"):
            may_pass = False
        if self.has("always says that it may pass"):
            may_pass = True
        said = f"status {response.status}: {self._said(raw)}"
        error = self._failed(said, retry=may_pass, after_s=self._after(response))
        error.busy = response.status == 429 and not self.has("takes 429 for any failure")
        return error

    def _after(self, response: urllib3.BaseHTTPResponse) -> float | None:
        given = response.headers.get("Retry-After")
        if given is None or self.has("reads no Retry-After"):
            return None
        if given.replace(".", "").isdigit():
            return float(given)
        if self.has("reads no dates"):
            return None
        return (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds()

    def _said(self, raw: bytes) -> str:
        text = raw.decode("utf-8", "replace")
        if self.has("tells secrets"):
            return text.partition("/")[2][:100]  # as of a path
        if self.has("tells everything"):
            return self.context.secrets.redact(text)
        if self.has("tells lines"):
            return "one\ntwo"
        return self.context.secrets.excerpt(text)

    def _failed(
        self, what: str, *, retry: bool = False, after_s: float | None = None
    ) -> SystemFailedError:
        return SystemFailedError(what, retry=retry, after_s=after_s)

    def _late(self) -> SystemFailedError:
        if self.has("takes lateness for any error"):
            return SystemFailedError("too late", retry=True)
        return SystemTimeoutError("too late")

    def _answer(self, document: Any, k: int) -> Answer:
        hits = document.get("hits")
        if hits is None and self.has("takes another shape for nothing"):
            hits = []
        if not isinstance(hits, list):
            raise SystemFailedError(f"'hits' is no list: {self._said(str(document).encode())}")
        if self.has("drops results without ids"):
            hits = [h for h in hits if h.get("id") is not None]
        found = [self._hit(h) for h in hits]
        if self.has("raises where nothing is found") and not found:
            raise SystemFailedError("nothing was found")
        found = self._spoilt(found)
        if not self.has("ignores k"):
            found = found[:k]
        partial = bool(document.get("partial")) and not self.has("hides what is partial")
        return Answer(tuple(found), partial=partial)

    def _spoilt(self, found: list[Hit]) -> list[Hit]:
        if self.has("sorts by score"):
            return sorted(found, key=lambda h: -(h.score or 0.0))
        if self.has("sorts ties by id"):
            return sorted(found, key=lambda h: (-(h.score or 0.0), h.doc_id))
        if self.has("turns answers round"):
            return found[::-1]
        if self.has("drops duplicates"):
            return list({h.doc_id: h for h in found}.values())
        if self.has("shifts scores"):
            scores = [h.score for h in found if h.score is not None] + [None] * len(found)
            return [Hit(h.doc_id, s) for h, s in zip(found, scores, strict=False)]
        return found

    def _hit(self, hit: Mapping[str, Any]) -> Hit:
        score = hit.get("score")
        is_number = isinstance(score, float | int | None) and score == score
        if not is_number and not self.has("takes any score"):
            raise SystemFailedError(f"the score {score!r} is no number")
        return Hit(self._id(hit.get("id")), score)

    def _id(self, value: Any) -> str:
        if self.has("takes any id"):
            return str(value)
        if self.has("reads ids as numbers") and not isinstance(value, str):
            return str(int(float(value)))
        if self.has("strips ids"):
            return str(value).replace("/", "").strip()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise SystemFailedError(f"an id is {value!r}, which is no text")
        return value


@contextmanager
def open_reference(name: str, config: Config, context: Context) -> Iterator[System]:
    if config.fault == "cannot be opened":
        raise InputError("there is no such shop")
    if config.fault == "refuses batches" and context.calls.batch > 1:
        raise InputError("one query at a time")
    host, _, port = config.url.removeprefix("http://").partition(":")
    pool = urllib3.HTTPConnectionPool(host, int(port), maxsize=8)
    system = ReferenceSystem(name, config, context, pool)
    ended = threading.Event()
    if config.fault == "leaves threads behind":
        threading.Thread(target=ended.wait, args=(30,), daemon=True).start()
    try:
        yield system
    finally:
        if config.fault == "leaves connections open":
            LEFT.append(pool)
        else:
            pool.close()


LEFT: list[object] = []
"""Connections that a fault leaves open: they are closed by the test."""

REFERENCE = Kind(Config, open_reference, keeps_time=True)
