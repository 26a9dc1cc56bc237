"""A room imports only rooms above it: data flows one way."""

import ast
from collections.abc import Iterator
from pathlib import Path

ORDER = (
    "version",
    "errors",
    "registry",
    "data",
    "measures",
    "stats",
    "retrieval",
    "systems",
    "judging",
    "diagnosis",
    "gate",
    "reports",
    "api",
    "project",
    "experiments",
    "testing",
    "demo",
    "web",
    "cli",
    "pytest_fixture",
    "pytest_plugin",
)
FORBIDDEN = {("retrieval", "measures"), ("retrieval", "stats")}
"""Pairs that the order allows and the design does not: retrieval knows nothing of evaluation."""


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, module) of every import of our own, also those inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.lineno, node.module or ""


def room(module: str) -> str | None:
    """Return the room that a module belongs to; None for the package itself or another one."""
    parts = module.split(".")
    return parts[1] if parts[0] == "searchmark" and len(parts) > 1 else None


def wrong_imports(source: Path) -> list[str]:
    found = []
    for path in sorted(source.rglob("*.py")):
        here = path.relative_to(source).parts[0].removesuffix(".py")
        if here == "__init__":
            continue
        assert here in ORDER, f"{path}: no room is called '{here}'"
        for line, module in imports(path):
            there = room(module)
            if there is None or there == here:
                continue
            if ORDER.index(there) > ORDER.index(here) or (here, there) in FORBIDDEN:
                found.append(f"{path.relative_to(source)}:{line}: {here} imports {module}")
    return found


def test_every_room_imports_only_rooms_above_it(repository: Path) -> None:
    assert wrong_imports(repository / "src" / "searchmark") == []


def test_the_test_itself_notices_a_wrong_import(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.py").write_text(
        "def f():\n    from searchmark.measures.spec import Spec\n"
    )
    (tmp_path / "retrieval").mkdir()
    (tmp_path / "retrieval" / "b.py").write_text("import searchmark.measures.view\n")
    assert wrong_imports(tmp_path) == [
        "data/a.py:2: data imports searchmark.measures.spec",
        "retrieval/b.py:1: retrieval imports searchmark.measures.view",
    ]
