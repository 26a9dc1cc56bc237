"""The catalog in PostgreSQL against the index in memory: the same documents, scores and order."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from searchmark.data import read_corpus, read_queries
from searchmark.data.filters import Filter
from searchmark.experiments.experiment import Experiment, run_experiment
from searchmark.project import read_project
from searchmark.retrieval.catalogs import Mode
from searchmark.retrieval.encoders import load_encoder
from searchmark.retrieval.layout import Layout
from searchmark.systems.catalog_postgres import layout_of
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Query

from .conftest import assert_equal

MODES = get_args(Mode)

PUBLISHED = {
    # baseline.json of 0d1026/Rialto, packages/eval-harness, 2026-08-12
    "bm25-only": (0.44180861027398816, 0.3333333333333333, 0.43333333333333335),
    "dense-only": (0.980653982759791, 0.8666666666666667, 1.0),
    "fused": (0.980653982759791, 0.8666666666666667, 1.0),
}


@pytest.fixture(scope="module")
def x402(
    postgres_server: Any, shared: Path, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The example, with the catalog in memory beside it."""
    folder = tmp_path_factory.mktemp("x402")
    texts = [
        (repository / "examples" / name / "searchmark.toml").read_text(encoding="utf-8")
        for name in ("x402-postgres", "x402-catalog")
    ]
    memory = texts[1][texts[1].index("[systems.bm25-only]") : texts[1].index("[gate]")]
    for name in PUBLISHED:
        memory = memory.replace(f"systems.{name}", f"systems.memory-{name}")
        memory = memory.replace(f'"{name}"', f'"memory-{name}"')
    data = (shared / "data" / "x402-catalog").as_posix()
    both = f"{texts[0]}\n{memory}".replace("../../../shared/data/x402-catalog", data)
    (folder / "searchmark.toml").write_text(both, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def experiment(postgres_server: Any, x402: Path) -> Experiment:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DATABASE_URL", postgres_server.dsn)
        return run_experiment(read_project(x402))


@pytest.mark.parametrize("system", PUBLISHED)
def test_the_published_figures_come_out_on_postgres(experiment: Experiment, system: str) -> None:
    scores = next(s for s in experiment.evaluation.systems if s.system == system)
    assert [m.value for m in scores.means] == pytest.approx(PUBLISHED[system], abs=1e-12)


@pytest.mark.parametrize(
    "folder", ["x402", "examples/demo-postgres"], ids=["x402-catalog", "the demo"]
)
def test_every_ranking_is_that_of_the_built_in_systems(
    folder: str,
    x402: Path,
    repository: Path,
    postgres_server: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn)
    project = read_project(x402 if folder == "x402" else repository / folder)
    corpus, asked = read_corpus(project.corpus), read_queries(project.queries)
    pairs = [
        (name, f"memory-{name}" if folder == "x402" else name.removesuffix("-postgres"))
        for name, entry in project.systems.items()
        if entry.use == "catalog-postgres"
    ]
    assert len(pairs) == 3
    with Pool(project.systems, corpus, folder=project.folder, cache=tmp_path) as pool:
        for server, memory in pairs:
            for query_id, text in zip(asked.query_ids, asked.texts, strict=True):
                query = Query(query_id, text)
                found = pool.open(server).search(query, 100).hits
                assert found == pool.open(memory).search(query, 100).hits, (server, text)


@pytest.mark.parametrize("mode", MODES)
def test_the_two_catalogs_are_equal_on_the_demo(
    mode: Mode, both: Callable[..., Any], repository: Path
) -> None:
    project = read_project(repository / "examples" / "demo-postgres")
    config: Any = project.systems["hybrid-postgres"].config
    pair = both(read_corpus(project.corpus), layout_of(config), load_encoder())
    for i, text in enumerate(read_queries(project.queries).texts):
        assert_equal(pair, text, *((20, 0) if i % 2 else (3, 4)), mode=mode)


WORDS = (
    "rain,snow,city,forecasts,v2s,web2apps,mp3,12e4th,2x,1.5,low-cost,00e51e,naïve,東京,"
    "or,the,not,½,x"
)


TIMES = [
    "2025-10-02T08:15:00Z",
    "2025-10-02T08:15:00.5Z",
    "2025-10-02T10:15:00+02:00",
    "2025-10-02T09:15:00+05:00",
    "2025-10-02",
    "2025-11-02T08:15:00Z",
    "9999-12-31T23:59:59Z",
    "",
    None,
]


def documents(n: int, seed: int) -> str:
    """Return lines of documents with few different words: many ties, long and empty fields."""
    chance, words = random.Random(seed), WORDS.split(",")
    lines = []
    for i in range(n):
        document = {
            "_id": f"d{i:03}",
            "serviceName": " ".join(chance.choices(words, k=chance.choice([0, 1, 3]))),
            "tags": chance.choices(words, k=chance.choice([0, 2])) or None,
            "description": " ".join(chance.choices(words, k=chance.choice([0, 4, 9, 700]))),
            "resource": f"https://{chance.choice(words)}.example/v1",
            "network": chance.choice(["base", "Solana", "ÉTÉ", None]),
            "amount": chance.choice([1, 2.5, 1000000, None]),
            "price": chance.choice(["1", "2.50", " 7 ", "cheap", None]),
            "chains": chance.choice([["base", "eth"], ["ETH"], [], None]),
            "free": chance.choice([True, False, None]),
            "settlement_count": chance.choice([0, 3, 40, None]),
            "last_updated": chance.choice(TIMES),
        }
        lines.append(json.dumps(document))
    return "\n".join(lines)


LAYOUT = Layout(substring=("serviceName", "resource"), relax=True)

QUERIES = [
    "rain",
    "Rain rain SNOW",
    "rain or snow",
    'rain -snow "city forecast"',
    "rain & snow | !city <-> forecast:*",
    "forecasting cities",
    "v2",
    "mp3s low cost",
    "web2app",
    "1.5",
    "00e51e",
    "12e4th rain",
    "snow city 2x forecasts 12e4th",
    "½",
    "naive",
    "NAI\u0308VE",
    "東京",
    "tokyo 東京",
    "the",
    "or",
    "",
    "   ",
    "'; DROP TABLE document; --",
    "rain\0snow",
    "\0",
    "\ud800 rain",
    "%s %(query)s %",
    "://",
    "example/v1",
    "SNOW.example",
    "a" * 3000,
    "\\' \\\\",
    "unknownword",
    "rain unknownword",
]


@pytest.mark.parametrize("mode", MODES)
def test_whatever_is_asked_is_answered_alike(
    mode: Mode, both: Callable[..., Any], encoder: Any
) -> None:
    pair = both(documents(300, 1), LAYOUT, encoder)
    for text in QUERIES:
        assert_equal(pair, text, 300, mode=mode)
        assert_equal(pair, text, 7, 3, mode=mode)


def test_a_hundred_kilobytes_are_answered_alike(both: Callable[..., Any], encoder: Any) -> None:
    pair = both(documents(60, 2), LAYOUT, encoder)
    many = " ".join(f"word{i} rain" for i in range(8000))
    assert len(many) > 100_000
    for text in (many, "rain " * 20_000, "x" * 100_000, '"' * 100_000, "-rain " * 17_000):
        assert_equal(pair, text, mode="bm25")
        assert_equal(pair, text)


FILTERS = [
    Filter("network", "=", "BASE"),
    Filter("network", "=", "solana"),
    Filter("network", "=", "été"),
    Filter("network", "=", "nowhere"),
    Filter("amount", "=", 1),
    Filter("amount", "=", "2.50"),
    Filter("amount", "=", "many"),
    Filter("amount", "<=", 2.5),
    Filter("amount", ">", "2.5"),
    Filter("price", "=", "1"),
    Filter("price", "=", 1),
    Filter("price", "=", "2.5"),
    Filter("price", "=", 2.5),
    Filter("price", "<", 7),
    Filter("price", ">=", 7),
    Filter("chains", "=", "eth"),
    Filter("free", "=", True),
    Filter("free", "=", "false"),
    Filter("free", "=", 1),
    Filter("settlement_count", ">", 3),
    Filter("settlement_count", "=", "40"),
    Filter("settlement_count", "<=", 5),
    Filter("settlement_count", "=", 0),
    Filter("last_updated", "=", "2025-10-02t08:15:00z"),
    Filter("last_updated", "=", "2025-11-02T08:15:00Z"),
    Filter("doc_id", "=", "D011"),
    Filter("doc_id", "=", "nobody"),
    Filter("network", "=", "\0"),
]


@pytest.mark.parametrize("mode", MODES)
def test_hard_filters_are_the_same(mode: Mode, both: Callable[..., Any], encoder: Any) -> None:
    pair = both(documents(300, 3), LAYOUT, encoder)
    for wanted in FILTERS:
        assert_equal(pair, "rain", 300, mode=mode, filters=(wanted,))
    assert_equal(pair, "rain", 300, mode=mode, filters=(FILTERS[0], FILTERS[7], FILTERS[17]))
    memory, server = pair
    for wanted in FILTERS:
        pages = [c.browse((wanted,), 50, "d010") for c in (memory, server)]
        assert [f.doc_id for f in pages[0].found] == [f.doc_id for f in pages[1].found]
        assert pages[0].total == pages[1].total


def test_browsing_gives_every_document_once(both: Callable[..., Any], encoder: Any) -> None:
    for catalog in both(documents(25, 4), LAYOUT, encoder):
        seen: list[str] = []
        while page := catalog.browse((), 10, seen[-1] if seen else None).found:
            seen += [found.doc_id for found in page]
        assert seen == [f"d{i:03}" for i in range(25)]
        assert catalog.browse((), 10, "\ud800\0").found is not None
