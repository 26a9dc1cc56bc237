"""What loads when: the heavy libraries only where they are used."""

import subprocess
import sys
from pathlib import Path

import pytest

from searchmark.cli.main import COMMANDS

HEAVY = (
    "numpy",
    "polars",
    "scipy",
    "pandas",
    "pyarrow",
    "onnxruntime",
    "onnx",
    "tokenizers",
    "altair",
    "flask",
    "starlette",
    "httpx",
    "requests",
    "rich",
    "msgspec",
)


def modules(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines())


def loaded(code: str) -> set[str]:
    return {name.split(".")[0] for name in modules(code)}


@pytest.mark.parametrize(
    "code",
    [
        "import searchmark",
        "import searchmark; searchmark.SearchmarkError",
        "from searchmark.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from searchmark.cli.main import main\ntry: main(['--version'])\nexcept SystemExit: pass",
    ],
)
def test_the_package_and_help_load_nothing_heavy(code: str) -> None:
    assert loaded(code) & set(HEAVY) == set()


def test_the_budget_test_sees_what_is_loaded() -> None:
    assert "numpy" in loaded("import searchmark.measures.view")


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_help_of_a_command_loads_nothing_heavy(command: str) -> None:
    code = (
        "from searchmark.cli.main import main\n"
        f"try: main([{command!r}, '--help'])\nexcept SystemExit: pass"
    )
    assert loaded(code) & set(HEAVY) == set()


def test_evaluating_plain_files_loads_numpy_and_little_else(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("q1 0 a 1\nq1 0 b 2\nq2 0 a 1\n")
    run.write_text("q1 Q0 a 1 2.5 t\nq1 Q0 b 2 2.5 t\nq2 Q0 b 1 1 t\nq2 Q0 a 2 0.5 t\n")
    found = modules(
        "from searchmark.cli.main import main\n"
        f"try: main(['eval', {str(qrels)!r}, {str(run)!r}])\nexcept SystemExit: pass"
    )
    assert "searchmark.measures.ties" in found  # there are ties and intervals to compute
    assert "searchmark.stats.convolution" in found
    slow = {"numpy.random", "numpy.ma", "statistics", "html", "csv", "zstandard"}
    assert found & {*HEAVY, *slow} == {"numpy", "rich"}
