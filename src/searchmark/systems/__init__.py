"""What is evaluated: the System protocol, one adapter a file."""

from searchmark.registry import Registry

SYSTEMS = Registry(
    kind="system",
    group="searchmark.systems",
    builtin={
        "bm25": "searchmark.systems.bm25:BM25",
        "dense": "searchmark.systems.dense:DENSE",
        "hybrid": "searchmark.systems.hybrid:HYBRID",
        "python": "searchmark.systems.python:PYTHON",
        "run": "searchmark.systems.runfile:RUN",
    },
)
"""Kind name (``use = "bm25"``) -> a `searchmark.systems.protocol.Kind`."""
