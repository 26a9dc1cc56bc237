"""A request as a template: URL, parameters, headers and body, filled anew for every query."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import msgspec

from searchmark.errors import InputError, SystemFailedError
from searchmark.systems.http.address import address_problem, is_header_value
from searchmark.systems.http.wire import Outgoing
from searchmark.systems.pieces import TELLING
from searchmark.systems.secrets import Secrets, has_reference
from searchmark.systems.template import (
    Values,
    encoded,
    expand_json,
    expand_text,
    fill_json,
    fill_text,
    fill_url,
    placeholders_in,
    texts_in,
)


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """What is sent for a query; at most one of `body` (JSON), `form` and `text` is there.

    `constants` are the values of placeholders that are the same for every query.
    """

    method: str
    url: str
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    form: Mapping[str, Any] | None = None
    text: str | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield every text that may hold placeholders, with the key it stands at."""
        yield "url", self.url
        for key in ("params", "headers", "body", "form"):
            yield from texts_in(getattr(self, key), key)
        if self.text is not None:
            yield "text", self.text

    def placeholders(self) -> set[str]:
        """Return the names of all placeholders."""
        return placeholders_in([text for _, text in self.texts()])

    def shown(self) -> str:
        """Name the request in messages: as the project file has it, without a query or a secret."""
        url = self.url.split("?")[0].split("#")[0]
        return f"{self.method} {fill_text(url, self.constants)}"


@dataclass(frozen=True, slots=True)
class Composer:
    """A template whose ``${NAME}`` were replaced; `compose` makes a request of it."""

    template: RequestTemplate
    fixed: Mapping[str, str]
    varying: Mapping[str, str]
    like: Outgoing

    def compose(self, values: Values) -> Outgoing:
        """Return the request for these values."""
        known = {**self.template.constants, **values}
        url = fill_url(self.template.url, known)
        pairs = _pairs(fill_json(self.template.params, known))
        if pairs:
            url += ("&" if "?" in url else "?") + pairs
        headers = self.fixed
        if self.varying:
            headers = {**headers, **{n: _header(n, t, known) for n, t in self.varying.items()}}
        return replace(self.like, url=url, headers=headers, body=self._body(known))

    def _body(self, known: Values) -> bytes | None:
        template = self.template
        if template.body is not None:
            filled = fill_json(template.body, known)
            try:
                return msgspec.json.encode(filled)
            except UnicodeEncodeError:
                encoded("".join(text for _, text in texts_in(filled)))  # says which character
                raise
        if template.form is not None:
            return _pairs(fill_json(template.form, known)).encode()
        return None if template.text is None else encoded(fill_text(template.text, known))


def open_request(
    template: RequestTemplate, secrets: Secrets, credentials: Mapping[str, str]
) -> Composer:
    """Put values of the environment in; `credentials` are headers that hold nothing but secrets."""
    headers = {
        name: expand_text(t, secrets, f"headers.{name}") for name, t in template.headers.items()
    }
    shown = template.shown()
    secret = {name for name, text in template.headers.items() if _is_secret(name, text)}
    like = Outgoing(
        template.method,
        "",
        shown,
        secret=frozenset(name.lower() for name in (*secret, *credentials)),
        has_secret_body=any(
            has_reference(t) for _, t in texts_in([template.body, template.form, template.text])
        ),
    )
    opened = replace(
        template,
        url=_address(expand_text(template.url, secrets, "url")),
        params=expand_json(template.params, secrets, "params"),
        body=expand_json(template.body, secrets, "body"),
        form=expand_json(template.form, secrets, "form"),
        text=None if template.text is None else expand_text(template.text, secrets, "text"),
    )
    varying = {n: t for n, t in headers.items() if placeholders_in(t)}
    fixed = {n: fill_text(t, {}) for n, t in headers.items() if n not in varying} | dict(
        credentials
    )
    for name, value in fixed.items():
        if not is_header_value(value):
            raise InputError(f"headers.{name}: the value has characters that no header can hold")
    return Composer(opened, fixed, varying, like)


def _is_secret(name: str, text: str) -> bool:
    return has_reference(text) or bool(TELLING.search(name.replace("-", "_")))


def _address(url: str) -> str:
    told = address_problem(url)
    if told is not None:
        raise InputError(f"url: {told}")
    return url


def _header(name: str, template: str, known: Values) -> str:
    value = fill_text(template, known)
    if not is_header_value(value):
        raise SystemFailedError(
            f"the header {name} cannot hold this query's text; put it into params or body"
        )
    return value


def _pairs(values: Mapping[str, Any]) -> str:
    """Return percent-encoded name=value pairs; a list repeats its name, nothing is left out."""
    found = []
    for name, value in values.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                found.append(f"{_quoted(name)}={_quoted(_plain(item))}")
    return "&".join(found)


def _quoted(text: str) -> str:
    return quote(encoded(text), safe="")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
