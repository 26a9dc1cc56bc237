"""Names, commands, documents and files: what is promised is there, what must not be is not."""

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

import searchmark
from searchmark.cli.main import COMMANDS, cli
from searchmark.measures.table import MEASURES
from searchmark.systems import SYSTEMS

MAX_LINES = 400

# written in two halves so that this file does not find itself
FORBIDDEN = [
    "files.python" + "hosted",
    "pypi." + "org",
    "registry." + "npmjs",
    "deb." + "debian",
    "index-" + "url",
    "/ro" + "ot/",
    "/wo" + "rk/",
    "/ho" + "me/",
]


def tracked(repository: Path) -> list[Path]:
    done = subprocess.run(
        ["git", "-C", str(repository), "ls-files"], capture_output=True, text=True, check=True
    )
    return [repository / name for name in done.stdout.splitlines() if (repository / name).is_file()]


def test_every_public_name_is_there() -> None:
    for name in searchmark.__all__:
        assert getattr(searchmark, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = searchmark.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize("registry", [SYSTEMS, MEASURES], ids=["systems", "measures"])
def test_every_registered_name_loads(registry: object) -> None:
    for name in registry.names():  # type: ignore[attr-defined]
        assert registry.load(name) is not None  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_explains_itself(command: str) -> None:
    result = CliRunner().invoke(cli, [command, "--help"])
    assert result.exit_code == 0, result.output
    assert len(result.output.splitlines()) > 3


def test_every_command_is_in_the_readme(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert [c for c in COMMANDS if f"searchmark {c}" not in text] == []


def test_every_path_that_a_document_links_to_exists(repository: Path) -> None:
    broken = []
    for path in tracked(repository):
        if path.suffix != ".md":
            continue
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if not (path.parent / target).exists():
                broken.append(f"{path.relative_to(repository)} -> {target}")
    assert broken == []


def test_no_file_names_a_registry_host_or_a_path_of_some_machine(repository: Path) -> None:
    found = []
    for path in tracked(repository):
        text = path.read_text(encoding="utf-8", errors="ignore")
        found += [f"{path.relative_to(repository)}: {n}" for n in FORBIDDEN if n in text]
    assert found == []


def test_no_module_outgrows_its_noun(repository: Path) -> None:
    sizes = {
        p.relative_to(repository).as_posix(): len(p.read_text(encoding="utf-8").splitlines())
        for p in (repository / "src").rglob("*.py")
    }
    assert {name: n for name, n in sizes.items() if n > MAX_LINES} == {}


def test_the_layout_that_architecture_draws_is_the_layout(repository: Path) -> None:
    text = (repository / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {
        p.name
        for p in (repository / "src" / "searchmark").iterdir()
        if p.is_dir() and (p / "__init__.py").exists()
    }
    assert {room for room in rooms if room not in text} == set()
