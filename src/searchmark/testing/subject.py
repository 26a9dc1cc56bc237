"""What is examined, and the three ways to it: the bare adapter, the pool, a whole run."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, cast, get_args

import polars as pl
from msgspec.structs import fields

from searchmark.data import Corpus
from searchmark.errors import InputError, Problem, SearchmarkError
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.journal import Call
from searchmark.project import FILE_NAME, read_project
from searchmark.project.entries import decode_systems
from searchmark.systems import SYSTEMS
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import BatchSystem, Context, Entry, Kind, System
from searchmark.systems.secrets import Secrets
from searchmark.testing.plan import Behaviour, Plan
from searchmark.testing.server import MisbehavingServer

TOKEN = "SEARCHMARK_CONTRACT_TOKEN"
"""The variable of the environment that holds a secret during every case: a table that sends one
names it as ``${SEARCHMARK_CONTRACT_TOKEN}``."""

SECRET = 'pl4nted/Zq8+Wv3=Kd6&Yt9"Rx2'

PATIENT_S = 30.0
"""The time limit of cases that are not about time."""

DOC_IDS = tuple("abcdefgh")
"""The documents of the corpus that systems are opened with; their texts are their ids."""


class Subject(Protocol):
    """An adapter with an engine that does as it is told."""

    cannot: Mapping[Behaviour, str]
    """Behaviours that the engine cannot show or the adapter cannot meet, each with the reason."""

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        """Return tables of a project file in `folder`; the first one is the system examined.

        What they need beside the project file is written into the folder. Limits of calls are
        added to the first table where a case is about them.
        """
        ...

    def behave(self, plan: Plan) -> None:
        """Make the engine do this from now on, be a system open on it or not."""
        ...

    def received(self) -> Sequence[str]:
        """Return the query texts that reached the engine since the last `behave`."""
        ...


class ServerSubject:
    """An adapter that asks a `MisbehavingServer`, by the table of a project file.

    A subclass says in `cannot` what this engine cannot show.
    """

    cannot: Mapping[Behaviour, str] = {}

    def __init__(
        self,
        server: MisbehavingServer,
        table: Mapping[str, Any],
        **others: Mapping[str, Any],
    ) -> None:
        """Examine the system of `table`; `others` are systems that it is made of, by name."""
        self.server, self.table, self.others = server, table, others

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        """Return the tables of the project file."""
        return {"subject": self.table, **self.others}

    def behave(self, plan: Plan) -> None:
        """Tell the server."""
        self.server.behave(plan)

    def received(self) -> Sequence[str]:
        """Return the query texts that reached the server."""
        return self.server.queries()


@dataclass(frozen=True, slots=True)
class Ran:
    """A run over queries: its calls, and everything it said and left on disk."""

    calls: tuple[Call, ...]
    said: str
    files: Mapping[str, bytes] = field(default_factory=dict)


@contextmanager
def opened(subject: Subject, **limits: Any) -> Iterator[System]:
    """Open the bare adapter, with these limits of calls beside its own."""
    with _entries(subject, limits) as (entries, folder, corpus):
        entry = next(iter(entries.values()))
        kind: Kind = SYSTEMS.load(entry.use)
        with Pool(entries, corpus, folder=folder, cache=folder / ".searchmark") as pool:
            context = Context(
                corpus,
                folder,
                folder / ".searchmark",
                pool.open,
                calls=entry.calls,
                secrets=Secrets(),
            )
            with kind.open(entry.name, entry.config, context) as system:
                yield system


@contextmanager
def opened_for_batches(subject: Subject, n: int) -> Iterator[BatchSystem | None]:
    """Open the bare adapter for batches of `n`; gives None where it knows none, or refuses them."""
    with ExitStack() as stack:
        found: System | None = None
        try:
            found = stack.enter_context(opened(subject, batch=n))
        except InputError:
            with opened(subject):  # if it is only batches that it refuses
                pass
        yield cast("BatchSystem", found) if hasattr(found, "search_many") else None


@contextmanager
def opened_with_limit(subject: Subject, n: int) -> Iterator[System | None]:
    """Open the bare adapter with an answer's limit of `n` bytes; gives None where it has no key.

    The key `max_bytes` stands in the table of the system, or in a table within that.
    """
    kind = kind_of(subject)
    limits: dict[str, Any] = {"max_bytes": n}
    if "max_bytes" not in kind.config.__struct_fields__:
        with TemporaryDirectory() as folder:
            table = next(iter(subject.tables(Path(folder)).values()))
        within = [f.name for f in fields(kind.config) if f.name in table and _is_limited(f.type)]
        limits = {name: {**table[name], "max_bytes": n} for name in within}
    if not limits:
        yield None
        return
    with opened(subject, **limits) as system:
        yield system


def _is_limited(annotation: Any) -> bool:
    """Tell whether a key holds a table with `max_bytes`; a table may be left out."""
    kinds = (annotation, *get_args(annotation))
    return any("max_bytes" in getattr(kind, "__struct_fields__", ()) for kind in kinds)


@contextmanager
def pooled(subject: Subject, **limits: Any) -> Iterator[System]:
    """Open the system as a run does: with pacing, time limit and retries around the adapter."""
    with (
        _entries(subject, limits) as (entries, folder, corpus),
        Pool(entries, corpus, folder=folder, cache=folder / ".searchmark") as pool,
    ):
        yield pool.open(next(iter(entries)))


def kind_of(subject: Subject) -> Kind:
    """Return the kind that is examined."""
    with TemporaryDirectory() as folder:
        table = next(iter(subject.tables(Path(folder)).values()))
    kind: Kind = SYSTEMS.load(table["use"])
    return kind


def run(subject: Subject, queries: Sequence[str], *, depth: int = 10, **limits: Any) -> Ran:
    """Run a whole project over the query texts, and read back all that it left."""
    with planted(), TemporaryDirectory() as name:
        folder = Path(name)
        tables = _with_limits(
            subject.tables(folder), {"stop_after": 10_000, "max_error_share": 1.0, **limits}
        )
        _write_project(folder, tables, queries, depth)
        calls: tuple[Call, ...] = ()
        said = ""
        try:
            experiment = run_experiment(
                read_project(folder), [next(iter(tables))], sensitivity=False
            )
            calls = experiment.outcomes[0].calls
            experiment.check()
        except SearchmarkError as error:
            said = str(error)
        said = "\n".join([said, *(c.error or "" for c in calls)])
        return Ran(calls, said, _files(folder / ".searchmark"))


@contextmanager
def planted() -> Iterator[None]:
    """Hold the secret in the environment."""
    before = os.environ.get(TOKEN)
    os.environ[TOKEN] = SECRET
    try:
        yield
    finally:
        if before is None:
            del os.environ[TOKEN]
        else:
            os.environ[TOKEN] = before


@contextmanager
def _entries(
    subject: Subject, limits: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Entry], Path, Corpus]]:
    with planted(), TemporaryDirectory() as name:
        folder = Path(name)
        tables = _with_limits(subject.tables(folder), limits)
        problems: list[Problem] = []
        entries = decode_systems(tables, problems)
        if problems:
            told = "; ".join(f"{p.key}: {p.message}" for p in problems)
            raise InputError(f"the subject's own tables are wrong: {told}")
        corpus = Corpus(pl.DataFrame({"doc_id": DOC_IDS, "text": DOC_IDS}))
        yield entries, folder, corpus


def _with_limits(
    tables: Mapping[str, Mapping[str, Any]], limits: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the tables with limits of calls that make cases quick and sure, and the given ones."""
    first = next(iter(tables))
    quiet = {"timeout_s": PATIENT_S, "retries": 0, "warmup": 0}
    found = {name: dict(table) for name, table in tables.items()}
    found[first] = {**found[first], **quiet, **limits}
    return found


def _write_project(
    folder: Path, tables: Mapping[str, Mapping[str, Any]], queries: Sequence[str], depth: int
) -> None:
    corpus = [{"id": i, "text": i} for i in DOC_IDS]
    asked = [{"id": f"q{n}", "text": text} for n, text in enumerate(queries)]
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", asked)):
        lines = (json.dumps(row) + "\n" for row in rows)
        (folder / name).write_text("".join(lines), encoding="utf-8")
    judged = "".join(f"q{n} 0 {DOC_IDS[0]} 1\n" for n in range(len(queries)))
    (folder / "qrels.txt").write_text(judged, encoding="utf-8")
    top = {
        "corpus": "corpus.jsonl",
        "queries": "queries.jsonl",
        "qrels": "qrels.txt",
        "measures": ["R@10"],
        "depth": depth,
    }
    settings = [f"{key} = {_toml(value)}" for key, value in top.items()]
    settings += ["[systems]", *(f"{_key(name)} = {_toml(t)}" for name, t in tables.items())]
    (folder / FILE_NAME).write_text("\n".join(settings) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    """Return a value as TOML; texts of JSON are texts of TOML too."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder; the texts of tables, which are packed, in the clear."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = _read(path)
    return found


def _read(path: Path) -> bytes:
    if path.suffix == ".parquet":
        return pl.read_parquet(path).write_ndjson().encode()
    if path.suffix == ".zst":
        import zstandard

        with zstandard.open(path, "rb") as stream:
            packed: bytes = stream.read()
        return packed
    return path.read_bytes()
