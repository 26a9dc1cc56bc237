"""A project: a folder with `searchmark.toml`, the golden files beside it, and what they mean."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from searchmark.data.files import check_file
from searchmark.diagnosis.limits import Limits
from searchmark.errors import InputError, Problem, ProjectError, nearest
from searchmark.gate.policy import GatePolicy
from searchmark.project.decode import decode_values
from searchmark.project.entries import decode_systems
from searchmark.project.meaning import DEFAULT_DEPTH, DEFAULT_MEASURES, find_problems
from searchmark.systems.protocol import Entry

FILE_NAME = "searchmark.toml"

_AT_LINE = re.compile(r" \(at line (\d+), column (\d+)\)")


class ProjectFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of `searchmark.toml`; paths are relative to the file.

    `complete` says that every document was judged for every query, so that what the qrels do not
    list is a true 0. `depth` is how many results each system is asked for.
    """

    corpus: str
    queries: str
    qrels: str
    measures: list[str] = msgspec.field(default_factory=lambda: [*DEFAULT_MEASURES])
    profile: Literal["graded", "trec", "answerable"] = "graded"
    complete: bool = False
    depth: int = DEFAULT_DEPTH
    ignore_missing_documents: bool = False
    systems: dict[str, dict[str, Any]]
    gate: GatePolicy | None = None
    diagnosis: Limits = msgspec.field(default_factory=Limits)


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
    """Read a project file, or the one in a folder; every problem in it is reported at once.

    Its path is absolute from here on: a system under test may move the working folder.
    """
    path = path / FILE_NAME if path.is_dir() else path
    if not path.exists():
        raise InputError(
            "no project file here", path=path, fix="make one with 'searchmark init FOLDER'"
        )
    table = _read_toml(path)
    problems: list[Problem] = []
    values = decode_values(table, ProjectFile, "", problems)
    systems = decode_systems(table.get("systems"), problems)
    problems += find_problems(values, path.parent)
    if problems:
        raise ProjectError(path, problems)
    return Project(path.absolute(), ProjectFile(**values), systems)


def _read_toml(path: Path) -> dict[str, Any]:
    check_file(path)
    raw = path.read_bytes()
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(
            "the project file is not UTF-8",
            path=path,
            line=raw.count(b"\n", 0, error.start) + 1,
            fix="save it as UTF-8",
        ) from error
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        raise InputError(
            f"not valid TOML ({_AT_LINE.sub('', str(error))})",
            path=path,
            line=int(at[1]) if at else None,
            fix="mend the line",
        ) from error
