"""The tables, their readers and writers, and the one ordering rule."""

from searchmark.data.corpus import Corpus, read_corpus
from searchmark.data.hits import Hits, find_hits, mark_calls
from searchmark.data.judged import Judged, prepare
from searchmark.data.qrels import Qrels, read_qrels
from searchmark.data.queries import Queries, read_queries
from searchmark.data.run import Run, read_run

__all__ = [
    "Corpus",
    "Hits",
    "Judged",
    "Qrels",
    "Queries",
    "Run",
    "find_hits",
    "mark_calls",
    "prepare",
    "read_corpus",
    "read_qrels",
    "read_queries",
    "read_run",
]
