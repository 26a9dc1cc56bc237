"""What several references share."""

from pathlib import Path

import pytest

from searchmark.project import Project, read_project


@pytest.fixture(scope="module")
def x402(shared: Path, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return the example project over the x402 catalog, in a folder of its own."""
    folder = tmp_path_factory.mktemp("x402")
    text = (repository / "examples" / "x402-catalog" / "searchmark.toml").read_text()
    data = (shared / "data" / "x402-catalog").as_posix()
    (folder / "searchmark.toml").write_text(
        text.replace("../../../shared/data/x402-catalog", data), encoding="utf-8"
    )
    return read_project(folder)
