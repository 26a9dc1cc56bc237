"""Elasticsearch through elasticsearch-py: searches in its query DSL, with retrievers and kNN."""

from collections.abc import Iterator
from contextlib import contextmanager

from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Context, Kind, System
from searchmark.systems.querydsl.config import Config as Shared
from searchmark.systems.querydsl.config import find_problems
from searchmark.systems.querydsl.system import OpenClient, open_system


class Config(Shared, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "elasticsearch"``."""


def _client() -> OpenClient:
    from searchmark.systems.querydsl.esclient import open_client

    return open_client


@contextmanager
def open_elasticsearch(name: str, config: Config, context: Context) -> Iterator[System]:
    """Read the template and make the client; the engine is asked at the first search."""
    with open_system(name, config, context, "elasticsearch", _client) as system:
        yield system


ELASTICSEARCH = Kind(
    Config,
    open_elasticsearch,
    find_problems,
    calls=CallPolicy(timeout_s=30, retries=3, warmup=1),
    keeps_time=True,
)
