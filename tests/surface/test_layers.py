"""A room imports only rooms above it: data flows one way."""

import ast
from collections.abc import Iterator, Mapping
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


KNOWN_CIRCLES = [
    {"diagnosis.cutoff", "diagnosis.evidence", "diagnosis.worth"},  # evidence has them on demand
    {"experiments.journal", "experiments.soundness"},  # the name of a type
    {"measures.score", "measures.summary", "measures.ties"},  # the name of a type
]
"""Circles that there are; no other one may come."""


def circles(source: Path) -> list[set[str]]:
    """Return sets of modules that import each other, for types or inside functions too."""
    files = {
        ".".join(("searchmark", *path.relative_to(source).with_suffix("").parts)): path
        for path in source.rglob("*.py")
    }
    graph = {name: _imported(path, files) - {name} for name, path in files.items()}
    reached = {name: _reached(name, graph) for name in graph}
    found: list[set[str]] = []
    for name in sorted(graph):
        ring = {other for other in reached[name] if name in reached[other]}
        if ring and ring not in found:
            found.append(ring)
    return found


def _imported(path: Path, files: Mapping[str, Path]) -> set[str]:
    """Return the modules that a file imports, whether it names them or what is in them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found & set(files)


def _reached(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    left = [start]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left += new
    return found


def test_no_other_modules_import_each_other(repository: Path) -> None:
    found = circles(repository / "src" / "searchmark")
    assert [{m.removeprefix("searchmark.") for m in ring} for ring in found] == KNOWN_CIRCLES


def test_the_test_notices_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f():\n    from searchmark import b\n")
    (tmp_path / "b.py").write_text("if TYPE_CHECKING:\n    from searchmark.c import C\n")
    (tmp_path / "c.py").write_text("import searchmark.a\n")
    (tmp_path / "d.py").write_text("import searchmark.a\n")
    assert circles(tmp_path) == [{"searchmark.a", "searchmark.b", "searchmark.c"}]
