"""The catalog in PostgreSQL with its model behind an endpoint: a process that is killed apart."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import pytest

pytest.importorskip("psycopg_pool")

from searchmark.errors import InputError, OutsideError, SystemFailedError
from searchmark.project import read_project
from searchmark.retrieval.postgres.connection import Database, scratch_schema
from searchmark.retrieval.postgres.queue import counts
from searchmark.systems import embedding
from searchmark.systems.pacing import Clock

from ..queue_catalog import until
from .endpoints import Embedder, answer, filled, opened, project


@pytest.fixture(autouse=True)
def environment(postgres_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn)
    at = [0.0]

    def wait(_: object, seconds: float) -> None:
        at[0] += seconds

    for module in ("embedding", "catalog_encoder"):
        clock = Clock(now=lambda: at[0], wait=wait)
        monkeypatch.setattr(f"searchmark.systems.{module}.CLOCK", clock)


def test_a_corpus_is_embedded_by_an_endpoint_and_kept(tmp_path: Path, embedder: Embedder) -> None:
    folder = project(tmp_path, embedder, 'mode = "dense"')
    with opened(folder) as system:
        ids, is_partial = answer(system, "price of gold")
        assert (ids[0], len(ids), is_partial) == ("gold", 3, False)
        assert system.identity["model"].startswith("hashed at http://127.0.0.1:")
    embedder.kill()
    # scratch schemas begin empty: without the endpoint nobody knows that it is the same model
    with pytest.raises(OutsideError, match="system 'catalog' has no embeddings"), opened(folder):
        pass
    embedder.start("another")
    told = "gives other vectors than those that are kept"
    with pytest.raises(InputError, match=told), opened(folder):
        pass


def test_an_endpoint_that_dies_while_it_embeds_stops_the_run_at_once(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, n_asked = embedding.ask_vectors, [0]

    def dying(*given: Any) -> Any:
        n_asked[0] += 1
        if n_asked[0] == 4:  # the probe, the check against the kept vectors, a batch of two
            embedder.kill()
        return ask(*given)

    monkeypatch.setattr(embedding, "ask_vectors", dying)
    told = "embedding the corpus stopped: .*what was embedded is kept"
    folder = project(tmp_path, embedder)
    with pytest.raises(OutsideError, match=told), opened(folder):
        pass
    # that batch and three times again, and no other text after it
    assert n_asked[0] == 4 + embedding.RETRIES


@pytest.mark.parametrize("mode", ["fused", "dense"])
def test_a_dead_endpoint_leaves_the_words_and_comes_back(
    mode: str, tmp_path: Path, embedder: Embedder
) -> None:
    with opened(project(tmp_path, embedder, f'mode = "{mode}"')) as system:
        whole = answer(system)
        assert whole[0][0] == "rain" and len(whole[0]) == 3 and not whole[1]
        embedder.kill()
        if mode == "dense":
            with pytest.raises(SystemFailedError, match="/v1/embeddings"):
                answer(system)
        else:
            assert answer(system) == (["rain"], True)
        embedder.start()
        assert answer(system) == whole
        embedder.kill()
        with suppress(SystemFailedError):
            answer(system)
        embedder.start("another")
        if mode == "dense":
            with pytest.raises(SystemFailedError, match="gives other vectors than those that"):
                answer(system)
        else:
            assert answer(system) == (["rain"], True)


def test_queries_are_asked_again_where_calls_are(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(project(tmp_path, embedder)) as system:
        assert answer(system)[1] is False
    file = tmp_path / "searchmark.toml"
    file.write_text(file.read_text().replace("retries = 0", "retries = 1"))
    ask, calls = embedding.ask_vectors, []

    def failing_once(*given: Any) -> Any:
        calls.append(given[2])
        if calls.count(["rain"]) == 1 and given[2] == ["rain"]:
            raise SystemFailedError("just now", retry=True)
        return ask(*given)

    with opened(tmp_path) as system:
        monkeypatch.setattr(embedding, "ask_vectors", failing_once)
        assert answer(system)[1] is False
        assert calls.count(["rain"]) == 2


def test_a_catalog_that_is_there_opens_without_its_endpoint(
    tmp_path: Path, embedder: Embedder, postgres_server: Any
) -> None:
    folder = project(tmp_path, embedder)
    with filled(folder, postgres_server.dsn) as schema:
        project(tmp_path, embedder, f'schema = "{schema}"')
        embedder.kill()
        with opened(folder) as system:
            assert answer(system) == (["rain"], True)
            embedder.start()
            ids, is_partial = answer(system)
            assert (ids[0], len(ids), is_partial) == ("rain", 3, False)
        embedder.kill()
        embedder.start("another")  # it answers, but is not the model of the catalog
        with opened(folder) as system:
            assert answer(system) == (["rain"], True)
        # one that made nothing of the catalog is not begun without
        embedder.kill()
        project(tmp_path, embedder, f'schema = "{schema}"', 'revision = "2"')
        with pytest.raises(OutsideError, match="has no embeddings"), opened(folder):
            pass
        embedder.start()


def test_an_endpoint_that_refuses_is_told(
    tmp_path: Path, embedder: Embedder, postgres_server: Any
) -> None:
    folder = project(tmp_path, embedder)
    with filled(folder, postgres_server.dsn) as schema:
        file = project(tmp_path, embedder, f'schema = "{schema}"') / "searchmark.toml"
        # 404: waiting would not mend it. The vectors are those of another address, too.
        file.write_text(file.read_text().replace("/v1", "/v2"))
        with pytest.raises(OutsideError, match=r"has no embeddings.*404"), opened(folder):
            pass


Start = Callable[..., AbstractContextManager[str]]


def test_the_service_begins_without_its_endpoint_and_takes_it_in_when_it_comes(
    tmp_path: Path, embedder: Embedder, postgres_server: Any, start_service: Start
) -> None:
    pytest.importorskip("uvicorn")
    folder = project(tmp_path, embedder)

    def searched(address: str) -> tuple[list[str], bool]:
        url = f"{address}/discovery/search?query={quote('rain')}"
        with urlopen(url, timeout=30) as reply:
            found = json.load(reply)
        return [one["resource"] for one in found["resources"]], found["partialResults"]

    with scratch_schema(postgres_server.dsn) as schema:
        place = ("--schema", schema)
        with start_service(folder, "catalog", *place, "--fill", "--workers", "1") as address:
            until(lambda: searched(address)[1] is False)
            whole = searched(address)[0]
            assert (whole[0], len(whole)) == ("rain", 3)
        with Database(postgres_server.dsn, schema) as database, database.connection() as c:
            assert counts(c, 1) == (0, 0, 0)
        embedder.kill()
        with start_service(folder, "catalog", *place) as address:
            assert searched(address) == (["rain"], True)
            embedder.start("another")
            assert searched(address) == (["rain"], True)
            embedder.kill()
            embedder.start()
            until(lambda: searched(address) == (whole, False))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('model = "wordllama"', "systems.catalog.model: has no use beside an endpoint"),
        ('precision = "int8"', "systems.catalog.precision: has no use beside an endpoint"),
        ('mode = "bm25"', 'systems.catalog.endpoint: has no use with mode = "bm25"'),
    ],
)
def test_what_goes_with_no_endpoint_is_told(
    keys: str, message: str, tmp_path: Path, embedder: Embedder
) -> None:
    with pytest.raises(InputError) as caught:
        read_project(project(tmp_path, embedder, keys))
    assert message in str(caught.value)


def test_a_key_written_out_is_refused(tmp_path: Path, embedder: Embedder) -> None:
    folder = project(tmp_path, embedder, own='key = "sk-9f8e7d6c5b4a3210"')
    with pytest.raises(InputError, match=r"systems\.catalog\.endpoint\.key: "):
        read_project(folder)
