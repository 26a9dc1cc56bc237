"""The steps up to a project file: which are left, and those of the documents and of the file."""

import os
from collections.abc import Callable
from pathlib import Path

from searchmark.data import Corpus, read_corpus
from searchmark.data.files import check_file, make_folder, sha256
from searchmark.diagnosis.documents import Documents
from searchmark.errors import InputError, shown_path
from searchmark.experiments.guiding.answers import DEFAULT_K, Answers, relative, typed
from searchmark.experiments.guiding.making import (
    check_fields,
    guess_fields,
    is_plain,
    why_no_dense,
    write_project,
)
from searchmark.experiments.guiding.querying import settle_queries
from searchmark.experiments.guiding.steps import Facts, next_step
from searchmark.experiments.guiding.talk import Question
from searchmark.experiments.guiding.walk import Walk
from searchmark.project import FILE_NAME, Project, read_project
from searchmark.project.starter import find_file
from searchmark.reports.guide import field_lines


def prepare_project(walk: Walk) -> Project:
    """Take the steps up to the project file that are not finished yet, and read it."""
    make_folder(walk.folder)
    steps: dict[str, Callable[[Walk], None]] = {
        "documents": settle_documents,
        "queries": settle_queries,
        "project": settle_project,
    }
    _offer(walk)
    _restart(walk)
    _note_unused(walk)
    while (step := next_step(_facts(walk))) in steps:
        steps[step](walk)
    return read_project(walk.folder)


def _facts(walk: Walk) -> Facts:
    answers = walk.answers
    return Facts(
        _is_file(walk, answers.documents), _is_file(walk, answers.queries), walk.has_project
    )


def _offer(walk: Walk) -> None:
    """Ask before going on with a project that somebody else set up."""
    if walk.has_project and walk.answers == Answers() and walk.talk.is_live:
        text = (
            f"There is a project here already ({FILE_NAME}). Enter goes on with judging what "
            "nobody judged near the top, and with findings; q leaves."
        )
        walk.talk.ask(Question(text, "nobody agreed", "give --no-input", str, ""))


def _is_file(walk: Walk, path: str | None) -> bool:
    return path is not None and (walk.folder / path).is_file()


def _restart(walk: Walk) -> None:
    """Forget what a step settled, and what rests on it; judgments and answers typed stay."""
    step = walk.given.restart
    if step not in ("documents", "queries", "project"):
        return
    if walk.has_project and not walk.is_own:
        raise InputError(
            "is not as the guide wrote it, so it is not written anew",
            path=walk.folder / FILE_NAME,
            fix=f"edit it by hand, or move it away and call 'searchmark guide {walk.folder}'",
        )
    if step == "documents":
        walk.keep(documents=None, names=[], fields=[])
    if step in ("documents", "queries"):
        walk.keep(queries=None)
    (walk.folder / FILE_NAME).unlink(missing_ok=True)
    walk.keep(project=None)


def _note_unused(walk: Walk) -> None:
    """Say of options that change nothing, because the project file has the say."""
    given = walk.given
    if not walk.has_project:
        return
    kept = {"documents": walk.answers.documents, "queries": walk.answers.queries}
    for step, path in {"documents": given.documents, "queries": given.queries}.items():
        if path is not None:
            check_file(path)
        if path is not None and not _is_same(walk, kept[step], path):
            walk.talk.tell(
                f"--{step} changes nothing: {FILE_NAME} names the {step} already; "
                f"--restart-step {step} settles them anew"
            )


def _is_same(walk: Walk, kept: str | None, path: Path) -> bool:
    if kept is None:
        return False
    is_plain_text = kept == walk.answers.made and is_plain(path)
    return is_plain_text or os.path.realpath(walk.folder / kept) == os.path.realpath(path)


def settle_documents(walk: Walk) -> None:
    """Find the documents, and which of their fields hold names and text."""
    walk.begin("documents")
    found = find_file(walk.folder, "corpus")
    read = _reader(walk)
    corpus = (
        read(str(walk.given.documents))
        if walk.given.documents is not None
        else walk.talk.ask(
            Question(
                "Where are your documents? A JSONL, JSON, CSV, TSV or Parquet file with a document "
                "a line or row, and a column 'id'.",
                "it is not known where the documents are",
                "give --documents FILE",
                read,
                str(found) if found else None,
            )
        )
    )
    names, fields = _settle_fields(walk, corpus)
    path = corpus.path or Path()
    walk.keep(documents=relative(path, walk.folder), names=names, fields=fields)
    walk.show(field_lines(Documents(corpus), names, walk.talk.look))
    walk.talk.tell(f"Searched: {', '.join(fields)}.")


def _reader(walk: Walk) -> Callable[[str], Corpus]:
    def read(text: str) -> Corpus:
        corpus = read_corpus(typed(text, walk.folder))
        guess_fields(corpus)  # raises where there is no text to search
        return corpus

    return read


def _settle_fields(walk: Walk, corpus: Corpus) -> tuple[list[str], list[str]]:
    """Return the fields of names and of text; asks only where what they are called does not say."""
    guess, given = guess_fields(corpus), walk.given

    def read(text: str) -> list[str]:
        names = [n.strip() for n in text.split(",") if n.strip()]
        check_fields(corpus, names)
        return names

    names, fields = list(given.names or guess.names), list(given.fields or guess.texts)
    check_fields(corpus, [*names, *fields])
    listed = ", ".join(guess.texts)
    if not names:
        text = f"Which field holds a document's name or title, of {listed}? Enter for none."
        names = walk.talk.ask(
            Question(text, "no field of names is known", "give --name-field", read, "")
        )
    if not guess.is_obvious and not given.fields and len(guess.texts) > 1:
        text = "Which fields hold text to search? Names with commas between them."
        fields = walk.talk.ask(
            Question(text, "no field of text is known", "give --field", read, listed)
        )
    return names, fields


def settle_project(walk: Walk) -> None:
    """Write the project file: keyword search, and search by meaning where its model is here."""
    walk.begin("project")
    corpus = read_corpus(walk.folder / (walk.answers.documents or ""))
    missing = why_no_dense() if walk.given.dense else None
    walk.keep(k=walk.given.k or DEFAULT_K)
    has_dense = walk.given.dense and missing is None
    project = write_project(walk.folder, walk.answers, corpus, has_dense=has_dense)
    walk.keep(project=sha256(project.path))
    walk.talk.tell(
        f"Written: {shown_path(project.path)}, with the systems {', '.join(project.systems)}."
    )
    if missing:
        walk.talk.tell(f"For search by meaning as well: {missing}, then --restart-step project.")
