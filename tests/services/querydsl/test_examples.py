"""The examples of both engines, as they are in the repository, on a part of Cranfield."""

import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from searchmark.errors import SystemFailedError
from searchmark.experiments.experiment import run_experiment
from searchmark.project import read_project
from searchmark.retrieval.encoders import load_encoder
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Query

from ..example_pages import as_it_is, called, check
from .conftest import NOBODY, Data, Recorder

DEPTH, N_QUERIES = 30, 8  # the stand-ins take their time
PARTS = ("lexical", "vector", "hybrid")


@pytest.fixture
def example(
    cranfield_part: Path, repository: Path, data: Data, request: pytest.FixtureRequest
) -> Path:
    source = repository / "examples" / request.param
    folder = shutil.copytree(source, cranfield_part / request.param, dirs_exist_ok=True)
    project = folder / "searchmark.toml"
    text = project.read_text()
    assert (text.count("depth = 10\n"), text.count("../data/queries.jsonl")) == (1, 1)
    text = text.replace("depth = 10\n", f"depth = {DEPTH}\n")
    project.write_text(text.replace("../data/queries.jsonl", "queries.jsonl"))
    queries = data.queries[:N_QUERIES]
    (folder / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
    return folder


def seed(folder: Path, data: Data, *more: str) -> None:
    main = runpy.run_path(str(folder / "seed.py"))["main"]
    main(["--corpus", str(data.folder / "corpus.jsonl"), "--replace", *more])


@pytest.mark.parametrize("example", ["elasticsearch"], indirect=True)
def test_elasticsearch_by_words_by_vectors_and_by_both(
    example: Path, elasticsearch_url: str, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("elasticsearch")
    monkeypatch.setenv("ELASTICSEARCH_URL", elasticsearch_url)
    seed(example, data)
    ran = run_experiment(read_project(example), sensitivity=False)
    ran.check()
    values = {s.system: s.means[0].value for s in ran.evaluation.systems}
    assert tuple(values) == PARTS
    assert all(value is not None and value > 0.3 for value in values.values()), values
    found = {o.system: {c.query_id: set(c.doc_ids) for c in o.calls} for o in ran.outcomes}
    assert all(len(calls) == N_QUERIES for calls in found.values())
    for query_id, ids in found["hybrid"].items():
        assert ids <= found["lexical"][query_id] | found["vector"][query_id]
        assert len(ids) == DEPTH


@pytest.mark.parametrize("example", ["opensearch"], indirect=True)
def test_opensearch_by_words(
    example: Path, opensearch_url: str, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opensearchpy")
    monkeypatch.setenv("OPENSEARCH_URL", opensearch_url)
    seed(example, data, "--words-only")
    ran = run_experiment(read_project(example), ["lexical"], sensitivity=False)
    ran.check()
    (value,) = [s.means[0].value for s in ran.evaluation.systems]
    assert value is not None
    assert value > 0.3
    with (
        Pool(read_project(example).systems, NOBODY, folder=example, cache=example) as pool,
        pytest.raises(SystemFailedError, match="searchmark-hybrid"),
    ):
        pool.open("hybrid").search(Query("q", "heated wing"), 5)


@pytest.mark.parametrize("example", ["opensearch"], indirect=True)
def test_opensearch_by_vectors_and_by_both_is_sent_as_written(
    example: Path, recorder: Recorder, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opensearchpy")
    monkeypatch.setenv("OPENSEARCH_URL", recorder.url)
    recorder.answer({"hits": {"hits": []}})
    with Pool(read_project(example).systems, NOBODY, folder=example, cache=example) as pool:
        for part in PARTS[1:]:
            pool.open(part).search(Query("q", 'heated "wing"'), DEPTH)
    vector, hybrid = recorder.requests
    near: dict[str, Any] = vector.json["query"]["knn"]
    assert near["vector"]["k"] == vector.json["size"] == DEPTH
    assert len(near["vector"]["vector"]) == 384
    assert hybrid.path == "/searchmark-example/_search?search_pipeline=searchmark-hybrid"
    words, also_near = hybrid.json["query"]["hybrid"]["queries"]
    assert words["multi_match"]["query"] == 'heated "wing"'
    assert also_near == {"knn": near}
    recorder.answer({"acknowledged": True, "errors": False, "items": []})
    runpy.run_path(str(example / "seed.py"))["main"]([])
    assert [(r.method, r.path) for r in recorder.requests] == [
        ("PUT", "/_search/pipeline/searchmark-hybrid"),
        ("PUT", "/searchmark-example"),
        ("POST", "/_bulk?refresh=true"),
    ]
    _, document, *_ = recorder.requests[2].lines
    assert document["vector"] == pytest.approx(
        load_encoder().encode([f"{document['title']} {document['text']}"])[0].tolist(), abs=1e-6
    )
    index = json.loads((example / "index.json").read_text())
    assert recorder.requests[1].json == index
    assert index["mappings"]["properties"]["vector"]["dimension"] == 384


@pytest.mark.parametrize(
    ("name", "engine", "systems", "options"),
    [
        ("opensearch", "opensearch_url", ["lexical"], ["--words-only"]),
        ("elasticsearch", "elasticsearch_url", list(PARTS), []),
    ],
)
def test_an_example_runs_with_the_data_of_the_repository(
    name: str,
    engine: str,
    systems: list[str],
    options: list[str],
    repository: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(f"{name.upper()}_URL", request.getfixturevalue(engine))
    folder = as_it_is(repository, name, tmp_path)
    main = runpy.run_path(str(folder / "seed.py"))["main"]
    main([*options, "--replace"])
    asked = ["--system", systems[0]] if options else []
    explained = called(
        folder, "explain", "--system", "lexical", "--query", "q1", "--doc", "puncture"
    )
    check(folder, f"{called(folder, 'run', *asked)}\n{explained}", n=2)
    ran = run_experiment(read_project(folder), systems, sensitivity=False)
    ran.check()
    for outcome in ran.outcomes:
        assert [c.doc_ids[0] for c in outcome.calls if c.query_id == "q1"] == ["puncture"]
    with pytest.raises(SystemExit, match="there is an index searchmark-example already"):
        main(options)


def test_an_engine_without_pipelines_is_told_with_the_way_out(
    opensearch_url: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opensearchpy")
    monkeypatch.setenv("OPENSEARCH_URL", opensearch_url)
    main = runpy.run_path(str(repository / "examples" / "opensearch" / "seed.py"))["main"]
    with pytest.raises(SystemExit, match=r"searchmark-hybrid cannot be made: .* say --words-only$"):
        main([])


def test_a_refusal_is_told_in_a_sentence(
    recorder: Recorder, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opensearchpy")
    monkeypatch.setenv("OPENSEARCH_URL", recorder.url)
    recorder.answer({"error": {"type": "security_exception"}}, status=403)
    main = runpy.run_path(str(repository / "examples" / "opensearch" / "seed.py"))["main"]
    with pytest.raises(SystemExit, match="the engine refuses: status 403, security_exception"):
        main([])
