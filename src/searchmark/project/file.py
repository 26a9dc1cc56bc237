"""A project: a folder with `searchmark.toml`, the golden files beside it, and what they mean."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from searchmark.data.files import check_file
from searchmark.errors import InputError, Problem, ProjectError, nearest
from searchmark.gate.policy import GatePolicy
from searchmark.gate.policy import find_problems as gate_problems
from searchmark.measures.notation import parse_measure
from searchmark.project.decode import decode_table
from searchmark.systems import SYSTEMS
from searchmark.systems.protocol import Entry, Kind

FILE_NAME = "searchmark.toml"
MAX_DEPTH = 10_000

_SYSTEM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_AT_LINE = re.compile(r" \(at line (\d+), column (\d+)\)")


class ProjectFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of `searchmark.toml`; paths are relative to the file.

    `complete` says that every document was judged for every query, so that what the qrels do not
    list is a true 0. `depth` is how many results each system is asked for.
    """

    corpus: str
    queries: str
    qrels: str
    measures: list[str] = msgspec.field(default_factory=lambda: ["nDCG@10", "RR", "R@20"])
    profile: Literal["graded", "trec", "answerable"] = "graded"
    complete: bool = False
    depth: int = 100
    ignore_missing_documents: bool = False
    systems: dict[str, dict[str, Any]]
    gate: GatePolicy | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """A project file that holds together, with its systems decoded."""

    path: Path
    file: ProjectFile
    systems: Mapping[str, Entry]

    @property
    def folder(self) -> Path:
        """The folder that paths in the file are relative to."""
        return self.path.parent

    @property
    def corpus(self) -> Path:
        """Where the documents lie."""
        return self.folder / self.file.corpus

    @property
    def queries(self) -> Path:
        """Where the queries lie."""
        return self.folder / self.file.queries

    @property
    def qrels(self) -> Path:
        """Where the judgments lie."""
        return self.folder / self.file.qrels

    def choose(self, systems: Sequence[str]) -> list[str]:
        """Return the named systems, or all; one that does not exist is an InputError."""
        for name in systems:
            if name not in self.systems:
                raise InputError(
                    f"no system is called '{name}'",
                    path=self.path,
                    fix=nearest(name, self.systems),
                )
        return list(dict.fromkeys(systems)) or list(self.systems)

    def shown(self, name: str | None, chosen: Sequence[str]) -> str:
        """Return the system to show in detail: the named one, the gate's, or the last one."""
        if name is not None:
            if self.choose([name])[0] not in chosen:
                raise InputError(f"system '{name}' is not run", fix="add it with --system")
            return name
        if self.file.gate is not None and self.file.gate.system in chosen:
            return self.file.gate.system
        return chosen[-1]

    @property
    def baseline(self) -> Path:
        """Where the gate's baseline lies."""
        return self.folder / self.gate.baseline

    @property
    def gate(self) -> GatePolicy:
        """The gate's limits; a project without a gate has none to give."""
        if self.file.gate is None:
            raise InputError(
                "the project has no gate",
                path=self.path,
                fix='add a section: [gate] with system = "NAME"',
            )
        return self.file.gate


def read_project(path: Path) -> Project:
    """Read a project file, or the one in a folder; every problem in it is reported at once."""
    path = path / FILE_NAME if path.is_dir() else path
    if not path.exists():
        raise InputError(
            "no project file here", path=path, fix="make one with 'searchmark init FOLDER'"
        )
    table = _read_toml(path)
    problems: list[Problem] = []
    file = decode_table(table, ProjectFile, "", problems)
    systems = _systems(table.get("systems"), problems)
    problems += _file_problems(path.parent, table)
    problems += _measure_problems(table)
    if file is not None:
        problems += _meaning_problems(file, systems)
    if problems or file is None:
        raise ProjectError(path, problems)
    return Project(path, file, systems)


def _read_toml(path: Path) -> dict[str, Any]:
    check_file(path)
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError("the project file is not UTF-8", path=path) from error
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        raise InputError(
            f"not valid TOML ({_AT_LINE.sub('', str(error))})",
            path=path,
            line=int(at[1]) if at else None,
            fix="mend the line",
        ) from error


def _systems(tables: object, problems: list[Problem]) -> dict[str, Entry]:
    """Decode each system's table by the kind it uses; what is wrong goes to `problems`."""
    found: dict[str, Entry] = {}
    if not isinstance(tables, Mapping):
        return found
    for name, table in tables.items():
        key = f"systems.{name}"
        if not _SYSTEM_NAME.fullmatch(name):
            problems.append(
                Problem(key, "the name may hold letters, digits, '.', '_' and '-' only")
            )
        if isinstance(table, Mapping) and (kind := _kind(table, key, problems)) is not None:
            rest = {k: v for k, v in table.items() if k != "use"}
            config = decode_table(rest, kind.config, key, problems)
            if config is not None:
                found[name] = Entry(name, str(table["use"]), config)
    if not tables:
        problems.append(Problem("systems", "there is no system; add a table [systems.NAME]"))
    _own_problems(found, tables, problems)
    return found


def _kind(table: Mapping[str, Any], key: str, problems: list[Problem]) -> Kind | None:
    use = table.get("use")
    if not isinstance(use, str):
        problems.append(Problem(f"{key}.use", f"must name a kind: {', '.join(SYSTEMS.names())}"))
        return None
    if use not in SYSTEMS.names():
        problems.append(
            Problem(
                f"{key}.use",
                f"no kind of system is called '{use}'; {nearest(use, SYSTEMS.names())}",
            )
        )
        return None
    kind: Kind = SYSTEMS.load(use)
    return kind


def _own_problems(
    systems: Mapping[str, Entry], tables: Mapping[str, Any], problems: list[Problem]
) -> None:
    """Ask each kind what is wrong with its own configurations."""
    if len(systems) < len(tables):
        return  # a system that could not be decoded would look like one that does not exist
    for name, entry in systems.items():
        kind: Kind = SYSTEMS.load(entry.use)
        if kind.problems is not None:
            problems += [
                Problem(f"systems.{name}.{p.key}", p.message)
                for p in kind.problems(entry.config, name, systems)
            ]


def _file_problems(folder: Path, table: Mapping[str, Any]) -> list[Problem]:
    found = []
    for key in ("corpus", "queries", "qrels"):
        value = table.get(key)
        if isinstance(value, str) and not (folder / value).is_file():
            parent = (folder / value).parent
            near = [p.name for p in parent.iterdir() if p.is_file()] if parent.is_dir() else []
            hint = nearest(Path(value).name, near) if near else "the folder does not exist"
            found.append(Problem(key, f"there is no file '{value}'; {hint}"))
    return found


def _measure_problems(table: Mapping[str, Any]) -> list[Problem]:
    """Report measures that cannot be read, or that look deeper than the systems are asked."""
    measures, depth = table.get("measures", []), table.get("depth", 100)
    found = []
    for i, text in enumerate(measures if isinstance(measures, list) else []):
        if not isinstance(text, str):
            continue
        try:
            cutoff = parse_measure(text).cutoff
        except InputError as error:
            found.append(Problem(f"measures[{i}]", str(error)))
            continue
        if isinstance(depth, int) and isinstance(cutoff, int) and cutoff > depth:
            found.append(Problem(f"measures[{i}]", f"'{text}' looks deeper than depth = {depth}"))
    return found


def _meaning_problems(file: ProjectFile, systems: Mapping[str, Entry]) -> list[Problem]:
    found = []
    if not 1 <= file.depth <= MAX_DEPTH:
        found.append(Problem("depth", f"{file.depth} is not from 1 to {MAX_DEPTH:,}"))
    if not file.measures:
        found.append(Problem("measures", "names no measure; give at least one"))
    if len(set(file.measures)) < len(file.measures):
        found.append(Problem("measures", "names a measure twice"))
    if file.gate is not None:
        found += gate_problems(file.gate, list(file.systems), file.measures)
    return found
