"""The page about the contract: its example runs and can fail, its tables name what there is."""

import os
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from searchmark import testing
from searchmark.testing import DIALECTS, Behaviour
from searchmark.testing.contract import CASES

PAGE = Path("docs") / "systems" / "contract.md"


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / PAGE).read_text(encoding="utf-8")


@pytest.fixture
def package(page: str, tmp_path: Path) -> Path:
    """Lay the page's files out, and beside them what its pyproject.toml would install."""
    for name, text in re.findall(r"```\w+\n# (\S+)\n(.*?)```", page, re.DOTALL):
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    (tmp_path / "shelf.py").unlink()
    with ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    return tmp_path


def run_tests(
    package: Path, *arguments: str, file: str = "test_shelf.py"
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        [*command, file],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_documented_kind_passes(package: Path) -> None:
    done = run_tests(package)
    assert done.returncode == 0, done.stdout + done.stderr
    n = len(CASES) - len([c for c in CASES if c.needs in ("number_ids", "too_many_date")])
    assert f"{n} passed" in done.stdout


def test_the_documented_test_can_fail(package: Path) -> None:
    text = (package / "shelf.py").read_text(encoding="utf-8")
    broken = text.replace("response.status != 200", "response.status == 403")
    assert broken != text
    (package / "shelf.py").write_text(broken, encoding="utf-8")
    done = run_tests(package, "-k", "is_a_failure and (error_500 or forbidden or not_found)")
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "nothing that failed may look like an answer" in done.stdout


def test_the_documented_subject_of_a_function_passes(package: Path) -> None:
    done = run_tests(package, file="test_function.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 30  # type: ignore[index]


@pytest.mark.parametrize(
    ("right", "wrong", "case", "told"),
    [
        # as the page says: other scores are noticed, and so is a board in the project's folder
        (
            "Hit(row.id, row.score)",
            "Hit(row.id, row.score / 2)",
            "keeps_the_order",
            "AssertionError",
        ),
        (
            "text = E",
            "self.board = Noticeboard(folder); text = E",
            "run_keeps",
            "FileNotFoundError",
        ),
    ],
)
def test_what_the_page_warns_of_is_so(
    package: Path, right: str, wrong: str, case: str, told: str
) -> None:
    file = package / "test_function.py"
    text = file.read_text(encoding="utf-8")
    assert text.count(right) == 1
    file.write_text(text.replace(right, wrong), encoding="utf-8")
    done = run_tests(package, "-k", case, file=file.name)
    assert done.returncode == 1, done.stdout + done.stderr
    assert told in done.stdout


def first_cells(page: str, heading: str) -> set[str]:
    section = re.split(r"^## ", page, flags=re.MULTILINE)
    text = next(part for part in section if part.startswith(heading + "\n"))
    rows = re.findall(r"^\| ([^|]*`[^|]*) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_every_behaviour_case_and_dialect_is_told(page: str) -> None:
    assert first_cells(page, "Behaviours") == {str(b) for b in Behaviour}
    assert first_cells(page, "Cases") == {case.name.partition("[")[0] for case in CASES}
    assert first_cells(page, "An engine in your own form") == set(DIALECTS)


def test_every_public_name_of_the_kit_is_there() -> None:
    for name in testing.__all__:
        assert getattr(testing, name) is not None
    assert sorted(testing.__all__) == sorted(testing._LAZY)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = testing.nonsense  # type: ignore[attr-defined]


def test_the_kit_never_imports_pytest_and_its_server_nothing_heavy() -> None:
    code = (
        "import sys, searchmark.testing.{}; "
        "print(sorted({{'pytest', 'numpy', 'polars', 'msgspec'}} & set(sys.modules)))"
    )
    told = {
        name: subprocess.run(
            [sys.executable, "-c", code.format(name)], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("contract", "serving", "noticeboard")
    }
    assert told["serving"] == told["noticeboard"] == "[]"
    assert "pytest" not in told["contract"] and "polars" in told["contract"]
