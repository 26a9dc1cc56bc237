"""The catalog in PostgreSQL as a system: seeded into a scratch schema, embedded, asked, dropped."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import polars as pl
import polars.selectors as cs

from searchmark.data.corpus import Corpus
from searchmark.errors import (
    InputError,
    OutsideError,
    Problem,
    SearchmarkError,
    SystemFailedError,
    nearest,
    quoted,
)
from searchmark.retrieval.catalogs import CatalogSearch, Mode
from searchmark.retrieval.instants import instants
from searchmark.retrieval.layout import SETTLEMENTS, UPDATED, Layout
from searchmark.retrieval.models import DEFAULT_MODEL
from searchmark.systems.catalog import ConstraintConfig, constraint_problems, constraints_of
from searchmark.systems.catalog_encoder import Filling, open_model
from searchmark.systems.embedding import (
    EndpointConfig,
    beside_endpoint_problems,
    endpoint_problems,
)
from searchmark.systems.literals import literal_secret_problems
from searchmark.systems.policy import CallPolicy
from searchmark.systems.postgres.dsn import LIBPQ, catalog_dsn, expanded_dsn
from searchmark.systems.protocol import Answer, Context, Entry, Hit, Kind, Query, System
from searchmark.systems.secrets import Secrets

if TYPE_CHECKING:
    from searchmark.retrieval.encoders import Encoder
    from searchmark.retrieval.postgres.connection import Database
    from searchmark.retrieval.postgres.queue import Counts
    from searchmark.retrieval.postgres.worker import Tally

TAGS = {"bm25": "lexical", "dense": "vector", "fused": "hybrid"}


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "catalog-postgres"``.

    `dsn` is a libpq connection string; without it libpq's own variables name the database, or
    DATABASE_URL does. `schema` is a catalog that is there already and only read;
    without it the corpus is put into a scratch schema. `fields` are the weights of BM25F; a
    document's own text and its three synthetic queries are made of the fields in `texts`. `relax`
    lets any word match where no document has them all, never inside a fusion. `endpoint` asks a
    server for vectors instead of `model`.
    """

    dsn: str = ""
    schema: str | None = None
    mode: Literal["bm25", "dense", "fused"] = "fused"
    fields: dict[str, float] | list[str] = msgspec.field(
        default_factory=lambda: {"serviceName": 3, "tags": 3, "description": 1, "resource": 0.5}
    )
    texts: dict[Literal["name", "description", "tags"], str] = msgspec.field(
        default_factory=lambda: {
            "name": "serviceName",
            "description": "description",
            "tags": "tags",
        }
    )
    substring: list[str] = []
    relax: bool = False
    constraints: list[ConstraintConfig] = []
    ties: list[str] = msgspec.field(default_factory=lambda: [SETTLEMENTS, UPDATED])
    model: str = DEFAULT_MODEL
    precision: Literal["fp32", "int8"] = "fp32"
    endpoint: EndpointConfig | None = None

    @property
    def tags(self) -> tuple[str, ...]:
        """What a system of this configuration is."""
        return (TAGS[self.mode],)


@dataclass(frozen=True, slots=True, eq=False)
class CatalogSystem:
    """Asks a catalog; an answer of a fusion whose dense arm failed is partial."""

    name: str
    catalog: CatalogSearch
    mode: Mode
    tags: frozenset[str]
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the best `k` documents."""
        try:
            page = self.catalog.search(query.text, k, mode=self.mode, filters=query.filters)
        except OutsideError as error:
            raise SystemFailedError(str(error), retry=_may_pass(error)) from error
        if self.mode == "dense" and page.is_lexical:
            raise SystemFailedError(page.why)  # words alone are no answer of this system
        hits = tuple(Hit(found.doc_id, found.score) for found in page.found)
        return Answer(hits, page.is_partial, total=page.total)


@contextmanager
def open_catalog_postgres(name: str, config: Config, context: Context) -> Iterator[System]:
    """Seed and embed the corpus in a scratch schema, or look at the schema that is there."""
    try:
        from searchmark.retrieval.postgres.catalog import PostgresCatalog
        from searchmark.retrieval.postgres.connection import Database, scratch_schema
    except ImportError:
        raise InputError(
            f"system '{name}' needs psycopg", fix="pip install 'searchmark[postgres]'"
        ) from None

    layout = layout_of(config)
    _check(context.corpus, layout)
    dsn = address_of(config, context.secrets, key=f"systems.{name}.dsn")
    most = context.calls.concurrency + 2
    with (
        _schema(scratch_schema, dsn, config.schema) as schema,
        Database(dsn, schema, most=most) as database,
        _model(name, config, context, database) as encoder,
    ):
        if config.schema is None:
            _fill(name, database, layout, encoder, context)
        identity = _identity(database, encoder)
        catalog = PostgresCatalog(database, layout, encoder)
        yield CatalogSystem(name, catalog, config.mode, frozenset(config.tags), identity)


@contextmanager
def _model(
    name: str, config: Config, context: Context, database: "Database"
) -> "Iterator[Encoder | None]":
    if config.mode == "bm25":
        yield None
        return
    with open_model(name, config, context, database) as encoder:
        yield encoder


@contextmanager
def _schema(
    scratch: Callable[[str], AbstractContextManager[str]], dsn: str, kept: str | None
) -> Iterator[str]:
    if kept is not None:
        yield kept
        return
    with scratch(dsn) as schema:
        yield schema


def placed(config: Config, *, dsn: str | None, schema: str | None) -> Config:
    """Return a configuration with what a command line says of the database instead."""
    for problem in literal_secret_problems(dsn=dsn):
        raise InputError(f"--dsn: {problem.message}")
    return msgspec.structs.replace(
        config, dsn=catalog_dsn(dsn, config.dsn), schema=schema or config.schema
    )


def address_of(config: Config, secrets: Secrets, *, key: str) -> str:
    """Return the database's address with its variables put in; `key` is where it was given."""
    secrets.note_set(LIBPQ)
    return expanded_dsn(catalog_dsn(config.dsn), secrets, key=key)


def layout_of(config: Config) -> Layout:
    """Return the roles of the fields."""
    weights = config.fields
    return Layout(
        weights=dict(weights) if isinstance(weights, dict) else dict.fromkeys(weights, 1.0),
        name=config.texts.get("name"),
        description=config.texts.get("description"),
        tags=config.texts.get("tags"),
        substring=tuple(config.substring),
        constraints=constraints_of(config.constraints),
        ties=tuple(config.ties),
        relax=config.relax,
    )


def documents_of(corpus: Corpus) -> list[dict[str, Any]]:
    """Return a corpus as documents without empty fields, each with its ``doc_id``."""
    if UPDATED in corpus.frame.columns:
        instants(corpus)  # the line of one that is no time is known here only
    frame = corpus.frame.with_columns(cs.temporal().cast(pl.String))
    return [{k: v for k, v in row.items() if v is not None} for row in frame.to_dicts()]


def _check(corpus: Corpus, layout: Layout) -> None:
    ties = [tie for tie in layout.ties if tie not in (SETTLEMENTS, UPDATED)]
    columns = corpus.frame.columns
    for wanted in (*layout.fields, *ties):
        if wanted not in columns:
            raise InputError(
                f"the corpus has no field '{wanted}'",
                path=corpus.path,
                fix=nearest(wanted, columns),
            )


def _fill(
    name: str, database: "Database", layout: Layout, encoder: "Encoder | None", context: Context
) -> None:
    """Make the tables, put the corpus in, and embed what that enqueues."""
    from searchmark.retrieval.postgres.documents import seed
    from searchmark.retrieval.postgres.migrating import migrate
    from searchmark.retrieval.postgres.worker import adopt

    def told(done: int, total: int) -> None:
        context.tell(f"seeding {name}", done, total)

    migrate(database)
    if encoder is not None:
        with database.connection() as connection:
            adopt(connection, encoder)
    seed(database, documents_of(context.corpus), layout, progress=told)
    if encoder is not None:
        _drain(name, database, encoder, context)


def _drain(name: str, database: "Database", encoder: "Encoder", context: Context) -> None:
    """Embed the queue; what was embedded in an earlier run comes from the cache."""
    from searchmark.retrieval.postgres.queue import Patience, counts, last_dead
    from searchmark.retrieval.postgres.worker import Pace, adopt, work
    from searchmark.retrieval.vectors import VectorCache

    def told(tally: "Tally", left: "Counts") -> None:
        context.tell(f"embedding for {name}", tally.n_done, tally.n_done + left.open + left.dead)

    # nobody else works here, so a failure is the model's, and waiting longer would not mend it
    patience, stop = Patience(first_s=0.2, longest_s=2.0, attempts=3), Event()
    pace = Pace(batch=64, give_up_s=30.0, patience=patience, drain=True)
    with VectorCache(context.cache / "embeddings.sqlite") as cache:
        filling = Filling(name, encoder, cache, stop)
        filling.check()
        redact = context.secrets.redact
        work(database, filling, stop=stop, pace=pace, tell=told, redact=redact)
    filling.tell()
    with database.connection() as connection:
        generation_id = adopt(connection, encoder)
        dead = last_dead(connection, generation_id)
        n_dead = counts(connection, generation_id).dead
    if dead is not None:
        doc_id, error = dead
        raise OutsideError(
            f"system '{name}': {n_dead:,} documents could not be embedded: {error} (as "
            f"{quoted(doc_id)})"
        )


def _identity(database: "Database", encoder: "Encoder | None") -> dict[str, str]:
    """Return what rankings depend on: the model, and the server, whose version has its stems."""
    with database.connection() as connection:
        version = connection.info.server_version // 10_000
    found = {"postgres": str(version)}
    if encoder is not None:
        found["model"] = encoder.generation.key
    return found


def _may_pass(error: SearchmarkError) -> bool:
    """Tell whether the same search may go well a little later: a lost connection, a lock."""
    import psycopg

    return error.__cause__ is None or isinstance(error.__cause__, psycopg.OperationalError)


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report values that make no catalog."""
    found = literal_secret_problems(dsn=config.dsn) + constraint_problems(config.constraints)
    if not config.fields:
        found.append(Problem("fields", "names no field; give at least one"))
    if isinstance(config.fields, dict):
        found += [
            Problem(f"fields.{f}", f"the weight {w:g} is not above 0")
            for f, w in config.fields.items()
            if not 0 < w < float("inf")
        ]
    if config.endpoint is not None:
        found += endpoint_problems(config.endpoint)
        found += beside_endpoint_problems(config.model, config.precision)
        if config.mode == "bm25":
            found.append(Problem("endpoint", 'has no use with mode = "bm25"'))
    if config.mode != "bm25" and not config.texts:
        found.append(
            Problem("texts", "names no field; give at least one of name, description, tags")
        )
    if config.schema is not None and not 0 < len(config.schema.encode()) <= 63:
        found.append(Problem("schema", "is no name of 1 to 63 bytes"))
    if config.relax and config.mode != "bm25":
        found.append(Problem("relax", f'has no use with mode = "{config.mode}"'))
    return found


CATALOG_POSTGRES = Kind(
    Config,
    open_catalog_postgres,
    find_problems,
    calls=CallPolicy(timeout_s=30, retries=3, warmup=1),
)
