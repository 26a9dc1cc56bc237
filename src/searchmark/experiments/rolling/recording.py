"""One run of the command: the history read, the catalog evaluated, the record appended."""

from collections.abc import Mapping
from pathlib import Path

from searchmark.experiments.rolling.evaluation import Plan, evaluate
from searchmark.experiments.rolling.floors import not_held
from searchmark.experiments.rolling.history import (
    append_record,
    check_history,
    earlier,
    read_history,
)
from searchmark.experiments.rolling.since import since
from searchmark.experiments.rolling.target import Target
from searchmark.reports.rollingtext import RollingReport
from searchmark.systems.protocol import Progress


def evaluate_and_record(
    target: Target,
    plan: Plan,
    *,
    history: Path,
    keep: int,
    floors: Mapping[str, float],
    progress: Progress | None = None,
) -> RollingReport:
    """Evaluate once and append the record; where the evaluation fails nothing is appended."""
    check_history(history)
    before = earlier(read_history(history), target.name)  # a damaged file is told at once
    record = evaluate(target, plan, progress)
    append_record(history, record, keep)
    return RollingReport(
        record,
        since(before[-1], record) if before else None,
        [*before, record],
        tuple(not_held(record, floors)),
    )
