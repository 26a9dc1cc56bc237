"""Moments of time as they are given, made comparable: whatever zone they were written in."""

from datetime import UTC, date, datetime, timedelta

from searchmark.data.corpus import Corpus
from searchmark.errors import InputError, quoted
from searchmark.retrieval.layout import UPDATED

_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def instant_of(value: object) -> datetime | None:
    """Return the moment, in UTC, that a value stands for.

    Parameters
    ----------
    value
        ISO 8601, a number (seconds since 1970), or a date; without a zone it is in UTC.

    Returns
    -------
    A moment of the years 1 to 9999, to the microsecond; None for a missing value (None, NaN, "").

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> instant_of("2025-10-02T10:00:00+05:00")
    datetime.datetime(2025, 10, 2, 5, 0, tzinfo=datetime.timezone.utc)
    """
    if value is None or value == "" or value != value:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _FIRST + timedelta(seconds=value)
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def microseconds(moment: datetime | None) -> int | None:
    """Return the microseconds since 1970, which are ordered as the moments are."""
    return None if moment is None else (moment - _FIRST) // _MICROSECOND


def check_instant(doc_id: str, value: object) -> datetime | None:
    """Return the moment of a document's last update; InputError where it is none."""
    try:
        return instant_of(value)
    except ValueError:
        raise InputError(
            f"the document {quoted(doc_id)} has {UPDATED} {_shown(value)}, no time of the years "
            "1 to 9999 in UTC",
            fix="write it as 2026-01-31T12:00:00Z",
        ) from None


def instants(corpus: Corpus) -> list[datetime | None]:
    """Return the moment of every document's last update; InputError, with its line, for no time."""
    found = []
    given = zip(corpus.doc_ids, corpus.frame[UPDATED].to_list(), strict=True)
    for row, (doc_id, value) in enumerate(given):
        try:
            found.append(check_instant(doc_id, value))
        except InputError as error:
            line = corpus.lines[row] if corpus.lines else 0
            raise InputError(
                error.what, path=corpus.path, line=line or None, fix=error.fix
            ) from None
    return found


def _shown(value: object) -> str:
    return f"'{value}'" if isinstance(value, date) else f"{value!r:.40}"
