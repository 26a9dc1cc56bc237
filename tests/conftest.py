"""Fixtures every kind of test may use."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy machine")  # how fast examples are made says nothing of the program

pytest_plugins = ["pytester"]  # the plugin's tests run pytest inside pytest

REPOSITORY = Path(__file__).resolve().parents[1]
REQUIRE_ALL = os.environ.get("SEARCHMARK_REQUIRE_ALL") == "1"
NO_COLLECTIONS = "the test collections (folder 'shared' beside the repository) are not here"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where everything that can be installed has to be there."""
    report = yield
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr)
        if NO_COLLECTIONS not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped under SEARCHMARK_REQUIRE_ALL=1: {reason}"
    return report


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the real test collections, beside the repository."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(NO_COLLECTIONS)
    return folder


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY
