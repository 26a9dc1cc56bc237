"""A first project file: what a folder's data suggests, with a comment at every choice."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from searchmark.data import Corpus, read_corpus, read_qrels, read_queries
from searchmark.data.files import kind_of
from searchmark.data.records import RECORD_KINDS
from searchmark.errors import InputError
from searchmark.project.meaning import DEFAULT_MEASURES

_NAMES = {
    "corpus": ("corpus", "documents", "docs", "catalog", "collection"),
    "queries": ("queries", "query", "topics"),
    "qrels": ("qrels", "judgments", "judgements", "test"),
}
_KINDS = {
    "corpus": RECORD_KINDS,
    "queries": RECORD_KINDS,
    "qrels": (*RECORD_KINDS, "txt", "qrels", "trec"),
}
_SHORT = 60
"""Fields with at most this many characters on average read like a name and weigh more."""
_N_FIELDS = 5


@dataclass(frozen=True, slots=True)
class Found:
    """The data of a folder: files relative to it, fields to search, and what was guessed."""

    files: dict[str, str]
    fields: dict[str, float]
    has_dense: bool
    guesses: tuple[str, ...]


def find_data(folder: Path) -> Found:
    """Find and read corpus, queries and qrels; what is missing is named with what is looked for."""
    paths = _find_files(folder)
    corpus = read_corpus(paths["corpus"])
    queries = read_queries(paths["queries"])
    qrels = read_qrels(paths["qrels"])
    qrels.check_documents(corpus.doc_ids, corpus=corpus.path)
    has_dense = all(find_spec(m) for m in ("onnxruntime", "onnx", "tokenizers"))
    fields = fields_of(corpus)
    relative = {what: path.relative_to(folder).as_posix() for what, path in paths.items()}
    return Found(
        relative,
        fields,
        has_dense,
        (
            f"{relative['corpus']} is the corpus, with {len(corpus):,} documents",
            f"{relative['queries']} holds the queries, {len(queries):,} of them",
            f"{relative['qrels']} holds the judgments, {len(qrels):,} of them",
            f"fields to search: {', '.join(fields)}",
            *([] if has_dense else ["no dense system: pip install onnxruntime onnx tokenizers"]),
        ),
    )


def _find_files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputError("no such folder", path=folder, fix="name the folder that holds the data")
    files = _files(folder)
    found = {what: path for what in _NAMES if (path := _pick(files, what)) is not None}
    missing = [what for what in _NAMES if what not in found]
    if missing:
        looked = "; ".join(f"{what}: {', '.join(_NAMES[what])}" for what in missing)
        raise InputError(
            f"no file here or in data/ is called like the {' or the '.join(missing)} ({looked}; "
            f"as .{', .'.join(_KINDS[missing[-1]])}, plain, .gz or .zst)",
            path=folder,
            fix="rename the files, or write searchmark.toml by hand",
        )
    return found


def _files(folder: Path) -> list[Path]:
    places = [p for p in (folder, folder / "data", folder / "qrels") if p.is_dir()]
    return [f for place in places for f in sorted(place.iterdir()) if f.is_file()]


def _pick(files: Sequence[Path], what: str) -> Path | None:
    """Return the file with the first of the names, or else the first that begins with one."""
    fitting = [f for f in files if kind_of(f) in _KINDS[what]]
    stems = [(f, f.name.split(".")[0].lower()) for f in fitting]
    for name in _NAMES[what]:
        for path, stem in stems:
            if stem == name:
                return path
    for name in _NAMES[what]:
        for path, stem in stems:
            if stem.startswith((f"{name}-", f"{name}_")):
                return path
    return None


def find_file(folder: Path, what: str) -> Path | None:
    """Return the file of a folder, or of its data/, that is called like `what`, where there is one.

    `what` is corpus, queries or qrels.
    """
    return _pick(_files(folder), what)


def fields_of(corpus: Corpus) -> dict[str, float]:
    """Return the text fields worth searching: short ones weigh 3, long ones 1."""
    chosen: dict[str, float] = {}
    for name, kind in corpus.frame.schema.items():
        if name == "doc_id" or kind not in (pl.String, pl.List(pl.String)):
            continue
        texts = [t for t in corpus.texts(name) if t]
        if not texts or not _reads_like_text(texts):
            continue
        chosen[name] = 3.0 if sum(map(len, texts)) / len(texts) <= _SHORT else 1.0
    if not chosen:
        raise InputError("the corpus has no text field", path=corpus.path, fix="add one")
    order = sorted(chosen, key=lambda n: (n not in ("title", "text", "name", "description"),))
    return {n: chosen[n] for n in order[:_N_FIELDS]}


def _reads_like_text(texts: Sequence[str]) -> bool:
    """Tell words from addresses, dates and codes: letters, and few values that repeat."""
    sample = texts[:200]
    wordy = sum(any(c.isalpha() for c in t) and not _is_address(t) for t in sample) / len(sample)
    distinct = len(set(sample)) / len(sample)
    return wordy > 0.8 and distinct > 0.2


def _is_address(text: str) -> bool:
    return "://" in text and len(text.split()) == 1


def starter_text(found: Found, measures: Sequence[str] = DEFAULT_MEASURES) -> str:
    """Return the project file's text."""
    keyword = "{ " + ", ".join(f"{_key(n)} = {w:g}" for n, w in found.fields.items()) + " }"
    names = f"[{', '.join(map(_text, found.fields))}]"
    files = {what: _text(path) for what, path in found.files.items()}
    parts = [_HEAD.format(**files, measures=", ".join(map(_text, measures)))]
    parts.append(_KEYWORD.format(fields=keyword))
    if found.has_dense:
        parts += [_DENSE.format(fields=names), _HYBRID]
    parts.append(_GATE.format(system="hybrid" if found.has_dense else "keyword"))
    return "\n".join(parts)


def _key(name: str) -> str:
    bare = name.replace("-", "").replace("_", "")
    return name if bare.isascii() and bare.isalnum() else _text(name)


def _text(value: str) -> str:
    """Return a TOML string: JSON's escapes, and the one character that only TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_HEAD = """\
# A Searchmark project. Run it with: searchmark run
# Paths are relative to this file; `searchmark schema` prints everything that may stand here.

corpus = {corpus}
queries = {queries}
qrels = {qrels}

# What is measured: nDCG@k looks at the first k results, RR at the first right one.
measures = [{measures}]

# Conventions: "graded" (2^grade - 1 gains), "trec" (trec_eval's numbers) or "answerable".
profile = "graded"

# Set to true where every document was judged for every query: what is not listed is then a true 0.
complete = false
"""

_KEYWORD = """\
# Keyword search: BM25F over weighted fields. Every word must match; where nothing has them all,
# any word may.
[systems.keyword]
use = "bm25"
fields = {fields}
"""

_DENSE = """\
# Search by meaning: a local embedding model, exact cosine. The first run embeds every document.
[systems.dense]
use = "dense"
fields = {fields}
"""

_HYBRID = """\
# Both, joined by rank.
[systems.hybrid]
use = "hybrid"
of = ["keyword", "dense"]
"""

_GATE = """\
# Fail a build when the system that serves users got worse: accept its numbers once with
# `searchmark baseline accept`, then run `searchmark gate`.
[gate]
system = "{system}"
max_drop = 0.02
"""
