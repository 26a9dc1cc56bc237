"""The body of a search: a template file or table, or the default one, filled for every query."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from searchmark.data.files import sha256
from searchmark.errors import InputError, Problem
from searchmark.systems.literals import body_secret_problems
from searchmark.systems.models import Embed
from searchmark.systems.protocol import Query
from searchmark.systems.secrets import Secrets
from searchmark.systems.template import (
    encoded,
    expand_json,
    fill_json,
    placeholders_in,
    template_problem,
    texts_in,
)

PLACEHOLDERS = ("query", "k", "query_id", "embedding")
"""What a template may hold."""

ID = "_id"
"""The id that every document of an index has; other names are fields of its source."""


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A template whose ``${NAME}`` were replaced; `body` makes a search of it."""

    value: Mapping[str, Any]
    embed: Embed | None = None

    def body(self, query: Query, k: int) -> dict[str, Any]:
        """Return the search for a query; where the template has no `size`, it is the depth."""
        encoded(query.text)
        values: dict[str, Any] = {"query": query.text, "k": k, "query_id": query.query_id}
        if self.embed is not None:
            values["embedding"] = self.embed(query.text)
        filled: dict[str, Any] = fill_json(self.value, values)
        filled.setdefault("size", k)
        return filled


@dataclass(frozen=True, slots=True)
class Source:
    """A template as it is written down, and the digest of the file it comes from."""

    value: Mapping[str, Any]
    digest: str | None = None

    @property
    def needs_embedding(self) -> bool:
        """Whether a query's vector has to be computed."""
        return "embedding" in placeholders_in(self.value)

    def expanded(self, secrets: Secrets) -> Mapping[str, Any]:
        """Return it with the values of the environment put in."""
        found: Mapping[str, Any] = expand_json(self.value, secrets, "template")
        return found


def default_template(fields: Sequence[str], id_field: str, *, whole: bool) -> dict[str, Any]:
    """Return a search by words in the fields; `whole` asks for the documents themselves too."""
    found: dict[str, Any] = {
        "size": "{k}",
        "query": {"multi_match": {"query": "{query}", "fields": [*fields]}},
    }
    if not whole:
        found["_source"] = False if id_field == ID else [id_field]
    return found


def template_problems(
    template: str | Mapping[str, Any] | None, fields: Sequence[str] | None, *, model: str | None
) -> Iterator[Problem]:
    """Report a template that says nothing, or says too much; a file is read when it is opened."""
    if template is None:
        if not fields:
            yield Problem("fields", "is missing: the fields to search in, or template")
        for i, name in enumerate(fields or ()):
            if not name:
                yield Problem(f"fields[{i}]", "is empty")
        return
    if fields is not None:
        yield Problem("fields", "belongs to the default template, and there is template already")
    if template == "":
        yield Problem("template", "names no file")
    elif not isinstance(template, str):
        yield from _content_problems(template, model)


def read_template(path: Path, model: str | None) -> Source:
    """Return the template in a file; what is wrong with it is an InputError."""
    try:
        value = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise InputError("template: cannot be read", path=path) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"template: is no JSON ({error})", path=path) from error
    if not isinstance(value, Mapping):
        raise InputError("template: must be a JSON object, the body of a search", path=path)
    for problem in (*_content_problems(value, model), *body_secret_problems("template", value)):
        raise InputError(f"{problem.key}: {problem.message}", path=path)
    return Source(value, sha256(path))


def _content_problems(value: Mapping[str, Any], model: str | None) -> Iterator[Problem]:
    used = placeholders_in(value)
    if not used & {"query", "embedding"}:
        yield Problem("template", "no part of it holds {query} or {embedding}")
    if "embedding" in used and model is None:
        yield Problem("model", "is missing: the template holds {embedding}")
    if value.get("size") in (0, "0"):
        yield Problem("template.size", "is 0, which asks for no results; leave it out, or {k}")
    for key, text in texts_in(value, "template"):
        problem = template_problem(text, PLACEHOLDERS)
        if problem is not None:
            yield Problem(key, problem)
