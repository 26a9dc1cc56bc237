"""The project file to go on with: the user's own text with the suggested changes in it."""

import copy
import difflib
import json
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.data.files import write_text_atomically
from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.rollup import Group
from searchmark.errors import InputError
from searchmark.experiments.remedies import Change, Remark, joining, remarks, remedies
from searchmark.project import Project, read_project
from searchmark.project.statements import Span, Statement, last_item, statements, strings

NEXT_NAME = "searchmark.next.toml"

_WIDTH = 98
_VERSION = re.compile(r"^(.*)-v([1-9][0-9]*)$")
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A project file to review: its text, and what differs from the present one as a diff.

    `changes` are in the text, `renamed` maps the systems that changed to their new names. `notes`
    say what has to be done by hand.
    """

    text: str
    diff: str
    changes: tuple[Change, ...]
    renamed: Mapping[str, str]
    notes: tuple[str, ...]


class _Edit(NamedTuple):
    """A piece of the text and what stands there instead."""

    span: Span
    text: str


def suggest_project(project: Project, groups: Sequence[Group], setup: Evidence) -> Suggestion:
    """Return the project file with the changes that the groups' findings suggest.

    Comments and order stay. Each system that changes gets a new name, so that its answers are told
    from the old ones'; what refers to it follows. The result is read again and compared with what
    was meant: where a file is written in a way that cannot be edited so, it is left as it is, and
    the changes are told as notes.
    """
    text = _text_of(project.path)
    findings = [f for group in groups for f in group.findings]
    wanted = remedies(project, findings, setup)
    remarked = tuple(remarks(findings, wanted, setup))
    made = _edited(text, wanted, (*remarked, *joining(wanted, project, setup)), project)
    changes = wanted if made is not None else ()
    renamed = new_names(changes, project)
    notes = (
        *(_by_hand(c) for c in wanted if c not in changes),
        *(r.text for r in remarked),
        *(f"{r.system}: {r.text}" for r in joining(changes, project, setup)),
        *_about_gate(project, renamed),
    )
    shown = text if made is None else made
    return Suggestion(shown, _diff(text, shown, project.path), changes, renamed, notes)


def _edited(
    text: str, changes: Sequence[Change], remarked: Sequence[Remark], project: Project
) -> str | None:
    """Return the new text; None where the file is written in a way that cannot be edited."""
    found = list(statements(text))
    renamed = new_names(changes, project)
    if not all(_table_keys(c.system, found) for c in changes):
        return None
    edits = [
        *_renames(renamed, found, text),
        *(e for c in changes for e in _change(c, found, text, renamed)),
        *_remarks_in_place(remarked, found, text),
    ]
    made = _applied(text, edits)
    meant = meant_by(tomllib.loads(text), changes, renamed)
    try:
        return made if tomllib.loads(made) == meant else None
    except tomllib.TOMLDecodeError:
        return None


def write_suggestion(suggestion: Suggestion, project: Project, *, overwrite: bool = False) -> Path:
    """Write `searchmark.next.toml` beside the project file and return its path.

    A file of that name is overwritten only where that is asked for, the project's own one never.
    What was written is read as a project, so that a wrong one is noticed at once.
    """
    path = project.folder / NEXT_NAME
    if path.exists() and path.samefile(project.path):
        raise InputError(
            "is the project file itself", path=path, fix="rename it, then ask for the next one"
        )
    if path.exists() and not overwrite:
        raise InputError("is there already", path=path, fix="move it away, or ask to overwrite it")
    write_text_atomically(path, suggestion.text)
    read_project(path)
    return path


def _text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig")


def _table_keys(system: str, found: Sequence[Statement]) -> list[Statement]:
    """Return the assignments straight in a system's table."""
    return [
        s
        for s in found
        if s.kind == "key" and len(s.path) == 3 and s.path[:2] == ("systems", system)
    ]


def _change(
    change: Change, found: Sequence[Statement], text: str, renamed: Mapping[str, str]
) -> Iterator[_Edit]:
    """Yield the edits that set a key, with a comment above it that says why."""
    keys = _table_keys(change.system, found)
    present = next((s for s in keys if s.path[2] == change.key), None)
    newline = _newline(text)
    if present is not None:
        indent = text[present.line.start : present.parts[0].start]
        at = present.line.start
        yield _Edit(Span(at, at), _comment(f"Suggested: {change.why}", indent, newline))
        yield _Edit(present.value, _new_value(change, present.value, text))
        return
    last = keys[-1]
    indent = text[last.line.start : last.parts[0].start]
    owner = [p.of(text) for p in last.parts[:-1]]
    if owner:  # a dotted key: its last part but one is the system
        owner[-1] = _key(renamed[change.system])
    line = f"{indent}{'.'.join([*owner, change.key])} = {toml(change.after)}"
    comment, at = _comment(f"Suggested: {change.why}", indent, newline), last.line.end
    ends = text.endswith("\n", 0, at)
    yield _Edit(Span(at, at), f"{comment}{line}{newline}" if ends else f"{newline}{comment}{line}")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _comment(sentence: str, indent: str, newline: str) -> str:
    """Return comment lines, indented as the key below them."""
    lines = textwrap.wrap(f"{sentence}.", _WIDTH - len(indent), break_on_hyphens=False)
    return "".join(f"{indent}# {line}{newline}" for line in lines)


def _new_value(change: Change, value: Span, text: str) -> str:
    """Return a value as TOML; what is only added to a list or table keeps how that is written."""
    added = change.added
    written = value.of(text)
    if not added or written[0] not in "[{" or not change.before:
        return toml(change.after)
    end, has_comma = last_item(text, value)
    items = ", ".join(
        f"{_key(n)} = {toml(change.after[n])}" if written[0] == "{" else toml(n) for n in added
    )
    comma = " " if has_comma else ", "
    return f"{text[value.start : end]}{comma}{items}{text[end : value.end]}"


def toml(value: Any) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)


def new_names(changes: Sequence[Change], project: Project) -> dict[str, str]:
    """Return changed system -> its new name: the next version that no system has yet."""
    names: dict[str, str] = {}
    for system in dict.fromkeys(c.system for c in changes):
        versioned = _VERSION.match(system)
        base, number = (versioned[1], int(versioned[2]) + 1) if versioned else (system, 2)
        taken = {*project.systems, *names.values()}
        while (name := _versioned(base, number)) in taken:
            number += 1
        names[system] = name
    return names


def _versioned(base: str, number: int) -> str:
    suffix = f"-v{number}"
    return base[: _LONGEST_NAME - len(suffix)] + suffix


def _renames(renamed: Mapping[str, str], found: Sequence[Statement], text: str) -> Iterator[_Edit]:
    """Yield the edits that give systems their new names, wherever they are written."""
    for statement in found:
        path = statement.path
        inherited = len(path) - len(statement.parts)  # parts that a header above gave
        if path[:1] == ("systems",) and len(path) > 1 and path[1] in renamed and inherited <= 1:
            yield _Edit(statement.parts[1 - inherited], _key(renamed[path[1]]))
        if _refers(path):
            for word, span in strings(text, statement.value):
                if word in renamed:
                    yield _Edit(span, toml(renamed[word]))


def _refers(path: tuple[str, ...]) -> bool:
    """Whether a key names systems."""
    return path == ("gate", "system") or (
        len(path) == 3 and path[0] == "systems" and path[2] == "of"
    )


def _remarks_in_place(
    remarked: Sequence[Remark], found: Sequence[Statement], text: str
) -> Iterator[_Edit]:
    """Yield comments below the keys of the systems that they are about."""
    for remark in remarked:
        keys = _table_keys(remark.system, found) if remark.system else []
        if keys and text.endswith("\n", 0, keys[-1].line.end):
            at = keys[-1].line.end
            yield _Edit(Span(at, at), _comment(f"Note: {remark.text}", "", _newline(text)))


def _applied(text: str, edits: Sequence[_Edit]) -> str:
    """Return the text with all edits made; those at one place in their order."""
    made = text
    for edit in reversed(sorted(edits, key=lambda e: e.span)):
        made = made[: edit.span.start] + edit.text + made[edit.span.end :]
    return made


def meant_by(
    table: Mapping[str, Any], changes: Sequence[Change], renamed: Mapping[str, str]
) -> dict[str, Any]:
    """Return the decoded file as it is meant to be after the changes."""
    meant = copy.deepcopy(dict(table))
    for change in changes:
        meant["systems"][change.system][change.key] = change.after
    meant["systems"] = {renamed.get(n, n): t for n, t in meant["systems"].items()}
    for system in meant["systems"].values():
        of = system.get("of")
        if isinstance(of, list):
            system["of"] = [renamed.get(part, part) for part in of]
        elif isinstance(of, str):
            system["of"] = renamed.get(of, of)
    gate = meant.get("gate", {})
    if gate.get("system") in renamed:
        gate["system"] = renamed[gate["system"]]
    return meant


def _by_hand(change: Change) -> str:
    return (
        f"this file cannot be edited automatically: set {change.key} = {toml(change.after)} in "
        f"[systems.{_key(change.system)}] by hand, because {change.why}"
    )


def _about_gate(project: Project, renamed: Mapping[str, str]) -> Iterator[str]:
    gate = project.file.gate
    if gate is not None and gate.system in renamed:
        yield (
            f"the gate holds {renamed[gate.system]} now, and the baseline is of {gate.system}: "
            "accept a new one with 'searchmark baseline accept' when the change is good"
        )


def _diff(before: str, after: str, path: Path) -> str:
    """Return a unified diff; empty where nothing changed."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), path.name, NEXT_NAME, lineterm=""
    )
    return "".join(f"{line}\n" for line in lines)
