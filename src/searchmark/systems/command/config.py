"""The keys of ``use = "command"``."""

from typing import Literal

import msgspec

from searchmark.systems.protocol import Tag

MEASURED = "measured"
"""The value of ``tokens`` that says: count what is printed."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "command"``.

    `argv` is the program and its arguments, with ``{query}``, ``{k}`` and ``{query_id}``; `stdin`
    is a text given on standard input, with the same. `cwd` is relative to the project file; `env`
    is added to the environment, of which `clean_env` leaves but the little programs need to run.

    `ids`, `scores`, `partial` and `total` are JMESPath over what is printed: one JSON document,
    or with `output` "jsonl" the list of its lines. `ids_regex` reads text instead, with groups
    called id, score and tokens. `tokens` is what a result costs: a number for all, a JMESPath, or
    "measured" by the `tokenizer` of a model, where `items` may say which values are the results.

    An exit code in `ok_codes` stands for an answer, one in `empty_codes` for no results.
    `empty_regex` matches all that is printed where nothing was found. `files` and `version` (a
    command) say which program and data it was.
    """

    argv: list[str]
    stdin: str | None = None
    cwd: str = "."
    env: dict[str, str] = {}
    clean_env: bool = False
    ids: str | None = None
    scores: str | None = None
    tokens: str | float | None = None
    items: str | None = None
    partial: str | None = None
    total: str | None = None
    output: Literal["json", "jsonl"] = "json"
    ids_regex: str | None = None
    empty_regex: str | None = None
    ok_codes: list[int] = msgspec.field(default_factory=lambda: [0])
    empty_codes: list[int] = []
    tokenizer: str = "all-MiniLM-L6-v2"
    max_bytes: int = 10_000_000
    files: list[str] = []
    version: list[str] = []
    tags: list[Tag] = []
