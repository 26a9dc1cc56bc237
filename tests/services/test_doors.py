"""One search through two doors, Python and HTTP: the same rankings, the same scores.

The HTTP door is the real service, asked by the kind `http` with the preset `searchmark`, in pages
as small as PAGE, so that most rankings are put together out of several.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from searchmark.experiments.experiment import Experiment, run_experiment
from searchmark.project import read_project

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("onnxruntime")

PAGE = 30

Start = Callable[..., AbstractContextManager[str]]
Doors = tuple[Experiment, Experiment]


def head_of(text: str) -> str:
    """Return what a project file says before its systems: the data and the measures."""
    return text.split("[systems")[0]


def by_http(text: str, addresses: Mapping[str, str]) -> str:
    """Return a project file whose systems are all asked over HTTP."""
    tables = [
        f'[systems.{name}]\nuse = "http"\npreset = "searchmark"\nbase = "{address}"\n'
        f"page_size = {PAGE}\ntimeout_s = 120\n"
        for name, address in addresses.items()
    ]
    return head_of(text) + "\n".join(tables)


def through_both(folder: Path, systems: list[str], start: Start) -> Doors:
    """Evaluate systems of a project through Python, and services of them through HTTP."""
    inside = run_experiment(read_project(folder), systems, sensitivity=False)
    with ExitStack() as stack:
        addresses = {name: stack.enter_context(start(folder, name)) for name in systems}
        text = (folder / "searchmark.toml").read_text(encoding="utf-8")
        (folder / "http.toml").write_text(by_http(text, addresses), encoding="utf-8")
        outside = run_experiment(read_project(folder / "http.toml"), sensitivity=False)
    return inside, outside


def copied(example: Path, folder: Path) -> Path:
    """Copy an example's project file; its data stay where they are."""
    text = (example / "searchmark.toml").read_text(encoding="utf-8")
    for key in ("corpus", "queries", "qrels"):
        given = re.search(rf'^{key} = "(.+)"$', text, re.MULTILINE)
        assert given is not None
        text = text.replace(given[1], (example / given[1]).resolve().as_posix())
    (folder / "searchmark.toml").write_text(text, encoding="utf-8")
    return folder


PUBLISHED = ["bm25-only", "dense-only", "fused"]
DEMO = ["keyword", "dense", "hybrid"]

PROJECTS = {
    "x402-catalog": ("examples/x402-catalog", PUBLISHED),
    "demo": ("src/searchmark/demo", DEMO),
    "x402-postgres": ("examples/x402-postgres", PUBLISHED),
    "demo-postgres": ("examples/demo-postgres", [f"{name}-postgres" for name in DEMO]),
}
"""What is tried -> where its project file lies, and which of its systems are asked."""


@pytest.fixture(scope="module", params=PROJECTS)
def doors(
    request: pytest.FixtureRequest,
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
    start_service: Start,
) -> Iterator[Doors]:
    where, systems = PROJECTS[request.param]
    if request.param.startswith("x402"):
        request.getfixturevalue("shared")  # whose data it searches
    folder = copied(repository / where, tmp_path_factory.mktemp(request.param))
    with pytest.MonkeyPatch.context() as environment:
        if request.param.endswith("postgres"):
            server = request.getfixturevalue("postgres_server")
            environment.setenv("DATABASE_URL", server.dsn)
        yield through_both(folder, systems, start_service)


def test_every_query_has_the_same_ranking_and_scores(doors: Doors) -> None:
    n_paged, names = 0, set()
    for inside, outside in zip(doors[0].outcomes, doors[1].outcomes, strict=True):
        assert inside.system == outside.system
        names.add(inside.system)
        assert len(inside.calls) == len(doors[0].inputs.queries)
        for here, there in zip(inside.calls, outside.calls, strict=True):
            assert (here.query_id, here.status) == (there.query_id, there.status)
            assert here.doc_ids == there.doc_ids
            assert here.scores == there.scores  # JSON keeps doubles whole
            assert not there.partial
            n_paged += len(there.doc_ids) > PAGE
    assert len(names) == 3  # by words, by meaning, both
    # where the catalog is larger than a page, rankings are too
    assert (n_paged > 0) == (len(doors[0].inputs.corpus) > PAGE)


def test_every_measure_has_the_same_value(doors: Doors) -> None:
    for inside, outside in zip(doors[0].outcomes, doors[1].outcomes, strict=True):
        assert inside.scores.per_query == outside.scores.per_query
        assert inside.scores.means == outside.scores.means
        assert inside.scores.by_category == outside.scores.by_category
        assert any(value for value in outside.scores.per_query["nDCG@10"].values())
