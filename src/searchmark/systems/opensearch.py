"""OpenSearch through opensearch-py: searches in its query DSL, in a search pipeline if wanted."""

from searchmark.systems.querydsl.config import Config as Shared
from searchmark.systems.querydsl.kind import engine_kind
from searchmark.systems.querydsl.system import OpenClient


class Config(Shared, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "opensearch"``.

    `search_pipeline` is the name of a pipeline that the engine has.
    """

    search_pipeline: str | None = None


def _client() -> OpenClient:
    from searchmark.systems.querydsl.osclient import open_client

    return open_client


OPENSEARCH = engine_kind(Config, "opensearchpy", _client)
