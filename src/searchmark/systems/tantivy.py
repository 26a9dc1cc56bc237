"""A Tantivy index as a system: a folder, or built from the corpus in memory."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from searchmark.data.corpus import Corpus
from searchmark.data.files import sha256
from searchmark.errors import InputError, Problem, SystemFailedError, described
from searchmark.systems.imported import import_library
from searchmark.systems.protocol import Answer, Context, Entry, Hit, Kind, Query, System
from searchmark.systems.template import encoded

WORDS = re.compile(r"[^\W_]+")
"""What Tantivy's own tokenizers take for a word: letters and digits."""

HEAP = 64_000_000
"""Bytes that indexing may use before it writes a part of its own."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "tantivy"``.

    `index` is the folder of an index; without it one is built of the corpus's `fields` with
    `tokenizer`. `fields` are weighted (or listed, weighing 1 each), `id` is the stored field that
    holds the document id, `operator` says whether any word or every word must match. `parse` says
    what is done with the query's text: "words" asks for its words, whatever signs stand between
    them; "lenient" and "strict" give it to the query parser, which knows operators, and "strict"
    fails on what it cannot read.
    """

    index: str | None = None
    id: str = "doc_id"
    fields: dict[str, float] | list[str] = msgspec.field(default_factory=lambda: ["title", "text"])
    tokenizer: Literal["default", "en_stem", "whitespace", "raw"] = "en_stem"
    operator: Literal["or", "and"] = "or"
    parse: Literal["words", "lenient", "strict"] = "words"


@dataclass(frozen=True, slots=True, eq=False)
class TantivySystem:
    """Parses and searches; the engine's order is the ranking."""

    name: str
    index: Any
    config: Config
    tags: frozenset[str] = frozenset({"lexical"})
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the best `k` documents."""
        encoded(query.text)  # what UTF-8 cannot hold is told in our words
        asked = self._parsed(query.text)
        if asked is None:
            return Answer(())
        searcher = self.index.searcher()
        found = searcher.search(asked, k)
        hits = tuple(Hit(self._id(searcher.doc(at)), score) for score, at in found.hits)
        return Answer(hits, total=found.count)

    def _parsed(self, text: str) -> Any:
        weights = weights_of(self.config)
        keys = {
            "default_field_names": list(weights),
            "field_boosts": weights,
            "conjunction_by_default": self.config.operator == "and",
        }
        if self.config.parse == "lenient":
            return self.index.parse_query_lenient(text, **keys)[0]
        if self.config.parse == "words":
            # in quotes nothing is an operator; a phrase of one word is that word
            text = " ".join(f'"{word}"' for word in WORDS.findall(text))
        try:
            return self.index.parse_query(text, **keys) if text else None
        except ValueError as error:
            raise SystemFailedError(f"the query parser of Tantivy said: {error}") from None

    def _id(self, document: Any) -> str:
        value = document.get_first(self.config.id)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise SystemFailedError(
            f"a result's stored field '{self.config.id}' is {value!r:.100}, not an id; "
            "name the field with the key 'id', it must be stored"
        )


def weights_of(config: Config) -> dict[str, float]:
    """Return each field's weight."""
    if isinstance(config.fields, dict):
        return dict(config.fields)
    return dict.fromkeys(config.fields, 1.0)


@contextmanager
def open_tantivy(name: str, config: Config, context: Context) -> Iterator[System]:
    """Open the folder, or index the corpus."""
    library = import_library("tantivy", "tantivy")
    identity: dict[str, str] = {}
    if config.index is None:
        index = _built(library, config, context.corpus)
    else:
        index, identity = _opened(library, context.folder / config.index)
    try:
        index.parse_query("word", list(weights_of(config)))
    except ValueError as error:
        raise InputError(
            f"the index of system '{name}' cannot be searched ({error})",
            path=context.folder / config.index if config.index else None,
            fix="name the index's text fields with the key 'fields'",
        ) from None
    yield TantivySystem(name, index, config, identity=identity)


def _opened(library: Any, folder: Path) -> tuple[Any, dict[str, str]]:
    """Open an index; the digest is that of the list of its parts, which a change writes anew."""
    if not folder.is_dir():
        raise InputError("there is no such folder", path=folder)
    try:
        return library.Index.open(str(folder)), {"index": sha256(folder / "meta.json")}
    except (ValueError, OSError) as error:
        raise InputError(f"Tantivy cannot open this ({described(error)})", path=folder) from None


def _built(library: Any, config: Config, corpus: Corpus) -> Any:
    """Index the corpus in memory, by one thread, so that ties keep the corpus's order."""
    names = list(weights_of(config))
    schema = library.SchemaBuilder()
    schema.add_text_field(config.id, stored=True, tokenizer_name="raw")
    for name in names:
        schema.add_text_field(name, tokenizer_name=config.tokenizer)
    index = library.Index(schema.build())
    texts = [corpus.texts(name) for name in names]
    writer = index.writer(HEAP, 1)
    for doc_id, *values in zip(corpus.doc_ids, *texts, strict=True):
        document = library.Document()
        document.add_text(config.id, doc_id)
        for name, value in zip(names, values, strict=True):
            document.add_text(name, value)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report values that make no index."""
    found = []
    weights = weights_of(config)
    if not weights:
        found.append(Problem("fields", "names no field; give at least one"))
    if config.index is None and config.id in weights:
        found.append(Problem("id", f"'{config.id}' is one of the fields that are searched"))
    found += [
        Problem(f"fields.{f}", f"the weight {w:g} is not above 0")
        for f, w in weights.items()
        if not 0 < w < float("inf")
    ]
    return found


TANTIVY = Kind(Config, open_tantivy, find_problems, frozenset({"lexical"}))
