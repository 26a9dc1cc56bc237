"""A chat model that is given the whole catalog and picks from it: a ceiling to compare with."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from searchmark.data.corpus import Corpus
from searchmark.errors import InputError, Problem, SystemFailedError
from searchmark.systems.completion import PATH, Completion, complete
from searchmark.systems.jsonapi import JsonApi, api_problems, open_api
from searchmark.systems.literals import body_secret_problems
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Answer, Context, Entry, Hit, Kind, Query, System, Tag
from searchmark.systems.selection import kind_of
from searchmark.systems.template import fill_text, template_problem

PLACES = ("catalog", "form", "k", "shown")
"""Placeholders of a prompt."""

Optional = Literal["max_tokens", "seed", "stream", "temperature"]
"""Keys of a request that a server can do without."""

KEY = "documents"
"""The name of the list in the model's answer."""

WORDS: Mapping[str, Mapping[str, str]] = {
    "numbers": {
        "shown": "a line for each entry, its number first",
        "form": f'{{"{KEY}": [3, 1]}}',
    },
    "ids": {
        "shown": "a line for each entry, its id first, in brackets",
        "form": f'{{"{KEY}": ["id", "id"]}}',
    },
}
"""What the prompt says of the two ways to name documents."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "chat"``.

    `url` is the API's address, to which ``/chat/completions`` is added, `model` what the server
    calls the model, `key` a bearer token as ``${NAME}``. `fields` of each document are shown, cut
    at `max_document_characters`; a catalog longer than `max_catalog_characters` is refused.
    `answer` says whether the model names documents by their number in the list or by their id,
    `unknown` what becomes of one that is not in the catalog, `format` how the form of the answer is
    asked for. `prompt` is a text file instead of ours; `extra` goes into every request, the keys in
    `leave_out`, which some models refuse, into none. `max_bytes` is the longest answer that is
    read. `tags` says what it is: lexical, vector, hybrid.
    """

    url: str
    model: str
    key: str | None = None
    fields: list[str] = msgspec.field(default_factory=lambda: ["title", "text"])
    max_document_characters: int = 500
    max_catalog_characters: int = 200_000
    answer: Literal["numbers", "ids"] = "numbers"
    unknown: Literal["error", "keep"] = "error"
    format: Literal["schema", "object", "none"] = "schema"
    prompt: str | None = None
    temperature: float = 0.0
    seed: int | None = 0
    max_tokens: int | None = 1000
    extra: dict[str, Any] = {}
    leave_out: list[Optional] = []
    max_bytes: int = 10_000_000
    tags: list[Tag] = []


@dataclass(frozen=True, slots=True, eq=False)
class ChatSystem:
    """One request a query; the catalog stands first in it, so that servers can keep it read."""

    name: str
    api: JsonApi
    prompt: str
    catalog: str
    doc_ids: Sequence[str]
    known: frozenset[str]
    config: Config
    tags: frozenset[str]
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return what the model picks, at most `k`; the first pick bears the tokens of the call."""
        said = complete(self.api, self._request(query.text, k))
        rest = None if said.tokens is None else 0.0
        hits = tuple(
            Hit(doc_id, None, rest if place else said.tokens)
            for place, doc_id in enumerate(self._picked(said)[:k])
        )
        return Answer(hits, said.is_cut, size=said.size)

    def _request(self, text: str, k: int) -> dict[str, Any]:
        config = self.config
        words = {"k": k, "catalog": self.catalog, **WORDS[config.answer]}
        body: dict[str, Any] = {
            "model": config.model,
            "messages": [
                {"role": "system", "content": fill_text(self.prompt, words)},
                {"role": "user", "content": text},
            ],
            "temperature": config.temperature,
            "stream": False,
        }
        if config.seed is not None:
            body["seed"] = config.seed
        if config.max_tokens is not None:
            body["max_tokens"] = config.max_tokens
        if config.format == "object":
            body["response_format"] = {"type": "json_object"}
        if config.format == "schema":
            schema = {"name": "ranking", "strict": True, "schema": self._schema(k)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        for key in config.leave_out:
            body.pop(key, None)
        return {**body, **config.extra}

    def _schema(self, k: int) -> dict[str, Any]:
        item: dict[str, Any] = {"type": "string"}
        if self.config.answer == "numbers":
            item = {"type": "integer", "minimum": 1, "maximum": len(self.doc_ids)}
        return {
            "type": "object",
            "properties": {KEY: {"type": "array", "items": item, "maxItems": k}},
            "required": [KEY],
            "additionalProperties": False,
        }

    def _picked(self, said: Completion) -> list[str]:
        """Return the ids in the model's order; repeated ones are passed on as they come."""
        try:
            found = msgspec.json.decode(said.content)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            found = None
        picked = found.get(KEY) if isinstance(found, dict) else found
        if isinstance(picked, list):
            return [self._id(item) for item in picked]
        excerpt = self.api.wire.secrets.excerpt(said.content, 120)
        why = "cut at max_tokens" if said.is_cut else "which is no list of picks in JSON"
        raise SystemFailedError(f"{self.api.request.shown}: the model said '{excerpt}', {why}")

    def _id(self, item: Any) -> str:
        is_whole = isinstance(item, int) and not isinstance(item, bool)
        is_named = is_whole
        if self.config.answer == "ids":
            is_named = is_whole or (isinstance(item, str) and item != "")
            if is_named and str(item) in self.known:
                return str(item)
        elif is_whole and 1 <= item <= len(self.doc_ids):
            doc_id: str = self.doc_ids[item - 1]
            return doc_id
        if is_named and self.config.unknown == "keep":
            return str(item)
        what = str(item)[:60] if is_named else kind_of(item)
        wanted = "a number" if self.config.answer == "numbers" else "an id"
        shown = self.api.request.shown
        raise SystemFailedError(f"{shown}: the model picked {what}, not {wanted} of the catalog")


@contextmanager
def open_chat(name: str, config: Config, context: Context) -> Iterator[System]:
    """Write the catalog out once."""
    catalog = _catalog(context.corpus, config)
    if len(catalog) > config.max_catalog_characters:
        raise InputError(
            f"the catalog of system '{name}' has {len(catalog):,} characters, more than "
            f"max_catalog_characters = {config.max_catalog_characters:,}",
            fix="show fewer fields, lower max_document_characters, or raise the limit as far as "
            "the model can read",
        )
    prompt = _prompt(config, context.folder)
    identity = {"prompt": sha256(prompt.encode()).hexdigest()}
    doc_ids = tuple(context.corpus.doc_ids)
    with open_api(config, PATH, context) as api:
        yield ChatSystem(
            name,
            api,
            prompt,
            catalog,
            doc_ids,
            frozenset(doc_ids),
            config,
            frozenset(config.tags),
            identity,
        )


def _catalog(corpus: Corpus, config: Config) -> str:
    """Return a line a document: its number or id, then its fields."""
    lines = []
    for number, (doc_id, text) in enumerate(
        zip(corpus.doc_ids, corpus.joined(config.fields), strict=True), 1
    ):
        shown = " ".join(text.split())[: config.max_document_characters]
        lines.append(f"{number}. {shown}" if config.answer == "numbers" else f"[{doc_id}] {shown}")
    return "\n".join(lines)


def _prompt(config: Config, folder: Path) -> str:
    if config.prompt is None:
        return files("searchmark.systems").joinpath("chat_prompt.txt").read_text(encoding="utf-8")
    path = folder / config.prompt
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the prompt cannot be read ({error})", path=path) from None
    if wrong := template_problem(text, PLACES):
        raise InputError(wrong, path=path)
    if "{catalog}" not in text:
        raise InputError(
            "the prompt has no place for the catalog", path=path, fix="write {catalog}"
        )
    return text


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report values that make no request."""
    found = [*api_problems(config), *body_secret_problems("extra", config.extra)]
    if not config.fields:
        found.append(Problem("fields", "names no field; give at least one"))
    if not 0 <= config.temperature <= 2:
        found.append(Problem("temperature", f"{config.temperature:g} is not from 0 to 2"))
    found += [
        Problem(key, f"{value} is not 1 or more")
        for key in ("max_document_characters", "max_catalog_characters", "max_tokens")
        if (value := getattr(config, key)) is not None and value < 1
    ]
    return found


CHAT = Kind(
    Config,
    open_chat,
    find_problems,
    calls=CallPolicy(timeout_s=120, retries=3),
    keeps_time=True,
)
