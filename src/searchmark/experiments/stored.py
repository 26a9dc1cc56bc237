"""Scores and answers of earlier runs over the same inputs, read back from their bundles."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from searchmark.experiments.inputs import Inputs
from searchmark.experiments.journal import Call
from searchmark.experiments.store import FORMAT, Store

Values = Mapping[str, Mapping[str, float]]
"""Measure -> query id -> value."""


def stored_scores(store: Store, inputs: Inputs, systems: Collection[str]) -> dict[str, Values]:
    """Return system -> its values in the newest bundle over these inputs and conventions.

    What cannot be read is left out: the store can be made again, and nothing depends on it.
    """
    newest: dict[str, tuple[str, Path]] = {}
    for path in sorted((store.folder / "runs").glob("*/manifest.json")):
        facts = _facts(path)
        name, made = str(facts.get("system")), str(facts.get("made", ""))
        if name not in systems or not _is_over(facts, inputs):
            continue
        newest[name] = max(newest.get(name, ("", path)), (made, path.parent))
    found = {name: _values(folder) for name, (_, folder) in sorted(newest.items())}
    return {name: values for name, values in found.items() if values}


class Stored(NamedTuple):
    """Answers that were kept, and when they were given (ISO 8601, UTC)."""

    calls: tuple[Call, ...]
    made: str


def stored_answers(folder: Path) -> Stored | None:
    """Return the answers of a bundle; None where there is none, or a query had failed."""
    facts = _facts(folder / "manifest.json")
    if not facts:
        return None
    try:
        asked = pl.read_parquet(folder / "calls.parquet")
        run = pl.read_parquet(folder / "run.parquet")
        found: dict[str, tuple[list[str], list[float | None]]] = {}
        for query_id, doc_id, score in run.select("query_id", "doc_id", "score").iter_rows():
            ids, scores = found.setdefault(query_id, ([], []))
            ids.append(doc_id)
            scores.append(score)
        calls = [_call(row, *found.get(row["query_id"], ([], []))) for row in asked.to_dicts()]
    except (OSError, pl.exceptions.PolarsError, msgspec.ValidationError, KeyError):
        return None  # what is damaged is asked again
    if any(c.is_failure for c in calls):
        return None
    return Stored(tuple(calls), str(facts.get("made", "")))


def _call(row: dict[str, Any], doc_ids: list[str], scores: list[float | None]) -> Call:
    return msgspec.convert({**row, "doc_ids": doc_ids, "scores": scores}, Call)


def _facts(path: Path) -> dict[str, Any]:
    with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        facts = msgspec.json.decode(path.read_bytes())
        if isinstance(facts, dict) and facts.get("format") == FORMAT:
            return facts
    return {}


def _is_over(facts: Mapping[str, Any], inputs: Inputs) -> bool:
    same = facts.get("inputs") == dict(inputs.digests)
    return same and facts.get("conventions") == dict(inputs.conventions)


def _values(folder: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with suppress(OSError, pl.exceptions.PolarsError):
        table = pl.read_parquet(folder / "scores.parquet")
        for query_id, measure, value in table.select("query_id", "measure", "value").iter_rows():
            found.setdefault(measure, {})[query_id] = value
    return found
