"""Scores and answers of earlier runs over the same inputs, read back from their bundles."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from searchmark.experiments.inputs import Inputs
from searchmark.experiments.journal import Call
from searchmark.experiments.soundness import flaw
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
        if name not in systems or not _is_over(facts, inputs) or _is_invalid(facts, path.parent):
            continue
        newest[name] = max(newest.get(name, ("", path)), (made, path.parent))
    found = {name: _values(folder) for name, (_, folder) in sorted(newest.items())}
    return {name: values for name, values in found.items() if values}


class Stored(NamedTuple):
    """Answers that were kept, and when they were given (ISO 8601, UTC)."""

    calls: tuple[Call, ...]
    made: str


def stored_answers(folder: Path) -> Stored | None:
    """Return the calls of a bundle; None where there is none, or it is marked as invalid."""
    facts = _facts(folder / "manifest.json")
    if not facts or facts.get("invalid"):
        return None
    try:
        asked = pl.read_parquet(folder / "calls.parquet")
        hits = _hits(pl.read_parquet(folder / "run.parquet"))
        calls = [
            msgspec.convert({**row, **hits.get(row["query_id"], {})}, Call)
            for row in asked.to_dicts()
        ]
    except (OSError, pl.exceptions.PolarsError, msgspec.ValidationError, KeyError):
        return None  # what is damaged is asked again
    if any(flaw(call) is not None for call in calls):
        return None
    return Stored(tuple(calls), str(facts.get("made", "")))


def _hits(run: pl.DataFrame) -> dict[str, dict[str, list[Any]]]:
    """Return query id -> its results, by the names of a call's fields."""
    names = {"doc_id": "doc_ids", "score": "scores", "tokens": "tokens"}
    kept = [name for name in names if name in run.columns]
    found: dict[str, dict[str, list[Any]]] = {}
    for query_id, *values in run.select("query_id", *kept).iter_rows():
        lists = found.setdefault(query_id, {names[name]: [] for name in kept})
        for name, value in zip(kept, values, strict=True):
            lists[names[name]].append(value)
    return found


def _facts(path: Path) -> dict[str, Any]:
    with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        facts = msgspec.json.decode(path.read_bytes())
        if isinstance(facts, dict) and facts.get("format") == FORMAT:
            return facts
    return {}


def _is_invalid(facts: Mapping[str, Any], folder: Path) -> bool:
    """Tell whether a bundle is of a run that is no measurement; old ones do not say all of it."""
    limits = facts.get("limits")
    knows_partial = isinstance(limits, Mapping) and "max_partial_share" in limits
    if facts.get("invalid") is not None or ("invalid" in facts and knows_partial):
        return facts["invalid"] is not None
    with suppress(OSError, pl.exceptions.PolarsError):
        calls = pl.read_parquet(folder / "calls.parquet", columns=["status", "partial"])
        failed = calls["status"].is_in(["error", "timeout"]) & ("invalid" not in facts)
        return bool((failed | calls["partial"]).any())
    return True


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
