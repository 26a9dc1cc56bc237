"""The step of the queries: from a file, typed, or made of the documents."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from searchmark.data import read_corpus, read_queries
from searchmark.data.files import make_folder, open_to_append
from searchmark.diagnosis.wording import counted
from searchmark.errors import InputError
from searchmark.experiments.guiding.answers import DEFAULT_SEED, relative, typed
from searchmark.experiments.guiding.making import (
    generate_queries,
    is_plain,
    read_lines,
    write_queries,
)
from searchmark.experiments.guiding.talk import Question
from searchmark.experiments.guiding.walk import Walk
from searchmark.project.starter import find_file

N_GENERATED, N_SHOWN = 12, 5

_TYPED = Path(".searchmark") / "guide-queries.txt"
"""Queries typed so far, a line each; they become the query set when all are there."""


def settle_queries(walk: Walk) -> None:
    """Find, take down or make the queries."""
    walk.begin("queries")
    given = walk.given
    if given.queries is not None:
        _take_file(walk, given.queries)
    elif given.generate is not None:
        _generate(walk, given.generate)
    else:
        found = find_file(walk.folder, "queries")
        default = "t" if _typed_so_far(walk) or not found else str(found)
        walk.talk.ask(
            Question(
                "What do people search for? The path of a file (plain text, a query a line; or a "
                "table with the columns query_id and text), t to type queries here, or g to have "
                "stand-ins made of the documents.",
                "there are no queries",
                "give --queries FILE, or --generate N for stand-ins",
                lambda text: _take_answer(walk, text),
                default if walk.talk.is_live or found else None,
            )
        )


def _take_answer(walk: Walk, text: str) -> None:
    if text.lower() == "t":
        _type(walk)
    elif text.lower() == "g":
        missing = "it is not known how many"
        question = Question("How many?", missing, "give --generate N", _count, str(N_GENERATED))
        _generate(walk, walk.talk.ask(question))
    else:
        _take_file(walk, typed(text, walk.folder))


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise InputError(f"'{text}' is not a number from 1 to 10,000")
    return int(text)


def _take_file(walk: Walk, path: Path) -> None:
    if is_plain(path):
        _keep_written(walk, [{"text": text} for text in _some(read_lines(path), path)])
        return
    queries = read_queries(path)
    walk.keep(queries=relative(path, walk.folder))
    walk.talk.tell(f"{counted(len(queries), 'query')} in {path}.")


def _some(lines: list[str], path: Path) -> list[str]:
    if not lines:
        raise InputError("there are no queries", path=path, fix="write one a line")
    return lines


def _generate(walk: Walk, n: int) -> None:
    corpus = read_corpus(walk.folder / (walk.answers.documents or ""))
    seed = walk.given.seed
    walk.keep(seed=DEFAULT_SEED if seed is None else seed)
    rows = generate_queries(corpus, walk.answers, n)
    _keep_written(walk, rows)
    for row in rows[:N_SHOWN]:
        walk.talk.tell(f"- {row['text']} ({row['capability']})")
    walk.talk.tell(
        "These are stand-ins, made from the documents' own words: they flatter keyword search. "
        "Replace them by what people really search for before you trust a number "
        f"(searchmark guide {walk.folder} --restart-step queries)."
    )


def _type(walk: Walk) -> None:
    """Take queries down, each on disk before the next one is asked for."""
    found = _typed_so_far(walk)
    if found:
        walk.talk.tell("Typed so far:")
    for text in found:
        walk.talk.tell(f"- {text}")
    walk.talk.tell("A query a line, as people type them; ten to fifty say more than two.")
    walk.talk.tell("An empty line ends, q leaves.")
    while True:
        question = Question(f"Query {len(found) + 1}", "no query", "give --queries FILE", str, "")
        text = " ".join(walk.talk.ask(question).split())
        if not text and found:
            break
        if text and text not in found:
            _append(walk.folder / _TYPED, text)
            found.append(text)
    _keep_written(walk, [{"text": text} for text in found])
    (walk.folder / _TYPED).unlink(missing_ok=True)


def _typed_so_far(walk: Walk) -> list[str]:
    """Return the typed queries; a last line that a kill cut off is dropped."""
    path = walk.folder / _TYPED
    whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
    return [*dict.fromkeys(whole.decode("utf-8", "replace").split("\n"))] if whole else []


def _append(path: Path, text: str) -> None:
    make_folder(path.parent)
    with open_to_append(path) as stream:
        stream.write(text.encode("utf-8") + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def _keep_written(walk: Walk, rows: Sequence[dict[str, Any]]) -> None:
    path = write_queries(walk.folder, rows, walk.answers.made)
    kept = relative(path, walk.folder)
    walk.keep(queries=kept, made=kept)
    walk.talk.tell(f"{counted(len(rows), 'query')} written to {path}.")
