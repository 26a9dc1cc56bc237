"""OpenSearch through opensearch-py: searches in its query DSL, in a search pipeline if wanted."""

from collections.abc import Iterator
from contextlib import contextmanager

from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Context, Kind, System
from searchmark.systems.querydsl.config import Config as Shared
from searchmark.systems.querydsl.config import find_problems
from searchmark.systems.querydsl.system import OpenClient, open_system


class Config(Shared, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "opensearch"``.

    `search_pipeline` is the name of a pipeline that the engine has.
    """

    search_pipeline: str | None = None


def _client() -> OpenClient:
    from searchmark.systems.querydsl.osclient import open_client

    return open_client


@contextmanager
def open_opensearch(name: str, config: Config, context: Context) -> Iterator[System]:
    """Read the template and make the client; the engine is asked at the first search."""
    with open_system(name, config, context, "opensearchpy", _client) as system:
        yield system


OPENSEARCH = Kind(
    Config,
    open_opensearch,
    find_problems,
    calls=CallPolicy(timeout_s=30, retries=3, warmup=1),
    keeps_time=True,
)
