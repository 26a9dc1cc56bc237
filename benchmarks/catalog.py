"""The catalog in PostgreSQL beside the index in memory: ten thousand documents, 500 searches.

    .venv/bin/python benchmarks/catalog.py [DOCUMENTS, 10000 by default] [SEARCHES, 500]

Documents are the films of ../shared/data/movies, the first ones again under new ids until there are
enough. Words: title, genres, overview and actors. Meaning: three texts a film, made of title and
genres alone, because embedding overviews takes a quarter of an hour here: its own text and two
synthetic queries, by MiniLM. PostgreSQL is one started for this, with its settings as they come, or
the one in DATABASE_URL. Each half runs in a process of its own; the rankings of both are compared.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from threading import Event
from time import perf_counter
from typing import Any, get_args

import polars as pl
import psutil

from searchmark.data import read_corpus, read_queries
from searchmark.data.corpus import Corpus
from searchmark.project import read_project
from searchmark.retrieval.catalogs import CatalogSearch, Mode
from searchmark.retrieval.encoders import encode_query, load_encoder
from searchmark.retrieval.layout import Layout
from searchmark.web.service import Asked, open_served
from troubles import database

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "movies"
LIMIT = 20
LAYOUT = Layout(
    weights={"title": 3, "genres": 3, "text": 1, "actors": 0.5},
    name="title",
    description=None,
    tags="genres",
    ties=("votes",),
)

PROJECT = """
corpus = "corpus.jsonl"
queries = "{data}/queries.jsonl"
qrels = "{data}/qrels.tsv"

[systems.words]
use = "bm25"
fields = {{ title = 3, genres = 3, text = 1, actors = 0.5 }}
fallback = false

[systems.meaning]
use = "dense"
fields = ["title", "genres"]
synthetic = {{ name = "title", tags = "genres" }}

[systems.bm25]
use = "bm25"
fields = {{ title = 3, genres = 3, text = 1, actors = 0.5 }}
fallback = false
ties = ["votes"]

[systems.dense]
use = "dense"
fields = ["title", "genres"]
synthetic = {{ name = "title", tags = "genres" }}
ties = ["votes"]

[systems.fused]
use = "hybrid"
of = ["words", "meaning"]
ties = ["votes"]
"""
"""The same in memory: inside the arms of a fusion the id alone orders ties."""


def films(n: int) -> Corpus:
    """Return n films; those beyond the collection are repeated under other ids."""
    corpus = read_corpus(DATA / "corpus.jsonl")
    rows = pl.Series(list(islice(cycle(range(len(corpus))), n)))
    frame = corpus.frame[rows].with_row_index("copy")
    again = (pl.col("copy") // len(corpus)).cast(pl.String)
    frame = frame.with_columns(doc_id=pl.concat_str(pl.col("doc_id"), pl.lit("-"), again))
    return Corpus(frame.drop("copy"))


def asked(n: int) -> list[str]:
    """Return the first n queries of the collection."""
    return read_queries(DATA / "queries.jsonl").texts[:n]


def say(text: str) -> None:
    """Show progress beside the table."""
    sys.stderr.write(text + "\n")


def timed(what: str, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds and result."""
    start = perf_counter()
    result = work()
    seconds = perf_counter() - start
    say(f"{what}: {seconds:.1f} s")
    return seconds, result


def megabytes(size: float) -> float:
    """Return bytes as megabytes."""
    return round(size / 1e6, 1)


def measure(catalogs: Mapping[Mode, CatalogSearch], queries: Sequence[str]) -> dict[str, Any]:
    """Ask every query in every mode; return milliseconds and the rankings."""
    found: dict[str, Any] = {"ms": {}, "rankings": {}}
    for mode, catalog in catalogs.items():
        for text in queries[:20]:
            catalog.search(text, LIMIT, mode=mode)
        took, rankings = [], []
        for text in queries:
            start = perf_counter()
            page = catalog.search(text, LIMIT, mode=mode)
            took.append((perf_counter() - start) * 1000)
            rankings.append([[f.doc_id, f.score] for f in page.found])
            if page.is_partial:
                raise SystemExit(f"a partial answer: {page.why}")
        found["ms"][mode] = took
        found["rankings"][mode] = rankings
        say(f"{mode}: median {median(took):.1f} ms")
    return found


def in_memory(n: int, n_queries: int) -> dict[str, Any]:
    """Measure the index in memory: systems of a project, as they are served."""
    queries, encoder = asked(n_queries), load_encoder()
    encode_query(encoder, "warm")
    encoding = [timed_ms(lambda t=t: encode_query(encoder, t)) for t in queries]  # type: ignore[misc]
    with TemporaryDirectory() as name, ExitStack() as stack:
        project = Path(name) / "searchmark.toml"
        project.write_text(PROJECT.format(data=DATA.as_posix()), encoding="utf-8")
        films(n).frame.write_ndjson(project.with_name("corpus.jsonl"))
        opened = read_project(project)

        def served(system: Mode) -> CatalogSearch:
            return stack.enter_context(open_served(opened, Asked(system))).catalog

        before = psutil.Process().memory_info().rss
        seconds, fused = timed("index in memory", lambda: served("fused"))
        grown = psutil.Process().memory_info().rss - before
        found = measure({"bm25": served("bm25"), "dense": served("dense"), "fused": fused}, queries)
    return {**found, "seconds": seconds, "memory": grown, "encoding": encoding}


def timed_ms(work: Callable[[], Any]) -> float:
    """Return milliseconds."""
    start = perf_counter()
    work()
    return (perf_counter() - start) * 1000


def in_postgres(n: int, n_queries: int, dsn: str) -> dict[str, Any]:
    """Measure the catalog in PostgreSQL."""
    from searchmark.retrieval.postgres.catalog import PostgresCatalog
    from searchmark.retrieval.postgres.connection import Database, scratch_schema

    corpus, queries, encoder = films(n), asked(n_queries), load_encoder()
    encode_query(encoder, "warm")
    before = psutil.Process().memory_info().rss
    with scratch_schema(dsn) as schema, Database(dsn, schema) as database:
        filling = filled(database, corpus, encoder)
        catalog = PostgresCatalog(database, LAYOUT, encoder)
        found = measure(dict.fromkeys(get_args(Mode), catalog), queries)
        grown = psutil.Process().memory_info().rss - before
        with database.connection() as connection:
            size, server = size_on_disk(connection, schema), server_memory(connection)
    return {**found, **filling, "memory": grown, "size": size, "server": server}


def filled(database: Any, corpus: Corpus, encoder: Any) -> dict[str, float]:
    """Put the documents in and embed them by one worker; return the seconds of both."""
    from searchmark.retrieval.postgres.documents import seed
    from searchmark.retrieval.postgres.migrating import migrate
    from searchmark.retrieval.postgres.worker import Pace, adopt, work
    from searchmark.systems.catalog_postgres import documents_of

    def told(tally: Any, left: Any) -> None:
        if tally.n_done % 1024 < 64:
            say(f"embedded {tally.n_done:,} of {len(corpus):,}")

    migrate(database)
    with database.connection() as connection:
        adopt(connection, encoder)
    documents = documents_of(corpus)
    seeding, _ = timed("seeding", lambda: seed(database, documents, LAYOUT))
    pace = Pace(batch=64, drain=True)
    draining, _ = timed(
        "draining", lambda: work(database, encoder, stop=Event(), pace=pace, tell=told)
    )
    with database.connection() as connection:
        connection.execute("VACUUM ANALYZE")  # as autovacuum does a minute later
    return {"seeding": seeding, "draining": draining}


def size_on_disk(connection: Any, schema: str) -> float:
    """Return the bytes of a schema's tables with their indexes."""
    row = connection.execute(
        "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class AS c"
        " JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = %s AND relkind = 'r'",
        (schema,),
    ).fetchone()
    return float(row[0]) if row else 0.0


def server_memory(connection: Any) -> float:
    """Return the proportional memory of all processes of a server on this machine, else 0."""
    total = 0.0
    with suppress(psutil.Error):
        main = psutil.Process(connection.info.backend_pid).parent()
        for process in [main, *main.children(recursive=True)] if main else []:
            with suppress(psutil.Error):  # one that ended meanwhile
                total += process.memory_full_info().pss
    return total


def half(name: str, n: int, n_queries: int, dsn: str = "") -> Mapping[str, Any]:
    """Run one half in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, str(n), str(n_queries), name, dsn],
        stdout=subprocess.PIPE,
        check=True,
    )
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def line(name: str, took: Sequence[float]) -> str:
    """Return a row of the table."""
    return f"| {name} | {median(took):.1f} | {quantiles(took, n=20)[-1]:.1f} |"


def equal(one: Mapping[str, Any], other: Mapping[str, Any], queries: Sequence[str]) -> str:
    """Say how many rankings are equal, ids and scores; show which are not."""
    counts = []
    for mode in get_args(Mode):
        pairs = zip(one["rankings"][mode], other["rankings"][mode], queries, strict=True)
        differ = [text for a, b, text in pairs if a != b]
        counts.append(f"{mode} {len(queries) - len(differ)} of {len(queries)}")
        for text in differ:
            say(f"{mode} differs: {text}")
    return "equal rankings (ids and scores): " + ", ".join(counts)


def main() -> None:
    """Run both halves and print the tables."""
    n, n_queries, half_of, dsn = [*sys.argv[1:], *["10000", "500", "", ""][len(sys.argv) - 1 :]]
    sizes = int(n), int(n_queries)
    if half_of:
        work = in_memory(*sizes) if half_of == "memory" else in_postgres(*sizes, dsn)
        sys.stdout.write(json.dumps(work))
        return
    with database() as address:
        server = half("postgres", *sizes, address)
    memory = half("memory", *sizes)
    print(f"{n} documents, 3 texts each, {n_queries} searches for the first {LIMIT} results")
    print(f"seeding {server['seeding']:.1f} s, draining {server['draining']:.1f} s")
    print(f"index in memory, with embedding {memory['seconds']:.1f} s")
    print("| search | median ms | p95 ms |\n|---|---|---|")
    print(line("embedding a query", memory["encoding"]))
    for mode in get_args(Mode):
        print(line(f"{mode}, PostgreSQL", server["ms"][mode]))
        print(line(f"{mode}, in memory", memory["ms"][mode]))
    print(
        f"memory, MB: in memory {megabytes(memory['memory'])}; PostgreSQL: client "
        f"{megabytes(server['memory'])}, server {megabytes(server['server'])}, "
        f"tables on disk {megabytes(server['size'])}"
    )
    print(equal(server, memory, asked(sizes[1])))


if __name__ == "__main__":
    main()
