"""The keys of ``use = "http"``, and what a preset adds to them."""

from dataclasses import dataclass, replace
from typing import Any

import msgspec

from searchmark.systems.http.access import Access
from searchmark.systems.http.presets import PRESETS, Preset, without
from searchmark.systems.http.reply import Format
from searchmark.systems.http.request import RequestTemplate
from searchmark.systems.http.wire import Redirects
from searchmark.systems.protocol import Tag


class Config(Access, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "http"``; docs/systems/http.md tells of each."""

    preset: str | None = None
    base: str | None = None
    index: str | None = None
    fields: list[str] | None = None
    method: str | None = None
    url: str | None = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    body: dict[str, Any] | list[Any] | None = None
    body_file: str | None = None
    form: dict[str, Any] | None = None
    text: str | None = None
    ids: str | None = None
    scores: str | None = None
    tokens: str | float | None = None
    partial: str | None = None
    total: str | None = None
    error: str | None = None
    format: Format = "json"
    empty_status: list[int] = msgspec.field(default_factory=list)
    page_size: int | None = None
    first_page: int = 1
    max_pages: int = 10
    cursor: str | None = None
    model: str | None = None
    api_key_header: str | None = None
    redirects: Redirects = "same-host"
    tags: list[Tag] = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Settled:
    """A configuration together with its preset: what is sent, and where answers hold what."""

    config: Config
    template: RequestTemplate
    tags: frozenset[str]


def settle(config: Config) -> Settled:
    """Join a configuration with its preset; keys that the project file gives come first."""
    preset = None if config.preset is None else PRESETS.get(config.preset)
    template = _template(config, preset)
    is_own = bool(config.url or config.params or config.body or config.text) or any(
        (config.body_file, config.form)
    )
    tags = frozenset[str](config.tags)
    if preset is None:
        return Settled(config, template, tags)
    names = ("ids", "scores", "partial", "total", "error", "cursor", "api_key_header", "page_size")
    given = {
        name: getattr(preset, name)
        for name in names
        if getattr(config, name) is None and getattr(preset, name) is not None
    }
    if not tags and not is_own:
        tags = preset.tags
    return Settled(msgspec.structs.replace(config, **given), template, tags)


def _template(config: Config, preset: Preset | None) -> RequestTemplate:
    body: Any = config.body
    has_body = any(v is not None for v in (body, config.body_file, config.form, config.text))
    if preset is None:
        method = config.method or ("POST" if has_body else "GET")
        return RequestTemplate(
            method,
            config.url or "",
            config.params,
            config.headers,
            body,
            config.form,
            config.text,
        )
    missing = frozenset[str]()
    if config.fields is None:
        missing = frozenset({"{fields}", "{fields_by_comma}", "{fields_by_blank}"})
    if preset.body is not None and (not has_body or isinstance(body, dict)):
        body = {**without(preset.body, missing), **(body or {})}
    return RequestTemplate(
        config.method or preset.method,
        config.url or (config.base or "").rstrip("/") + preset.path,
        {**without(preset.params, missing), **config.params},
        {**preset.headers, **config.headers},
        body,
        config.form,
        config.text,
        _constants(config),
    )


def _constants(config: Config) -> dict[str, Any]:
    fields = config.fields or []
    return {
        "index": config.index or "",
        "fields": fields,
        "fields_by_comma": ",".join(fields),
        "fields_by_blank": " ".join(fields),
    }


def with_body(settled: Settled, body: Any) -> Settled:
    """Return the settled configuration with the body that a file holds."""
    return replace(settled, template=replace(settled.template, body=body))
