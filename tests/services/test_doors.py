"""One search through two doors, Python and HTTP: the same rankings, the same scores.

The HTTP door is the real service, asked by the kind `http` with the preset `searchmark`, in pages
as small as PAGE, so that most rankings are put together out of several.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from searchmark.demo import place
from searchmark.experiments.experiment import Experiment, run_experiment
from searchmark.project import read_project

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("onnxruntime")

PAGE = 30

Start = Callable[..., AbstractContextManager[str]]
Doors = tuple[Experiment, Experiment]


def by_http(text: str, addresses: Mapping[str, str]) -> str:
    """Return a project file whose systems are all asked over HTTP."""
    head = text.split("[systems")[0]
    tables = [
        f'[systems.{name}]\nuse = "http"\npreset = "searchmark"\nbase = "{address}"\n'
        f"page_size = {PAGE}\ntimeout_s = 120\n"
        for name, address in addresses.items()
    ]
    return head + "\n".join(tables)


def through_both(folder: Path, start: Start) -> Doors:
    """Evaluate a project through Python, and its systems through HTTP."""
    project = read_project(folder)
    inside = run_experiment(project, sensitivity=False)
    with ExitStack() as stack:
        addresses = {name: stack.enter_context(start(folder, name)) for name in project.systems}
        text = (folder / "searchmark.toml").read_text(encoding="utf-8")
        (folder / "http.toml").write_text(by_http(text, addresses), encoding="utf-8")
        outside = run_experiment(read_project(folder / "http.toml"), sensitivity=False)
    return inside, outside


def copied(example: Path, shared: Path, folder: Path) -> Path:
    """Copy an example's project file, its data where they are."""
    text = (example / "searchmark.toml").read_text(encoding="utf-8")
    text = text.replace('"../../../shared/', f'"{shared}/')
    folder.mkdir()
    (folder / "searchmark.toml").write_text(text, encoding="utf-8")
    return folder


def embedded_x402(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    shared = repository.parent / "shared"
    folder = tmp_path_factory.mktemp("doors") / "x402"
    return copied(repository / "examples" / "x402-catalog", shared, folder)


def embedded_demo(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doors") / "demo"
    place(folder)
    return folder


EMBEDDED: dict[str, Callable[[Path, pytest.TempPathFactory], Path]] = {
    "x402-catalog": embedded_x402,
    "demo": embedded_demo,
}


@pytest.fixture(scope="module", params=EMBEDDED)
def doors(
    request: pytest.FixtureRequest,
    repository: Path,
    shared: Path,
    tmp_path_factory: pytest.TempPathFactory,
    start_service: Start,
) -> Doors:
    return through_both(EMBEDDED[request.param](repository, tmp_path_factory), start_service)


def test_every_query_has_the_same_ranking_and_scores(doors: Doors) -> None:
    n_paged = 0
    for inside, outside in zip(doors[0].outcomes, doors[1].outcomes, strict=True):
        assert inside.system == outside.system
        for here, there in zip(inside.calls, outside.calls, strict=True):
            assert (here.query_id, here.status) == (there.query_id, there.status)
            assert here.doc_ids == there.doc_ids
            assert here.scores == there.scores  # JSON keeps doubles whole
            assert not there.partial
            n_paged += len(there.doc_ids) > PAGE
    assert len(doors[0].outcomes) == 3
    # where the catalog is larger than a page, rankings are too
    assert (n_paged > 0) == (len(doors[0].inputs.corpus) > PAGE)


def test_every_measure_has_the_same_value(doors: Doors) -> None:
    for inside, outside in zip(doors[0].outcomes, doors[1].outcomes, strict=True):
        assert inside.scores.per_query == outside.scores.per_query
        assert inside.scores.means == outside.scores.means
        assert inside.scores.by_category == outside.scores.by_category
        assert any(value for value in outside.scores.per_query["nDCG@10"].values())
