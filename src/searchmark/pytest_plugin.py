"""The pytest plugin: the fixture ``searchmark`` asserts on a project's gate or on one measure.

::

    def test_search(searchmark):
        assert searchmark.gate().passed

    def test_ranking(searchmark):
        assert searchmark.mean("nDCG@10") >= 0.7
        assert searchmark.mean("RR", system="keyword", category="typo").low > 0.5
        assert searchmark.values("R@20")["q17"] == 1.0

    @pytest.mark.searchmark(project="catalogs/shoes")
    def test_shoes(searchmark): ...

The project is, first come first served: what the mark names (seen from pytest's rootdir), what
``--searchmark-project`` names (seen from where pytest is called), what ``searchmark_project`` in
pytest's ini file names (seen from that file), and the rootdir itself.

A system is run when a test first asks for it and once a pytest session; all tests share its
answers. With pytest-xdist every worker runs it, one after the other. Whatever keeps a number from
being given (no baseline, other inputs than the baseline's, a system that fails, an unknown name)
fails the test with one sentence. Partial answers and failed queries within the limits of the run
are a warning (`searchmark.pytest_fixture.CaveatWarning`), and stand in the message of an assertion
that fails. Nothing is imported until a test uses the fixture.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from searchmark.experiments.session import Session
    from searchmark.pytest_fixture import Searchmark

OPTION = "searchmark_project"
FILE_NAME = "searchmark.toml"

_SESSIONS = pytest.StashKey[dict[Path, "Session"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two ways to say where the project is."""
    group = parser.getgroup("searchmark", "search evaluation")
    group.addoption(
        "--searchmark-project",
        dest=OPTION,
        metavar="PATH",
        help="Project of the 'searchmark' fixture: a folder or a project file.",
    )
    parser.addini(
        OPTION,
        "Project of the 'searchmark' fixture, seen from this file (default: pytest's rootdir).",
        default="",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line(
        "markers", "searchmark(project): the project of the 'searchmark' fixture in this test."
    )


@pytest.fixture
def searchmark(request: pytest.FixtureRequest) -> "Searchmark":
    """Give the Searchmark project: its gate() and its measures, to assert on."""
    from searchmark.pytest_fixture import Searchmark, told_in_a_sentence

    with told_in_a_sentence():
        path = _project_path(request)
        return Searchmark(path, _session(path, request.config), request.node)


def _project_path(request: pytest.FixtureRequest) -> Path:
    """Return the project that this test is about."""
    from searchmark.errors import InputError

    config = request.config
    mark = request.node.get_closest_marker("searchmark")
    if mark is not None:
        return _marked(mark, config.rootpath)
    if config.getoption(OPTION):
        return config.invocation_params.dir / str(config.getoption(OPTION))
    if config.getini(OPTION):
        here = config.rootpath if config.inipath is None else config.inipath.parent
        return here / str(config.getini(OPTION))
    if not (config.rootpath / FILE_NAME).is_file():
        raise InputError(
            f"no {FILE_NAME} here, and nothing says where the project is",
            path=config.rootpath,
            fix=f"set {OPTION} in pytest's ini file, or give --searchmark-project PATH",
        )
    return config.rootpath


def _marked(mark: pytest.Mark, folder: Path) -> Path:
    from searchmark.errors import InputError

    project = mark.kwargs.get("project")
    if mark.args or set(mark.kwargs) != {"project"} or not isinstance(project, str | Path):
        raise InputError("the mark 'searchmark' takes one path", fix='write project="PATH"')
    return folder / project


def _session(path: Path, config: pytest.Config) -> "Session":
    """Return what is known of a project so far in this run of pytest."""
    sessions = config.stash.setdefault(_SESSIONS, {})
    where = Path(os.path.realpath(path))
    if where not in sessions:
        from searchmark.experiments.session import Session
        from searchmark.project import read_project

        sessions[where] = Session(read_project(path))
    return sessions[where]
