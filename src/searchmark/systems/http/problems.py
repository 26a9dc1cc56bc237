"""What can be wrong with the keys of ``use = "http"``, found without asking anybody."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from searchmark.errors import Problem, nearest
from searchmark.systems.http.access import access_problems
from searchmark.systems.http.address import (
    address_problem,
    header_name_problem,
    header_problem,
    parameters_problem,
    repeated,
    written_problem,
)
from searchmark.systems.http.config import Config, Settled, settle
from searchmark.systems.http.paging import PLACES
from searchmark.systems.http.presetkeys import needed_parts, part_problems
from searchmark.systems.http.presets import PRESETS
from searchmark.systems.http.request import RequestTemplate
from searchmark.systems.literals import body_secret_problems, literal_secret_problems
from searchmark.systems.pieces import TELLING
from searchmark.systems.protocol import Entry
from searchmark.systems.secrets import REFERENCE
from searchmark.systems.selection import selection_problems
from searchmark.systems.template import template_problem

PLACEHOLDERS = ("query", "k", "query_id", "embedding", *PLACES)
"""What a request may hold."""

METHOD = re.compile(r"[A-Z]{3,10}")


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report what is wrong without asking anybody."""
    if config.preset is not None and config.preset not in PRESETS:
        return [
            Problem(
                "preset",
                f"no preset is called '{config.preset}'; {nearest(config.preset, PRESETS)}",
            )
        ]
    settled = settle(config)
    return [
        *_missing(config, settled),
        *_templates(settled.config, settled.template),
        *_address(config, settled.template.url),
        *selection_problems(
            ids=settled.config.ids,
            scores=config.scores,
            tokens=config.tokens,
            partial=config.partial,
            total=config.total,
            error=config.error,
            cursor=config.cursor,
        ),
        *_headers(settled.config),
        *_connection(config),
        *_numbers(settled.config),
        *_secrets(config),
    ]


def _missing(config: Config, settled: Settled) -> Iterator[Problem]:
    """Report keys that must be there, and those that are there twice."""
    if config.preset is None:
        needed: dict[str, Any] = {"url": config.url, "ids": config.ids}
        for key in ("base", "index", "fields"):
            if getattr(config, key) is not None:
                yield Problem(key, "stands for a part of a preset; give preset, or write url")
    else:
        base = {"base": config.base} if config.url is None else {}
        needed = {**base, **{key: getattr(config, key) for key in needed_parts(config)}}
    for key, value in needed.items():
        if not value:
            yield Problem(key, "is missing" if value is None else "is empty, and needs a value")
    bodies = [k for k in ("body", "body_file", "form", "text") if getattr(config, k) is not None]
    for key in bodies[1:]:
        yield Problem(key, f"a request has one body, and there is {bodies[0]} already")
    if settled.config.api_key is not None and settled.config.api_key_header is None:
        yield Problem("api_key_header", "is missing: the name of the header that holds api_key")


def _templates(config: Config, template: RequestTemplate) -> Iterator[Problem]:
    known = {*PLACEHOLDERS, *template.constants}
    wrong = [(key, template_problem(text, known)) for key, text in template.texts()]
    found = [Problem(key, problem) for key, problem in wrong if problem is not None]
    yield from found
    if not found and template.url and config.body_file is None:
        yield from request_problems(config, template.placeholders())
    if config.method is not None and METHOD.fullmatch(config.method) is None:
        yield Problem("method", f"'{config.method}' is no method; write it in capitals, as GET")
    if config.method in ("CONNECT", "HEAD", "TRACE"):
        yield Problem("method", f"{config.method} brings no results; write GET or POST")


def request_problems(config: Config, used: set[str]) -> Iterator[Problem]:
    """Report what the placeholders of a whole request ask for and do not get."""
    key = "body_file" if config.body_file is not None else "url"
    yield from part_problems(config, used)
    if not used & {"query", "embedding"}:
        yield Problem(key, "no part of the request holds {query}")
    if "embedding" in used and config.model is None:
        yield Problem("model", "is missing: the request holds {embedding}")
    if config.page_size is not None and not used & set(PLACES):
        yield Problem("page_size", "no part of the request holds {offset}, {page} or {cursor}")
    if ("cursor" in used) != (config.cursor is not None):
        yield Problem(
            "cursor", "the request needs {cursor}, and the key says where the answer has it"
        )


def _address(config: Config, url: str) -> Iterator[Problem]:
    key = "url" if config.url is not None else "base"
    bare = REFERENCE.sub("1", url)
    if not url or (key == "base" and not config.base):
        return
    if (told := written_problem(url, address_problem)) is not None:
        yield Problem(key, told)
    if key == "base" and (told := written_problem(config.base or "", parameters_problem)):
        yield Problem(key, f"{told}; write them under params")
    if re.search(r"%(?![0-9A-Fa-f]{2})", bare):
        yield Problem(key, "a '%' is written as %25 in an address")
    if "#" in bare:
        yield Problem(key, "what comes after '#' is never sent; write it as %23")


def _headers(config: Config) -> Iterator[Problem]:
    """Report headers that cannot be sent, and credentials that make none."""
    for name, text in config.headers.items():
        if (wrong := header_problem(name, text)) is not None:
            yield Problem(f"headers.{name}", wrong)
    own = config.api_key_header
    told = None if own is None else header_name_problem(own)
    if told is not None:
        yield Problem("api_key_header", told)
    yield from access_problems(config)
    written = [] if own is None or config.api_key is None else [own]
    if config.bearer is not None or config.basic is not None:
        written.append("Authorization")
    for twice in repeated([*written, *config.headers]):
        yield Problem(f"headers.{twice}", "is written by another key, or stands there twice")


def _connection(config: Config) -> Iterator[Problem]:
    """Report keys of the connection that do not go together."""
    if config.api_key_header is not None and config.api_key is None:
        yield Problem("api_key", "is missing: api_key_header names the header that holds it")
    if config.bearer is not None and config.basic is not None:
        yield Problem("basic", "there is bearer already; a request has one of them")


def _numbers(config: Config) -> Iterator[Problem]:
    for key, low, high in (
        ("page_size", 1, 10_000),
        ("max_pages", 1, 1000),
        ("first_page", 0, 1_000_000),
    ):
        value = getattr(config, key)
        if value is not None and not low <= value <= high:
            yield Problem(key, f"{value} is not from {low} to {high:,}")
    if config.tokens == "measured":
        yield Problem("tokens", "what a command prints is measured; give a number or a JMESPath")
    if isinstance(config.tokens, float) and not 0 <= config.tokens < float("inf"):
        yield Problem("tokens", f"{config.tokens:g} is not 0 or more")
    for status in config.empty_status:
        if status not in (204, 205) and not (400 <= status < 500 and status not in (408, 425, 429)):
            yield Problem("empty_status", f"{status} cannot mean that nothing was found")


def _secrets(config: Config) -> list[Problem]:
    telling = {
        f"{table}.{name}": str(value)
        for table, values in (("params", config.params), ("form", config.form or {}))
        for name, value in values.items()
        if TELLING.search(name.replace("-", "_"))
    }
    found = literal_secret_problems(
        headers=config.headers,
        url=config.url,
        values={**config.credentials, **telling},
    )
    for key, address in (("base", config.base), ("proxy", config.proxy)):
        found += [p._replace(key=key) for p in literal_secret_problems(url=address)]
    for key in ("params", "form", "body", "text"):
        found += body_secret_problems(key, getattr(config, key))
    return list({problem.key: problem for problem in reversed(found)}.values())[::-1]
