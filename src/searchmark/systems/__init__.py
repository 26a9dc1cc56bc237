"""What is evaluated: the System protocol, one adapter a file."""

from searchmark.registry import Registry

SYSTEMS = Registry(
    kind="system",
    group="searchmark.systems",
    builtin={
        "bm25": "searchmark.systems.bm25:BM25",
        "bm25s": "searchmark.systems.bm25s:BM25S",
        "catalog-postgres": "searchmark.systems.catalog_postgres:CATALOG_POSTGRES",
        "chat": "searchmark.systems.chat:CHAT",
        "command": "searchmark.systems.command.system:COMMAND",
        "dense": "searchmark.systems.dense:DENSE",
        "elasticsearch": "searchmark.systems.elasticsearch:ELASTICSEARCH",
        "haystack": "searchmark.systems.haystack:HAYSTACK",
        "http": "searchmark.systems.http.adapter:HTTP",
        "hybrid": "searchmark.systems.hybrid:HYBRID",
        "langchain": "searchmark.systems.langchain:LANGCHAIN",
        "llamaindex": "searchmark.systems.llamaindex:LLAMAINDEX",
        "opensearch": "searchmark.systems.opensearch:OPENSEARCH",
        "postgres": "searchmark.systems.postgres.adapter:POSTGRES",
        "python": "searchmark.systems.python:PYTHON",
        "rerank": "searchmark.systems.rerank:RERANK",
        "run": "searchmark.systems.runfile:RUN",
        "tantivy": "searchmark.systems.tantivy:TANTIVY",
    },
)
"""Kind name (``use = "bm25"``) -> a `searchmark.systems.protocol.Kind`."""
