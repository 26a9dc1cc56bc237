"""Bundles: a folder a result, named by the digest of everything the result depends on."""

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from searchmark.data.files import write_atomically, write_text_atomically
from searchmark.errors import OutsideError, shown_path
from searchmark.experiments.journal import Call
from searchmark.measures.summary import SystemScores
from searchmark.version import __version__

FORMAT = "searchmark/bundle/1"


@dataclass(frozen=True, slots=True)
class Store:
    """The project's `.searchmark` folder: everything in it can be made again."""

    folder: Path

    def bundle(self, digest: str) -> Path:
        """Return the folder of the bundle with this digest."""
        return self.folder / "runs" / digest[:16]

    def invalid_bundle(self, digest: str) -> Path:
        """Return where a run goes that is no measurement: it takes no good one's place."""
        return self.folder / "runs" / f"{digest[:16]}-invalid"

    def journal(self, digest: str) -> Path:
        """Return the file in which a run under way keeps its answers."""
        return self.folder / "journal" / f"{digest[:16]}.jsonl"


def digest_of(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of facts in canonical JSON."""
    return hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()


def run_table(calls: Sequence[Call]) -> pl.DataFrame:
    """Return the run: `query_id`, `doc_id`, `rank`, `score`; `tokens` where any result has them."""
    table = pl.DataFrame(
        {
            "query_id": [c.query_id for c in calls for _ in c.doc_ids],
            "doc_id": [d for c in calls for d in c.doc_ids],
            "rank": [rank for c in calls for rank in range(1, len(c.doc_ids) + 1)],
            "score": [s for c in calls for s in c.scores],
        },
        schema={
            "query_id": pl.String,
            "doc_id": pl.String,
            "rank": pl.Int64,
            "score": pl.Float64,
        },
    )
    if not any(c.tokens for c in calls):
        return table
    tokens = [t for c in calls for t in c.tokens or [None] * len(c.doc_ids)]
    return table.with_columns(pl.Series("tokens", tokens, pl.Float64))


def calls_table(calls: Sequence[Call]) -> pl.DataFrame:
    """Return the calls: one row a query asked."""
    schema = {
        "query_id": pl.String,
        "latency_ms": pl.Float64,
        "status": pl.String,
        "attempts": pl.Int64,
        "error": pl.String,
        "partial": pl.Boolean,
        "size": pl.Int64,
        "total": pl.Int64,
        "warmup": pl.Boolean,
        "batch": pl.Int64,
    }
    return pl.DataFrame({n: [getattr(c, n) for c in calls] for n in schema}, schema=schema)


def scores_table(scores: SystemScores) -> pl.DataFrame:
    """Return the scores: `system`, `query_id`, `measure`, `value`."""
    rows = [
        (scores.system, query_id, measure, value)
        for measure, values in scores.per_query.items()
        for query_id, value in values.items()
    ]
    return pl.DataFrame(
        rows,
        schema={
            "system": pl.String,
            "query_id": pl.String,
            "measure": pl.String,
            "value": pl.Float64,
        },
        orient="row",
    )


def write_bundle(
    folder: Path, manifest: Mapping[str, Any], calls: Sequence[Call], scores: SystemScores
) -> None:
    """Write a bundle's tables, each beside its final name first, and the manifest last.

    An earlier one's manifest goes first: a kill in between leaves no tables of two runs that pass
    for one. The same inputs give the same bytes of run and scores; calls hold measured times.
    """
    tables = {
        "run.parquet": run_table(calls),
        "calls.parquet": calls_table(calls),
        "scores.parquet": scores_table(scores),
    }
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode()
    try:
        (folder / "manifest.json").unlink(missing_ok=True)
        for name, table in tables.items():
            write_atomically(folder / name, table.write_parquet)
        write_text_atomically(folder / "manifest.json", text + "\n")
    except (OSError, pl.exceptions.PolarsError) as error:  # Polars has no OSError for a full disk
        told = str(getattr(error, "strerror", None) or error)
        raise OutsideError(
            f"{shown_path(folder)}: results cannot be kept ({told}); make room there, or move away "
            "what is in the way: all answers are kept, and the same command goes on from them"
        ) from error


def circumstances(folder: Path) -> dict[str, Any]:
    """Return when, where and with what a bundle was made; none of it is part of its digest."""
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "searchmark": __version__,
        "python": platform.python_version(),
        "polars": pl.__version__,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "git_commit": _git_commit(folder),
    }


def _git_commit(folder: Path) -> str | None:
    """Return the commit the project stands at, with '+' where it has changes; None without git."""
    try:
        head = _git(folder, "rev-parse", "HEAD")
        return head + "+" if _git(folder, "status", "--porcelain", "--", ".") else head
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()
