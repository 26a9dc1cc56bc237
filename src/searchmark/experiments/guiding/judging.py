"""Asking and judging: what the systems return near the top, and the grades it gets."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from searchmark.data import Corpus, Queries, read_corpus, read_queries
from searchmark.diagnosis.documents import Documents
from searchmark.diagnosis.wording import counted
from searchmark.errors import InputError, SystemFailedError
from searchmark.experiments.diagnosing import DEFAULT_K, check_cutoff, measure_of
from searchmark.experiments.guiding.asking import (
    Asked,
    ask_systems,
    forget_answers,
    kept_since,
)
from searchmark.experiments.guiding.grading import (
    apply_changes,
    changes_of,
    layout_of,
    read_grades,
)
from searchmark.experiments.guiding.keyboard import Judging, judge_with_keys
from searchmark.experiments.guiding.log import (
    JudgmentLog,
    decisions,
    open_log,
)
from searchmark.experiments.guiding.pool import (
    n_left,
    n_pooled,
    pools_of,
)
from searchmark.experiments.guiding.sheet import NAME as SHEET
from searchmark.experiments.guiding.sheet import read_sheet, write_sheet
from searchmark.experiments.guiding.walk import Walk
from searchmark.experiments.soundness import shown
from searchmark.project import Project
from searchmark.systems.protocol import Progress

Bar = Callable[[], AbstractContextManager[Progress | None]]
"""Opens a bar that shows progress; nothing else may be said while it is open."""


def ask_project(walk: Walk, project: Project, bar: Bar) -> tuple[Asked, Corpus]:
    """Take the step 'run': ask what was not asked yet."""
    layout_of(project.qrels)  # rather told now than after the judging
    corpus, queries = read_corpus(project.corpus), read_queries(project.queries)
    k = cutoff_of(walk, project)
    check_cutoff(project, k)
    if walk.given.restart == "run":
        forget_answers(project)
    since = kept_since(project)
    if since is None:
        walk.begin("run")
    with bar() as progress:
        asked = ask_systems(project, corpus, queries, progress=progress)
    if since is not None and asked.n_new:
        walk.begin("run")
    elif since is not None:
        walk.talk.tell(f"Answers of {since} are kept; --restart-step run asks anew.")
    for note in asked.notes:
        walk.talk.tell(note)
    _tell_failures(walk, asked)
    empty = _without_answers(asked, queries, k)
    if empty:
        walk.talk.tell(
            f"No system returned anything for {len(empty)} of {len(queries)} queries, such as "
            f"'{empty[0]}': there is nothing to judge, and they will not count."
        )
    if asked.n_new:
        walk.talk.tell(
            f"{counted(len(queries), 'query')} asked of {counted(len(asked.calls), 'system')}: "
            f"{', '.join(asked.calls)}."
        )
    return asked, corpus


def cutoff_of(walk: Walk, project: Project) -> int:
    """Return how deep is judged: as asked for, or as the project measures."""
    return walk.given.k or measure_of(project).cutoff or DEFAULT_K


def _tell_failures(walk: Walk, asked: Asked) -> None:
    failures = asked.failures
    if not failures:
        return
    name, call = failures[0]
    what = f"{len(failures)} calls failed, the first one of '{name}' for {shown(call.query_id)}"
    if len(failures) == sum(map(len, asked.calls.values())):
        raise SystemFailedError(f"all calls failed, so there is nothing to judge: {call.error}")
    walk.talk.tell(f"{what}: {call.error}")


def _without_answers(asked: Asked, queries: Queries, k: int) -> list[str]:
    answered = {c.query_id for calls in asked.calls.values() for c in calls if c.doc_ids[:k]}
    pairs = zip(queries.query_ids, queries.texts, strict=True)
    return [text for query_id, text in pairs if query_id not in answered]


def judge_project(walk: Walk, project: Project, asked: Asked, corpus: Corpus) -> bool:
    """Take the step 'judge'; returns whether any document is judged."""
    with _open(walk, project, asked, corpus) as judging:
        left = n_left(judging.pools, judging.decided)
        if left and walk.talk.is_live and not project.file.complete:
            n_all = n_pooled(judging.pools)
            walk.begin("judge", f"{n_all - left:,} of {n_all:,} documents done, {left:,} to go")
            judge_with_keys(walk, judging)
        elif left and not project.file.complete:
            _leave_sheet(walk, judging, left, is_begun=bool(read_grades(project.qrels)))
    return bool(read_grades(project.qrels))


@contextmanager
def _open(walk: Walk, project: Project, asked: Asked, corpus: Corpus) -> Iterator[Judging]:
    """Give what there is to judge; however it ends, the qrels then hold what the log holds."""
    queries = read_queries(project.queries)
    texts = [*zip(queries.query_ids, queries.texts, strict=True)]
    known = set(corpus.doc_ids)
    k = cutoff_of(walk, project)
    with open_log(walk.folder, walk.given.judge) as log:
        if walk.answers.applied > len(log.entries):  # another log than the one that was applied
            walk.keep(applied=0)
        _bring_in(walk, project, log)
        _take_given(walk, project, log, set(queries.query_ids), known)
        if walk.given.restart == "judge":
            log.undo([p for p, e in decisions(log.entries).items() if e.act == "skip"])
        decided = {*read_grades(project.qrels), *decisions(log.entries)}
        pools = pools_of(asked.calls, texts, k, known=known, seed=walk.answers.seed)
        documents = Documents(corpus, project.file.diagnosis.names)
        try:
            yield Judging(k, pools, documents, decided, log)
        finally:
            _bring_in(walk, project, log)


def _bring_in(walk: Walk, project: Project, log: JudgmentLog) -> None:
    """Write into the qrels what they do not hold yet."""
    apply_changes(project.qrels, changes_of(log.entries, walk.answers.applied))
    if walk.answers.applied != len(log.entries):
        walk.keep(applied=len(log.entries))


def _take_given(
    walk: Walk, project: Project, log: JudgmentLog, query_ids: set[str], doc_ids: set[str]
) -> None:
    """Take the grades of --judgments that are new."""
    if walk.given.judgments is None:
        return
    found = read_sheet(walk.given.judgments, query_ids, doc_ids)
    before = read_grades(project.qrels)
    new = {pair: grade for pair, grade in found.items() if before.get(pair) != grade}
    log.take(new)
    _bring_in(walk, project, log)
    walk.talk.tell(
        f"{len(found):,} judgments in {walk.given.judgments}, {len(new):,} of them new or changed."
    )


def _leave_sheet(walk: Walk, judging: Judging, left: int, *, is_begun: bool) -> None:
    """Write what is left to judge into a file; nothing judged at all is an error."""
    path = walk.folder / SHEET
    _check_taken(judging, path)
    write_sheet(path, judging.pools, judging.decided, judging.documents)
    fix = f"fill in its column 'grade' (3, 2, 1, 0) and call again with --judgments {path}"
    if not is_begun:
        raise InputError(
            f"nothing is judged yet, of {counted(left, 'document')}", path=path, fix=fix
        )
    walk.talk.tell(f"{path}: {counted(left, 'document')} within {judging.k} left to judge; {fix}")


def _check_taken(judging: Judging, path: Path) -> None:
    """Raise where a sheet that would be overwritten holds grades that are nowhere else."""
    if not path.exists():
        return
    query_ids = {pool.query_id for pool in judging.pools}
    found = read_sheet(path, query_ids, judging.documents.row_of)
    new = [pair for pair in found if pair not in judging.decided]
    if new:
        raise InputError(
            f"the sheet holds {counted(len(new), 'grade')} that nobody took",
            path=path,
            fix=f"call again with --judgments {path}, or move it away",
        )
