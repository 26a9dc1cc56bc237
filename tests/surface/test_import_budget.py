"""What loads when: the heavy libraries only where they are used."""

import subprocess
import sys

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


def loaded(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in done.stderr.splitlines()}


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
