"""Hard filters that people write into the query itself: "weather on base under 5"."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from searchmark.data.filters import Filter, Scalar, as_number
from searchmark.errors import InputError
from searchmark.retrieval.analysis import tokenize


@dataclasses.dataclass(frozen=True, slots=True)
class Constraint:
    r"""A pattern in the query text that states a hard filter.

    Parameters
    ----------
    pattern : str
        A regular expression, matched without case. The group named ``value``, or else group 1, is
        the value that the field is compared with.
    field : str
        Name of the corpus field.
    op : {"=", "<", "<=", ">", ">="}
        How the field is compared with the value.
    values : mapping of str to str
        What people write (in any case) to what the corpus stores.

    Raises
    ------
    InputError
        For a pattern that is no regular expression or has no group, an unknown `op`, and a stored
        value that is no number where `op` compares numbers. The message begins with the key.

    Notes
    -----
    Patterns are the project's own and run without a time limit: one with a repeat inside a repeat,
    such as ``(\w+\s*)+x``, can take minutes on a short text that nearly matches.
    """

    pattern: str
    field: str
    op: str = "="
    values: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    _regex: re.Pattern[str] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_regex", _compiled(self.pattern))
        object.__setattr__(self, "values", {_tidy(k).lower(): v for k, v in self.values.items()})
        # A filter knows what it accepts; "1" stands for a value that only a query will give.
        _check("op", self.field, self.op, "1")
        for written, stored in self.values.items():
            _check(f"values.{written}", self.field, self.op, stored)

    def matches(self, text: str) -> Iterator[tuple[Filter, tuple[int, int]]]:
        """Yield each filter the text states, with the place of the words that state it."""
        for match in self._regex.finditer(text):
            written = match["value" if "value" in self._regex.groupindex else 1]
            value = self._value(written or "")
            if value is not None:
                yield Filter(self.field, self.op, value), match.span()

    def _value(self, written: str) -> Scalar | None:
        """Return what the field is compared with; None where the words state no value."""
        stored = self.values.get(_tidy(written).lower(), _tidy(written))
        return (stored or None) if self.op == "=" else as_number(stored)


class Extracted(NamedTuple):
    """The text that remains to be searched for, and the hard filters that were in it."""

    text: str
    filters: tuple[Filter, ...]


def extract(text: str, constraints: Sequence[Constraint]) -> Extracted:
    r"""Take the hard filters out of a query.

    Parameters
    ----------
    text : str
        The query as it was written.
    constraints : sequence of Constraint
        All are looked for in the whole text, so their order changes nothing but the filters'.

    Returns
    -------
    Extracted
        The text without the words that matched, white space tidied, and one filter a match, equal
        ones once. Where no word is left, the text stays as it was and the filters still hold.

    Notes
    -----
    Every match counts: "on base or solana" asks for both, and a document with one network
    fails. A match whose value is missing, or is no number where numbers are compared, states
    nothing and stays in the text.

    Examples
    --------
    >>> found = extract("weather under 5 usd", [Constraint(r"under (\d+) usd", "amount", "<=")])
    >>> found.text, str(found.filters[0])
    ('weather', 'amount <= 5.0')
    """
    found = [match for constraint in constraints for match in constraint.matches(text)]
    rest = _tidy(_without(text, [span for _, span in found]))
    filters = tuple(dict.fromkeys(wanted for wanted, _ in found))
    return Extracted(rest if found and tokenize(rest) else text, filters)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        regex = re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"pattern: '{pattern}' is no regular expression: {error}") from None
    if not regex.groups:
        raise InputError(f"pattern: '{pattern}' has no group", fix="put the value into parentheses")
    return regex


def _check(key: str, field: str, op: str, value: str) -> None:
    """Raise, naming the key, where these make no filter."""
    try:
        Filter(field, op, value)
    except InputError as error:
        raise InputError(f"{key}: {error.what}", fix=error.fix) from None


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Cut the spans, which may overlap, leaving a blank for each."""
    kept, end = [], 0
    for start, stop in sorted(spans):
        kept.append(text[end:start])
        end = max(end, stop)
    return " ".join([*kept, text[end:]])


def _tidy(text: str) -> str:
    return " ".join(text.split())
