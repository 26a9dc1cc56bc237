"""`searchmark` with the model of catalog-postgres in another process, which can be killed.

    .venv/bin/python benchmarks/elsewhere.py PORT serve --api ...

The catalog in PostgreSQL runs its model itself. Here it asks `embedder.py` at PORT instead.
"""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl

from searchmark.cli.main import main
from searchmark.data.corpus import Corpus
from searchmark.systems import catalog_postgres
from searchmark.systems.embedding import EndpointConfig, open_endpoint
from searchmark.systems.protocol import Context


def open_there(name: str, folder: Path, **_: Any) -> Any:
    """Return the encoder at the port, whatever model is named; it is open until the end."""
    config = EndpointConfig(url=f"http://127.0.0.1:{PORT}/v1", model="hashed")
    nothing: Any = None
    context = Context(Corpus(pl.DataFrame({"doc_id": []})), folder, folder, nothing)
    return OPEN.enter_context(open_endpoint(name, config, context))


if __name__ == "__main__":
    PORT = int(sys.argv.pop(1))
    catalog_postgres.open_encoder = open_there
    with ExitStack() as OPEN:
        main()
