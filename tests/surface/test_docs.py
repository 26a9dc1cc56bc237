"""What documents and messages name exists: keys, defaults, commands and their options."""

import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import msgspec
import pytest

from searchmark.cli.main import COMMANDS, cli
from searchmark.diagnosis.limits import Limits
from searchmark.gate.policy import GatePolicy
from searchmark.project import ProjectFile, project_schema
from searchmark.systems import SYSTEMS
from searchmark.systems.catalog import ConstraintConfig
from searchmark.systems.policy import CallPolicy

REFERENCE = Path("docs") / "reference" / "project-file.md"
SYSTEM_PAGES = Path("docs") / "systems"
"""A page a kind (or a family of kinds) that reaches outside; the built-in ones are in REFERENCE."""

SHARING = ("bm25", "dense", "hybrid")
"""The kinds whose common keys have a section of their own."""


def sections(text: str) -> dict[str, str]:
    """Return each heading's text, without the sections below it."""
    parts = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented(section: str) -> dict[str, str]:
    """Return the keys of a section's table with the cell that gives the default."""
    found = {}
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    if not rows:
        return {}
    column = [cell.strip() for cell in rows[0]].index("default")
    for row in rows[2:]:
        keys = re.findall(r"`(\w+)`", row[0])
        cell = row[column].strip()
        defaults = re.findall(r"`([^`]*)`", cell) or [d.strip() for d in cell.split(",")]
        found |= dict(zip(keys, defaults, strict=True))
    return found


def defaults(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return each key with its default; "required" stands for none."""
    found: dict[str, Any] = {}
    for f in msgspec.structs.fields(struct):
        if f.default_factory is not msgspec.NODEFAULT:
            found[f.encode_name] = f.default_factory()
        else:
            found[f.encode_name] = "required" if f.required else f.default
    return found


def value_of(cell: str) -> Any:
    if cell in ("none", "all"):
        return None
    return "required" if cell == "required" else tomllib.loads(f"x = {cell}")["x"]


def kind_section(found: dict[str, str], kind: str) -> str:
    return next(text for name, text in found.items() if name.startswith(f'`use = "{kind}"`'))


@pytest.fixture(scope="module")
def reference(repository: Path) -> dict[str, str]:
    pages = [repository / REFERENCE, *sorted((repository / SYSTEM_PAGES).glob("*.md"))]
    return sections("\n".join(page.read_text(encoding="utf-8") for page in pages))


def test_every_key_of_the_project_file_is_documented_with_its_default(
    reference: dict[str, str],
) -> None:
    expected = defaults(ProjectFile)
    for section in ("systems", "gate", "diagnosis"):
        del expected[section]
    told = documented(reference["Top level"])
    assert {key: value_of(cell) for key, cell in told.items()} == expected


def test_every_key_of_the_gate_is_documented_with_its_default(reference: dict[str, str]) -> None:
    told = documented(reference["Gate"])
    assert {key: value_of(cell) for key, cell in told.items()} == defaults(GatePolicy)


def test_every_threshold_is_documented_with_its_default(reference: dict[str, str]) -> None:
    told = documented(reference["Diagnosis"])
    assert {key: value_of(cell) for key, cell in told.items()} == defaults(Limits)


@pytest.mark.parametrize("kind", SHARING)
def test_every_key_of_a_built_in_search_is_documented(reference: dict[str, str], kind: str) -> None:
    told = documented(kind_section(reference, kind))
    told |= documented(reference["Keys that all three share"])
    assert {key: value_of(c) for key, c in told.items()} == defaults(SYSTEMS.load(kind).config)


def test_every_limit_of_calls_is_documented_with_its_default(reference: dict[str, str]) -> None:
    told = documented(reference["Limits of calls"])
    assert {key: value_of(cell) for key, cell in told.items()} == defaults(CallPolicy)


@pytest.mark.parametrize("kind", sorted(set(SYSTEMS.names()) - set(SHARING)))
def test_every_key_of_another_kind_is_named(reference: dict[str, str], kind: str) -> None:
    text = kind_section(reference, kind)
    for key in defaults(SYSTEMS.load(kind).config):
        assert re.search(rf"`{key}\b", text)


def test_every_key_of_a_constraint_is_named(reference: dict[str, str]) -> None:
    text = reference["Keys that all three share"]
    assert [key for key in defaults(ConstraintConfig) if f"`{key}`" not in text] == []


def test_the_documented_example_is_a_project_file(reference: dict[str, str]) -> None:
    example = "\n".join(line[4:] for line in reference["An example"].splitlines())
    jsonschema.validate(tomllib.loads(example), project_schema())


def command_lines(repository: Path) -> Iterator[tuple[str, str]]:
    """Yield (file, command line) of every call that a document or a message writes out."""
    done = subprocess.run(
        ["git", "-C", str(repository), "ls-files", "*.md", "src/*.py", "src/*.toml", "examples/*"],
        capture_output=True,
        text=True,
        check=True,
    )
    for name in done.stdout.splitlines():
        path = repository / name
        if not path.is_file() or path.suffix not in (".md", ".py", ".toml"):
            continue
        text = path.read_text(encoding="utf-8")
        for line in re.findall(
            r"(?:[`'\"]|^\$?[ ]*)(searchmark [a-z][^`'\"\n#|]*)", text, re.MULTILINE
        ):
            yield name, line


def resolve(words: list[str]) -> click.Command | None:
    """Return the command that the words call; None where there is no such command."""
    context = click.Context(cli)
    command: click.Command | None = cli
    for word in words:
        if not isinstance(command, click.Group):
            break
        if word.startswith("-"):
            continue
        command = command.get_command(context, word)
    return command


def test_every_command_line_that_is_written_somewhere_exists(repository: Path) -> None:
    wrong, seen = [], set()
    for name, line in command_lines(repository):
        words = shlex.split(line)[1:]
        seen.add(words[0])
        command = resolve(words)
        if command is None:
            wrong.append(f"{name}: {line}")
            continue
        known = {o for p in (*command.params, *cli.params) for o in p.opts} | {"--help"}
        wrong += [f"{name}: {line}: {w}" for w in words if w.startswith("--") and w not in known]
    assert wrong == []
    assert seen == set(COMMANDS)
