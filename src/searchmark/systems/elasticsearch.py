"""Elasticsearch through elasticsearch-py: searches in its query DSL, with retrievers and kNN."""

from searchmark.systems.querydsl.config import Config as Shared
from searchmark.systems.querydsl.kind import engine_kind
from searchmark.systems.querydsl.system import OpenClient


class Config(Shared, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "elasticsearch"``."""


def _client() -> OpenClient:
    from searchmark.systems.querydsl.esclient import open_client

    return open_client


ELASTICSEARCH = engine_kind(Config, "elasticsearch", _client)
