"""The keys of ``use = "postgres"``."""

from typing import Literal

import msgspec

from searchmark.systems.protocol import Tag


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "postgres"``.

    `sql` is a file with one SELECT and the parameters ``%(query)s``, ``%(k)s``, ``%(embedding)s``,
    ``%(query_id)s``. `dsn` is a libpq connection string; what it leaves out comes from libpq's own
    environment and service file. `id`, `score` and `tokens` name columns of the result. `setup`
    are statements for every new connection. `model` and `precision` make the embedding.
    """

    sql: str
    dsn: str = ""
    id: str | None = None
    score: str | None = None
    tokens: str | None = None
    setup: list[str] = []
    read_only: bool = True
    model: str = "all-MiniLM-L6-v2"
    precision: Literal["fp32", "int8"] = "fp32"
    tags: list[Tag] = []
