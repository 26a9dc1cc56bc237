"""Where a project file has a system, for errors that are found when it is opened."""

from pathlib import Path

from searchmark.project.statements import statements
from searchmark.systems.naming import Place


def place_of(path: Path, system: str) -> Place:
    """Return the line at which a system's table begins; the file alone where that is not plain."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        found = (s for s in statements(text) if s.path[:2] == ("systems", system))
        return Place(path, text.count("\n", 0, next(found).line.start) + 1)
    except (OSError, ValueError, StopIteration):  # it changed since it was read
        return Place(path)
