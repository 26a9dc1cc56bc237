"""Fixtures every kind of test may use."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
REQUIRE_ALL = os.environ.get("SEARCHMARK_REQUIRE_ALL") == "1"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the real test collections, beside the repository."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip("the test collections (folder 'shared' beside the repository) are not here")
    return folder


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY
