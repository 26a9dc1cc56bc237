"""The PostgreSQL example: its rankings against a direct query, exact cosine, our own fusion."""

import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from searchmark.data import read_corpus, read_queries
from searchmark.data.corpus import Corpus
from searchmark.experiments.experiment import run_experiment
from searchmark.project import read_project
from searchmark.project.file import Project
from searchmark.retrieval.fusion import reciprocal_rank_fusion
from searchmark.retrieval.ordering import priority, top
from searchmark.systems.dense import DENSE
from searchmark.systems.dense import Config as DenseConfig
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry, Hit, Query

K = 50


@pytest.fixture(scope="module")
def project(postgres_server: Any, cranfield_part: Path, repository: Path) -> Iterator[Project]:
    """The example beside its data, its table filled by its own script."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DATABASE_URL", postgres_server.dsn)
        folder = shutil.copytree(repository / "examples" / "postgres", cranfield_part / "postgres")
        environment.setattr(sys, "argv", ["seed.py"])
        runpy.run_path(str(folder / "seed.py"), run_name="__main__")
        yield read_project(folder)
    with postgres_server.connect() as connection:
        connection.execute("DROP TABLE searchmark_example")


@pytest.fixture(scope="module")
def corpus(project: Project) -> Corpus:
    return read_corpus(project.corpus)


@pytest.fixture(scope="module")
def pool(project: Project, corpus: Corpus) -> Iterator[Pool]:
    exact = Entry("exact", "dense", DenseConfig(), DENSE.calls)
    entries = {**project.systems, "exact": exact}
    cache = project.folder / "cache"
    with Pool(entries, corpus, folder=project.folder, cache=cache) as opened:
        yield opened


@pytest.fixture(scope="module")
def queries(project: Project) -> list[Query]:
    read = read_queries(project.queries)
    return [Query(*pair) for pair in zip(read.query_ids, read.texts, strict=True)]


@pytest.fixture(scope="module")
def direct(postgres_server: Any) -> Iterator[psycopg.Connection]:
    with postgres_server.connect() as connection:
        yield connection


def ask(pool: Pool, system: str, query: Query, k: int = K) -> tuple[Hit, ...]:
    return pool.open(system).search(query, k).hits


def test_full_text_gives_what_a_direct_query_gives(
    pool: Pool, project: Project, queries: list[Query], direct: psycopg.Connection
) -> None:
    sql = (project.folder / "fulltext.sql").read_bytes()
    for query in queries:
        rows = direct.execute(sql, {"query": query.text, "k": K}).fetchall()
        assert [(hit.doc_id, hit.score) for hit in ask(pool, "fulltext", query)] == [
            (doc_id, pytest.approx(score)) for doc_id, score in rows
        ]
        assert len(rows) > 10


def test_vectors_give_the_exact_cosine(pool: Pool, queries: list[Query]) -> None:
    for query in queries:
        expected, answer = ask(pool, "exact", query), ask(pool, "vector", query)
        assert len(answer) == K
        scores = [hit.score for hit in expected]
        assert [hit.score for hit in answer] == pytest.approx(scores, abs=2e-6)
        exact = {hit.doc_id: hit.score or 0.0 for hit in expected}
        in_order = [exact.get(hit.doc_id, min(exact.values())) for hit in answer]
        # only documents whose exact cosines differ by less than that may swap places
        assert all(after - before < 2e-6 for before, after in pairwise(in_order))


def test_the_hybrid_is_our_fusion_of_the_two(
    pool: Pool, corpus: Corpus, queries: list[Query]
) -> None:
    row = {doc_id: i for i, doc_id in enumerate(corpus.doc_ids)}
    order = priority(corpus.doc_ids)
    for query in queries:
        arms = [
            np.array([row[hit.doc_id] for hit in ask(pool, name, query, 100)])
            for name in ("fulltext", "vector")
        ]
        fused = top(reciprocal_rank_fusion(arms), order, K)
        expected = [
            (corpus.doc_ids[i], s) for i, s in zip(fused.rows, fused.scores.tolist(), strict=True)
        ]
        assert [(hit.doc_id, hit.score) for hit in ask(pool, "hybrid", query)] == expected


def test_the_example_runs_without_an_error(project: Project, postgres_server: Any) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("searchmark"), "run"],
        cwd=project.folder,
        env={**os.environ, "DATABASE_URL": postgres_server.dsn},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    calls = [pl.read_parquet(p) for p in project.folder.glob(".searchmark/runs/*/calls.parquet")]
    assert [call["status"].to_list() for call in calls] == [["ok"] * 30] * 3


def test_tables_of_others_and_a_table_that_is_there_are_left_alone(
    own_database: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", own_database)
    seed = runpy.run_path(str(repository / "examples" / "postgres" / "seed.py"))["main"]
    with psycopg.connect(own_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE documents AS SELECT 1 AS mine")
        seed([])
        connection.execute("UPDATE searchmark_example SET title = 'changed'")
        with pytest.raises(SystemExit, match="there is a table searchmark_example already"):
            seed([])
        changed = connection.execute("SELECT DISTINCT title FROM searchmark_example").fetchall()
        assert changed == [("changed",)]
        seed(["--replace"])
        titles = connection.execute("SELECT DISTINCT title FROM searchmark_example").fetchall()
        assert len(titles) == 24
        assert connection.execute("SELECT mine FROM documents").fetchall() == [(1,)]


def test_the_example_runs_with_the_data_of_the_repository(
    own_database: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", own_database)
    shutil.copytree(repository / "examples" / "data", tmp_path / "data")
    folder = shutil.copytree(repository / "examples" / "postgres", tmp_path / "postgres")
    runpy.run_path(str(folder / "seed.py"))["main"]([])
    ran = run_experiment(read_project(folder), sensitivity=False)
    ran.check()
    first = {o.system: {c.query_id: c.doc_ids[:1] for c in o.calls} for o in ran.outcomes}
    assert {found["q1"][0] for found in first.values()} == {"puncture"}
    assert first["fulltext"]["q9"] == ["radiator"]  # the only document with "cold"


@pytest.fixture
def own_database(postgres_server: Any) -> Iterator[str]:
    """A database beside the one that other tests search."""
    with postgres_server.connect() as connection:
        connection.execute("CREATE DATABASE example_of_its_own")
        yield make_conninfo(postgres_server.dsn, dbname="example_of_its_own")
        connection.execute("DROP DATABASE example_of_its_own WITH (FORCE)")
