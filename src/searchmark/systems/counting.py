"""How many tokens a text has, by the tokenizer of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from searchmark.data.files import sha256
from searchmark.errors import InputError
from searchmark.retrieval.models import find_model
from searchmark.retrieval.tokens import Tokens, open_tokens

UNCUT = 2**31 - 1
"""Texts are counted to their end."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenCounter:
    """Counts a text's tokens; marks that a model puts around a text are none of them."""

    tokens: Tokens
    digest: str

    def count(self, texts: Sequence[str]) -> list[float]:
        """Return each text's number of tokens."""
        return [float(len(found.ids)) for found in self.tokens.read(texts)]


def open_counter(name: str, folder: Path) -> TokenCounter:
    """Open the tokenizer of a model, or a ``tokenizer.json`` given by its path in `folder`."""
    path = folder / name
    if not path.is_file():
        inside = path if path.is_dir() else find_model(name).path
        path = inside / "tokenizer.json"
    try:
        return TokenCounter(open_tokens(path, UNCUT, None, marks=False), sha256(path))
    except ImportError:
        raise InputError(
            'tokens = "measured" needs a tokenizer, and that is not installed',
            fix="pip install 'searchmark[dense]'",
        ) from None
