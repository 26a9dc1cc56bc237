"""Embedding models that the project file names: known by name, or in a folder beside it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from searchmark.retrieval.encoders import Encoder
    from searchmark.retrieval.linear import Precision

Embed = Callable[[str], list[float]]
"""Returns a query's vector."""


class QueryModel(NamedTuple):
    """What makes a query's vector, and the key that tells the model from every other."""

    embed: Embed
    key: str


def open_encoder(name: str, folder: Path, *, precision: "Precision" = "fp32") -> "Encoder":
    """Load a model by its name, or from a folder relative to the project's."""
    from searchmark.retrieval.encoders import load_encoder
    from searchmark.retrieval.sentences import PREFIX

    run_by = PREFIX if name.startswith(PREFIX) else ""
    place = folder / name.removeprefix(run_by)
    return load_encoder(f"{run_by}{place}" if place.is_dir() else name, precision=precision)


def open_query_model(name: str, folder: Path) -> QueryModel:
    """Load a model that queries alone are embedded with."""
    from searchmark.retrieval.encoders import encode_query

    encoder = open_encoder(name, folder)

    def embed(text: str) -> list[float]:
        vector: list[float] = encode_query(encoder, text).tolist()
        return vector

    return QueryModel(embed, encoder.generation.key)
