"""Judging at a terminal: a document, a key, the next document."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from searchmark.diagnosis.documents import Documents
from searchmark.experiments.guiding.log import JudgmentLog, Pair, decisions, last_press
from searchmark.experiments.guiding.pool import Item, QueryPool, next_item
from searchmark.experiments.guiding.talk import Left
from searchmark.experiments.guiding.walk import Walk
from searchmark.reports.guide import (
    GRADES,
    KEYS,
    MORE_KEYS,
    Page,
    document_lines,
    head_lines,
    question_lines,
    rubric_lines,
)

_ENTER = ("\n", "\r")
_LEAST_LINES = 5
"""Lines of a document that are shown at once, however low the window is."""


class Judging(NamedTuple):
    """What there is to judge: the cutoff, the pools, the documents, and what was decided."""

    k: int
    pools: Sequence[QueryPool]
    documents: Documents
    decided: set[Pair]
    log: JudgmentLog


def judge_with_keys(walk: Walk, judging: Judging) -> None:
    """Show document after document until all are decided; raises Left when somebody leaves."""
    walk.show(rubric_lines(walk.talk.look))
    with walk.talk.keys() as read_key:
        while True:
            item = next_item(judging.pools, judging.decided)
            if item is not None:
                _judge_one(walk, judging, item, read_key)
            elif _is_over(walk, judging, read_key):
                break


def _judge_one(walk: Walk, judging: Judging, item: Item, read_key: Callable[[], str]) -> None:
    """Show a document and do what the first key says that decides something."""
    look = walk.talk.look
    page = Page(item.text, item.query, item.n_queries, item.document, item.n_documents)
    head, questions = head_lines(page, look), question_lines(look)
    lines = document_lines(judging.documents, item.pair.doc_id, item.text, look)
    room = max(walk.talk.height - len(head) - len(questions) - 2, _LEAST_LINES)
    walk.show(["", *head, *lines[:room]])
    rest = _tell_rest(walk, lines[room:])
    walk.show(questions)
    while not _done(walk, judging, item, key := read_key()):
        if key == " " and rest:
            walk.show(rest[:room])
            rest = _tell_rest(walk, rest[room:])
        elif key == "?":
            walk.show(rubric_lines(look))
        elif key == "u":
            walk.talk.tell("There is nothing to undo.")
        else:
            walk.show([KEYS, MORE_KEYS])


def _tell_rest(walk: Walk, rest: list[str]) -> list[str]:
    if rest:
        walk.talk.tell(f"... {len(rest)} more lines: space shows them")
    return rest


def _done(walk: Walk, judging: Judging, item: Item, key: str) -> bool:
    """Do what a key asks; False where it decides nothing."""
    if key in ("q", "Q", ""):
        raise Left
    if key in map(str, GRADES):
        judging.log.grade(item.pair, int(key))
        judging.decided.add(item.pair)
        walk.talk.tell(f"  {key} {GRADES[int(key)]}")
    elif key in ("s", "n"):
        pool = judging.pools[item.query - 1]
        pairs = [item.pair] if key == "s" else [p for p in pool.pairs if p not in judging.decided]
        judging.log.skip(pairs)
        judging.decided.update(pairs)
        walk.talk.tell("  skipped" if key == "s" else f"  {len(pairs)} skipped, next query")
    else:
        return key == "u" and _undo(walk, judging)
    return True


def _undo(walk: Walk, judging: Judging) -> bool:
    """Take the last key back; False where there is none, or its documents are not shown here."""
    shown = {pair for pool in judging.pools for pair in pool.pairs}
    pairs = [p for p in last_press(decisions(judging.log.entries)) if p in shown]
    if not pairs:
        return False
    judging.log.undo(pairs)
    judging.decided.difference_update(pairs)
    walk.talk.tell("  taken back")
    return True


def _is_over(walk: Walk, judging: Judging, read_key: Callable[[], str]) -> bool:
    """Ask before the numbers are shown, so that the last key can be taken back too."""
    walk.talk.tell(
        "\nThat was the last document. Enter goes on, u takes the last key back, q leaves."
    )
    while True:
        key = read_key()
        if key in ("q", "Q", ""):
            raise Left
        if key in _ENTER:
            return True
        if key == "u" and _undo(walk, judging):
            return False
