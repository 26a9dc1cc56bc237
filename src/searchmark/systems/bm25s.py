"""A bm25s index as a system: a saved folder, or built from the corpus."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import msgspec

from searchmark.data.corpus import Corpus
from searchmark.errors import InputError, Problem, described, nearest
from searchmark.retrieval.generation import digest_files
from searchmark.systems.imported import import_library
from searchmark.systems.protocol import Answer, Context, Entry, Hit, Kind, Query, System
from searchmark.systems.retrieved import path_problems, value_at

Method = Literal["lucene", "robertson", "atire", "bm25l", "bm25+"]
Tokenize = Callable[[Sequence[str]], list[list[str]]]

SAVED = "corpus.jsonl"
"""Where the library keeps what was indexed: a JSON value a line, in the index's order."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "bm25s"``.

    `index` is the folder of a saved index, `ids` a text file with the document ids in the index's
    order, one a line; without it they are read from the corpus that was saved with the index, by
    the path `id`. Without `index` one is built from `fields`, joined by blanks, with `method`,
    `k1`, `b` and `delta`. `lower`, `pattern`, `stopwords` and `stemmer` make words of texts, and
    must be what the index was made with.
    """

    index: str | None = None
    ids: str | None = None
    id: str = "id"
    fields: list[str] = msgspec.field(default_factory=lambda: ["title", "text"])
    method: Method = "lucene"
    k1: float = 1.5
    b: float = 0.75
    delta: float = 0.5
    lower: bool = True
    pattern: str = r"(?u)\b\w\w+\b"
    stopwords: str | list[str] = "english"
    stemmer: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Bm25sSystem:
    """Asks the index for its best; what scores 0, sharing no word with the query, is no result."""

    name: str
    index: Any
    doc_ids: Sequence[str]
    tokenize: Tokenize
    tags: frozenset[str] = frozenset({"lexical"})
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the best `k` documents whose score is above 0."""
        tokens = self.tokenize([query.text])
        if self.index is None or not tokens[0]:
            return Answer(())
        found = self.index.retrieve(tokens, k=min(k, len(self.doc_ids)), show_progress=False)
        rows, scores = found.documents[0].tolist(), found.scores[0].tolist()
        pairs = zip(rows, scores, strict=True)
        return Answer(tuple(Hit(self.doc_ids[row], score) for row, score in pairs if score > 0))


@contextmanager
def open_bm25s(name: str, config: Config, context: Context) -> Iterator[System]:
    """Load the folder, or index the corpus."""
    library = import_library("bm25s", "bm25s")
    tokenize = _tokenizer(library, config)
    if config.index is None:
        index = _built(library, config, context.corpus, tokenize)
        yield Bm25sSystem(name, index, tuple(context.corpus.doc_ids), tokenize)
        return
    folder = context.folder / config.index
    list_of_ids = context.folder / config.ids if config.ids else folder / SAVED
    index, identity = _loaded(library, folder, list_of_ids)
    doc_ids = _read_ids(list_of_ids, None if config.ids else config.id)
    if index.scores["num_docs"] != len(doc_ids):
        n = index.scores["num_docs"]
        told = f"there are {len(doc_ids)} ids for the {n} documents of the index"
        raise InputError(told, path=list_of_ids)
    yield Bm25sSystem(name, index, doc_ids, tokenize, identity=identity)


def _tokenizer(library: Any, config: Config) -> Tokenize:
    """Return what makes words of texts, of documents and queries alike."""
    stemmer, one_at_a_time = None, Lock()
    if config.stemmer is not None:
        import Stemmer

        stemmer = Stemmer.Stemmer(config.stemmer)  # keeps a buffer: no two threads may use it

    def tokenize(texts: Sequence[str]) -> list[list[str]]:
        with one_at_a_time:
            found: list[list[str]] = library.tokenize(
                list(texts),
                lower=config.lower,
                token_pattern=config.pattern,
                stopwords=config.stopwords,
                stemmer=stemmer,
                return_ids=False,
                show_progress=False,
            )
        return found

    try:
        tokenize(["a word"])
    except ValueError as error:
        raise InputError(f"bm25s cannot make words of texts ({described(error)})") from None
    return tokenize


def _built(library: Any, config: Config, corpus: Corpus, tokenize: Tokenize) -> Any:
    """Return an index of the corpus; None where no document has a word."""
    words = tokenize(corpus.joined(config.fields))
    if not any(words):
        return None
    index = library.BM25(method=config.method, k1=config.k1, b=config.b, delta=config.delta)
    index.index(words, show_progress=False)
    return index


def _loaded(library: Any, folder: Path, list_of_ids: Path) -> tuple[Any, dict[str, str]]:
    if not folder.is_dir():
        raise InputError("there is no such folder", path=folder)
    try:
        index = library.BM25.load(folder, show_progress=False)
        _check_parts(index)
        files = [p for p in sorted(folder.iterdir()) if p.is_file() and ".index." in p.name]
        return index, {"index": digest_files([*files, list_of_ids])}
    except Exception as error:  # whatever the library meets in files that are not its own
        raise InputError(
            f"bm25s cannot read this index ({described(error)})",
            path=folder,
            fix="give the folder that its method save wrote, and ids",
        ) from None


def _check_parts(index: Any) -> None:
    """Refuse parts that do not belong together: the library would answer from them all the same."""
    import numpy as np

    scores, rows, starts = (index.scores[part] for part in ("data", "indices", "indptr"))
    n_words, n_documents = len(starts) - 1, index.scores["num_docs"]
    numbers = list(index.vocab_dict.values())
    if not np.isfinite(scores).all():
        raise ValueError("a score in it is no finite number")
    if len(rows) != len(scores) or starts[-1] != len(rows) or (np.diff(starts) < 0).any():
        raise ValueError("its matrix has parts of different lengths")
    if len(rows) and not 0 <= rows.min() <= rows.max() < n_documents:
        raise ValueError(f"it names documents beyond its {n_documents}")
    if not all(isinstance(n, int) for n in numbers) or set(range(n_words)) - set(numbers):
        raise ValueError("its vocabulary is not that of its matrix")


def _read_ids(path: Path, inside: str | None) -> list[str]:
    """Return an id a line; `inside` is where it stands in each line's JSON value."""
    found: list[str] = []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", path=path, fix="save it as UTF-8") from error
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")  # no other sign ends a line
    for number, line in enumerate(lines, 1):
        value: Any = line
        if inside is not None:
            try:
                value = value_at(msgspec.json.decode(line), inside)
            except msgspec.DecodeError:
                value = None
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            fix = "name the key with 'id', or give a file of ids with 'ids'"
            raise InputError(f"no id stands here ({value!r:.60})", path=path, line=number, fix=fix)
        found.append(str(value))
    return found


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report values that make no index."""
    import re

    import Stemmer

    found = path_problems(config.id, None)
    if not config.fields:
        found.append(Problem("fields", "names no field; give at least one"))
    if config.ids is not None and config.index is None:
        found.append(Problem("ids", "belongs to an index; name that too"))
    if config.stemmer is not None and config.stemmer not in Stemmer.algorithms():
        told = f"no stemmer is called '{config.stemmer}'; "
        found.append(Problem("stemmer", told + nearest(config.stemmer, Stemmer.algorithms())))
    try:
        if re.compile(config.pattern).groups > 1:
            found.append(Problem("pattern", "has more than one group; make them (?:...)"))
    except re.error as error:
        found.append(Problem("pattern", f"is no regular expression ({error})"))
    if not 0 <= config.b <= 1:
        found.append(Problem("b", f"{config.b:g} is not from 0 to 1"))
    found += [
        Problem(key, f"{value:g} is not 0 or more")
        for key, value in (("k1", config.k1), ("delta", config.delta))
        if not 0 <= value < float("inf")
    ]
    return found


BM25S = Kind(Config, open_bm25s, find_problems, frozenset({"lexical"}))
