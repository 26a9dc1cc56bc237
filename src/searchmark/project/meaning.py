"""What the keys of a project file mean together: files that exist, measures, depth, the gate."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from searchmark.diagnosis.limits import find_problems as diagnosis_problems
from searchmark.diagnosis.table import RULES
from searchmark.errors import InputError, Problem, nearest
from searchmark.gate.policy import find_problems as gate_problems
from searchmark.measures.notation import parse_measure

DEFAULT_MEASURES = ("nDCG@10", "RR", "R@20")
DEFAULT_DEPTH = 100
MAX_DEPTH = 10_000

_FEW = 12
"""How many files of a folder are named where none has a similar name."""


def find_problems(values: Mapping[str, Any], folder: Path) -> list[Problem]:
    """Report every problem of meaning; a value that is UNSET was told before and is left out."""
    known = {"measures": DEFAULT_MEASURES, "depth": DEFAULT_DEPTH, **values}
    known = {key: value for key, value in known.items() if value is not msgspec.UNSET}
    measures, depth, systems = known.get("measures"), known.get("depth"), known.get("systems")
    found = [
        problem
        for key in ("corpus", "queries", "qrels")
        if key in known and (problem := _file_problem(key, known[key], folder))
    ]
    if measures is not None:
        found += _measure_problems(measures, MAX_DEPTH if depth is None else depth)
    if depth is not None and not 1 <= depth <= MAX_DEPTH:
        found.append(Problem("depth", f"{depth} is not from 1 to {MAX_DEPTH:,}"))
    if systems is not None and not systems:
        found.append(Problem("systems", "there is no system; add a table [systems.NAME]"))
    if known.get("diagnosis"):
        found += diagnosis_problems(known["diagnosis"], RULES.targets())
    if known.get("gate") and systems and measures:
        found += gate_problems(known["gate"], list(systems), list(measures))
    return found


def _file_problem(key: str, value: str, folder: Path) -> Problem | None:
    path = folder / value
    try:
        if path.is_file():
            return None
        if path.is_dir():
            return Problem(key, f"'{value}' is a folder; name a file")
        hint = _near_files(path)
    except (OSError, ValueError) as error:
        return Problem(key, f"'{value}' cannot be looked for ({error})")
    return Problem(key, f"there is no file '{value}'; {hint}")


def _near_files(path: Path) -> str:
    if not path.parent.is_dir():
        return "its folder does not exist"
    names = [p.name for p in path.parent.iterdir() if p.is_file()]
    if len(names) > _FEW and not get_close_matches(path.name, names, n=1, cutoff=0.5):
        return f"none of the {len(names):,} files there has a name like it"
    return nearest(path.name, names) if names else "there are no files in its folder"


def _measure_problems(measures: Sequence[str], depth: int) -> list[Problem]:
    """Report measures that cannot be read, or that look deeper than the systems are asked."""
    found = []
    for i, text in enumerate(measures):
        try:
            cutoff = parse_measure(text).cutoff
        except InputError as error:
            found.append(Problem(f"measures[{i}]", str(error)))
            continue
        if cutoff is not None and cutoff > depth:
            found.append(Problem(f"measures[{i}]", f"'{text}' looks deeper than depth = {depth}"))
    if not measures:
        found.append(Problem("measures", "names no measure; give at least one"))
    if len(set(measures)) < len(measures):
        found.append(Problem("measures", "names a measure twice"))
    return found
