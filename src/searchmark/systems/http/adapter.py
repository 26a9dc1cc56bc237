"""Any search engine behind HTTP: a request from a template, ids and scores from its JSON answer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256 as sha
from pathlib import Path
from typing import Any

import msgspec

from searchmark.data.files import sha256
from searchmark.errors import InputError, SystemFailedError
from searchmark.systems.http.address import parameters_problem
from searchmark.systems.http.config import Config, Settled, settle, with_body
from searchmark.systems.http.credentials import basic_header, bearer_header, credential
from searchmark.systems.http.paging import Page, Paging, cursor_of
from searchmark.systems.http.problems import PLACEHOLDERS, find_problems, request_problems
from searchmark.systems.http.proxy import open_proxy
from searchmark.systems.http.reply import IN_PART, Format, document_of
from searchmark.systems.http.request import Composer, open_request
from searchmark.systems.http.tls import Tls
from searchmark.systems.http.wire import Wire
from searchmark.systems.literals import body_secret_problems
from searchmark.systems.models import Embed, open_query_model
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Answer, Context, Kind, Query, System
from searchmark.systems.secrets import Secrets
from searchmark.systems.selection import Path as Place
from searchmark.systems.selection import Selection, compile_path, flag_at, selection
from searchmark.systems.template import Values, template_problem, texts_in
from searchmark.version import __version__


@dataclass(frozen=True, slots=True)
class Reading:
    """Where an answer holds what."""

    chosen: Selection
    error: Place | None = None
    cursor: Place | None = None
    format: Format = "json"
    empty_status: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class HttpSystem:
    """Sends one request a query, or one a page, and reads ids and scores from what comes back."""

    name: str
    wire: Wire
    request: Composer
    reading: Reading
    paging: Paging
    embed: Embed | None = None
    tags: frozenset[str] = frozenset()
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return what the engine answers, in its order, cut at `k`."""
        end = self.wire.end()
        asked: dict[str, Any] = {"query": query.text, "query_id": query.query_id}
        if self.embed is not None:
            asked["embedding"] = self.embed(query.text)

        def fetch(place: Values) -> Page:
            return self._fetch({**asked, **place}, end)

        try:
            return self.paging.collect(fetch, k)
        except SystemFailedError as error:
            raise self._told(error) from error

    def _fetch(self, values: Values, end: float | None) -> Page:
        request = self.request.compose(values)
        reply = self.wire.send(request, end)
        if reply.status in self.reading.empty_status:
            return Page(Answer((), size=len(reply.body)))
        reading, secrets = self.reading, self.wire.secrets
        document = document_of(reply, request.shown, secrets, reading.format, in_part=True)
        try:
            if reading.error is not None and flag_at(document, reading.error):
                raise SystemFailedError(f"the answer has an error at {reading.error.shown}")
            answer = reading.chosen.answer(document, len(reply.body), size=len(reply.body))
            cursor = None if reading.cursor is None else cursor_of(reading.cursor.find(document))
        except SystemFailedError as error:
            said = secrets.excerpt(reply.body, 120)
            begins = f"; it begins with {said}" if said else ""
            raise SystemFailedError(f"{request.shown}: {error}{begins}") from error
        if reply.status in IN_PART:
            answer = replace(answer, partial=True)
        return Page(answer, cursor)

    def _told(self, error: SystemFailedError) -> SystemFailedError:
        """Return the error with the request in front, if it is not there yet."""
        shown = self.request.like.shown
        if str(error).startswith(shown):
            return error
        told = f"{shown}: {error}"
        return SystemFailedError(told, retry=error.retry, after_s=error.after_s, busy=error.busy)


@contextmanager
def open_http(name: str, config: Config, context: Context) -> Iterator[System]:
    """Read the files that are named, and open a pool of connections; nothing is sent yet."""
    settled = settle(config)
    identity: dict[str, str] = {}
    if config.body_file is not None:
        path = context.folder / config.body_file
        settled = with_body(settled, read_template(path, settled))
        identity["body"] = sha256(path)
    if config.preset is not None:
        identity["preset"] = sha(repr((settled.template, settled.config)).encode()).hexdigest()
    embed = None
    if "embedding" in settled.template.placeholders():
        embed, identity["model"] = open_query_model(config.model or "", context.folder)
    _check_base(config, context.secrets)
    headers = _headers(settled, context.secrets)
    template = replace(settled.template, headers={**_usual(settled), **settled.template.headers})
    request = open_request(template, context.secrets, headers)
    wire = _open_wire(config, context, request)
    try:
        yield HttpSystem(
            name,
            wire,
            request,
            _reading(settled.config),
            _paging(settled.config),
            embed,
            settled.tags,
            identity,
        )
    finally:
        wire.manager.clear()


def _check_base(config: Config, secrets: Secrets) -> None:
    """Refuse a base whose variables bring parameters, behind which the preset's path is lost."""
    if config.base is None or config.url is not None:
        return
    told = parameters_problem(secrets.expand(config.base, key="base"))
    if told is not None:
        raise InputError(f"base: '{config.base}' {told}", fix="write them under params")


def read_template(path: Path, settled: Settled) -> Any:
    """Return the JSON template of a file; what is wrong with it is an InputError."""
    try:
        body = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise InputError("body_file: cannot be read", path=path) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"body_file: is no JSON ({error})", path=path) from error
    known = {*PLACEHOLDERS, *settled.template.constants}
    for key, text in texts_in(body):
        problem = template_problem(text, known)
        if problem is not None:
            raise InputError(f"{key}: {problem}" if key else problem, path=path)
    for found in body_secret_problems("body_file", body):
        raise InputError(f"{found.key}: {found.message}", path=path)
    used = with_body(settled, body).template.placeholders()
    for found in request_problems(settled.config, used):
        raise InputError(f"{found.key}: {found.message}", path=path)
    return body


def _reading(config: Config) -> Reading:
    def place(expression: str | None, key: str) -> Place | None:
        return None if expression is None else compile_path(expression, key)

    chosen = selection(
        config.ids or "",
        config.scores,
        config.tokens,
        partial=config.partial,
        total=config.total,
    )
    return Reading(
        chosen,
        place(config.error, "error"),
        place(config.cursor, "cursor"),
        config.format,
        frozenset(config.empty_status),
    )


def _paging(config: Config) -> Paging:
    return Paging(
        config.page_size, config.max_pages, config.first_page, by_cursor=config.cursor is not None
    )


def _usual(settled: Settled) -> dict[str, str]:
    """Return the headers that are sent unless the project file has others of their names."""
    template = settled.template
    usual = {
        "User-Agent": f"searchmark/{__version__}",
        "Accept": "application/json" if settled.config.format == "json" else "*/*",
        "Accept-Encoding": "gzip",
    }
    if template.body is not None:
        usual["Content-Type"] = "application/json"
    elif template.form is not None:
        usual["Content-Type"] = "application/x-www-form-urlencoded"
    elif template.text is not None:
        usual["Content-Type"] = "text/plain; charset=utf-8"
    own = {name.lower() for name in template.headers}
    return {name: value for name, value in usual.items() if name.lower() not in own}


def _headers(settled: Settled, secrets: Secrets) -> dict[str, str]:
    """Return the headers of the keys for authentication."""
    config, found = settled.config, {}
    if config.bearer is not None:
        found["Authorization"] = bearer_header(config.bearer, "bearer", secrets)
    if config.basic is not None:
        found["Authorization"] = basic_header(config.basic, secrets)
    if config.api_key is not None:
        found[config.api_key_header or ""] = credential(config.api_key, "api_key", secrets)
    return found


def _open_wire(config: Config, context: Context, request: Composer) -> Wire:
    from searchmark.systems.http.deadline import open_manager

    proxy = open_proxy(config.proxy, context.secrets)
    tls = config.tls
    is_secure = tls != Tls() or not request.template.url.startswith("http://")
    options = tls.options(context.folder) if is_secure else {}
    manager = open_manager(proxy, context.calls.concurrency, **options)
    return Wire(
        manager, context.secrets, context.calls.timeout_s, config.max_bytes, config.redirects
    )


HTTP = Kind(
    Config,
    open_http,
    find_problems,
    calls=CallPolicy(timeout_s=30, retries=3, warmup=1),
    keeps_time=True,
)
