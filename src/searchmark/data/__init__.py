"""The tables, their readers and writers, and the one ordering rule.

Names are loaded when they are first used: scoring plain files needs no Polars.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from searchmark.data.corpus import Corpus, read_corpus
    from searchmark.data.hits import Hits, mark_calls
    from searchmark.data.judged import Judged, prepare
    from searchmark.data.ordering import find_hits
    from searchmark.data.qrels import Qrels, read_qrels
    from searchmark.data.queries import Queries, read_queries
    from searchmark.data.reading import hits_in_file, judged_from_file
    from searchmark.data.run import Run, read_run

_WHERE = {
    "Corpus": "corpus",
    "Hits": "hits",
    "Judged": "judged",
    "Qrels": "qrels",
    "Queries": "queries",
    "Run": "run",
    "find_hits": "ordering",
    "hits_in_file": "reading",
    "judged_from_file": "reading",
    "mark_calls": "hits",
    "prepare": "judged",
    "read_corpus": "corpus",
    "read_qrels": "qrels",
    "read_queries": "queries",
    "read_run": "run",
}

__all__ = [
    "Corpus",
    "Hits",
    "Judged",
    "Qrels",
    "Queries",
    "Run",
    "find_hits",
    "hits_in_file",
    "judged_from_file",
    "mark_calls",
    "prepare",
    "read_corpus",
    "read_qrels",
    "read_queries",
    "read_run",
]


def __getattr__(name: str) -> object:
    if name in _WHERE:
        return getattr(import_module(f"searchmark.data.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'searchmark.data' has no attribute '{name}'")
