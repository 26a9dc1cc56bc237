"""Texts to token numbers, and batches of texts of one length."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from searchmark.errors import InputError

TOKENS_A_BATCH = 256
"""How many tokens one run of the model is given; more gain nothing and leave the CPU's caches."""


@dataclass(frozen=True, slots=True)
class Tokenized:
    """The token numbers of a text, cut to what the model reads."""

    ids: list[int]
    is_truncated: bool


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A tokenizer set up for one model: it cuts at `max_length` and never pads."""

    tokenizer: Any
    max_length: int
    n_special: int
    has_marks: bool = True

    def read(self, texts: Sequence[str]) -> list[Tokenized]:
        """Tokenize texts; a blank one, or one of nothing but the model's marks, has no tokens."""
        found = self.tokenizer.encode_batch_fast(
            [_encodable(text) for text in texts], add_special_tokens=self.has_marks
        )
        return [
            self._tokenized(encoding, is_blank=not text.strip())
            for encoding, text in zip(found, texts, strict=True)
        ]

    def _tokenized(self, encoding: Any, *, is_blank: bool) -> Tokenized:
        ids: list[int] = encoding.ids
        if is_blank or len(ids) <= self.n_special:
            return Tokenized([], is_truncated=False)
        # what was cut off is asked for only where something can have been
        cut = len(ids) >= self.max_length and bool(encoding.overflowing)
        return Tokenized(ids, is_truncated=cut)


def open_tokens(
    path: Path, max_length: int, vocabulary: int | None, *, marks: bool = True
) -> Tokens:
    """Read ``tokenizer.json``; what it says on cutting and padding is replaced.

    Without `marks` the model's own tokens are not put around a text.

    Raises
    ------
    InputError
        The file cannot be read, or it knows more tokens than the model has vectors for.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the tokenizers library raises plain Exception
        raise InputError(f"the model's tokenizer cannot be read ({error})", path=path) from None
    n_special = tokenizer.num_special_tokens_to_add(is_pair=False) if marks else 0
    if max_length <= n_special:
        raise InputError(f"the model reads only {max_length} tokens a text", path=path)
    size = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
    if vocabulary is not None and size > vocabulary:
        raise InputError(
            f"the tokenizer knows {size} tokens, the model has vectors for {vocabulary}", path=path
        )
    tokenizer.enable_truncation(max_length)
    tokenizer.no_padding()
    return Tokens(tokenizer, max_length, n_special, marks)


def batches_of_one_length(lengths: Sequence[int]) -> list[list[int]]:
    """Group texts so that a batch needs no padding, longest first.

    Parameters
    ----------
    lengths
        Number of tokens of each text, 0 or more.

    Returns
    -------
    Places in `lengths`, every text with tokens exactly once. A batch holds texts of one length and
    at most `TOKENS_A_BATCH` tokens (at least one text). Texts of a single token stand alone: a
    product with one row is computed by other code than a product with several, and the last bits
    of a vector must not depend on which it was.

    Examples
    --------
    >>> batches_of_one_length([3, 0, 100, 3, 100, 100])
    [[2, 4], [5], [0, 3]]
    """
    groups: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        groups.setdefault(length, []).append(place)
    batches = []
    for length in sorted(groups.keys() - {0}, reverse=True):
        size = max(1, TOKENS_A_BATCH // length) if length > 1 else 1
        group = groups[length]
        batches += [group[i : i + size] for i in range(0, len(group), size)]
    return batches


def _encodable(text: str) -> str:
    """Join halves of surrogate pairs, which JSON can carry and UTF-8 cannot; replace lone ones."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
