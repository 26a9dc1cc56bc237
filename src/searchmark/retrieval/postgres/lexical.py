"""The lexical arm: candidates by tsvector, their scores by the code of the index in memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.retrieval.bm25f import discounted, inverse_frequency, saturated
from searchmark.retrieval.layout import Layout
from searchmark.retrieval.ordering import Scored
from searchmark.retrieval.postgres.connection import Connection
from searchmark.retrieval.postgres.facets import Condition
from searchmark.retrieval.postgres.ties import columns
from searchmark.retrieval.postgres.words import is_storable, words_and_terms
from searchmark.retrieval.substring import plain

PIECE = 500
"""Words of one tsquery: PostgreSQL takes time that grows with the square of their number."""

_LEXEMES = """
SELECT word, lexeme FROM unnest(%s::text[]) AS word, unnest(to_tsvector('english', word))
"""

_BY_WORDS = "SELECT d.doc_id FROM document AS d WHERE {matches} {filters}"

_BY_PART = """
SELECT DISTINCT doc_id FROM document_plain JOIN document AS d USING (doc_id)
WHERE position(%(part)s IN plain) > 0 {filters}
"""

_CANDIDATES = """
SELECT d.doc_id, {ties} FROM document AS d JOIN ({chosen}) AS chosen USING (doc_id)
"""

_OCCURRENCES = """
WITH own AS MATERIALIZED (
    SELECT number, field, terms, sum(length) OVER (PARTITION BY number, field) AS length
    FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS given (doc_id, number)
    JOIN document_field USING (doc_id) WHERE field = ANY(%(fields)s)
)
SELECT field, lexeme, number - 1, sum(cardinality(positions))::int, length::int
FROM own, unnest(terms) WHERE lexeme = ANY(%(lexemes)s)
GROUP BY field, lexeme, number, length
"""

_LENGTHS = """
SELECT field, sum(length)::bigint FROM document_field WHERE field = ANY(%s) GROUP BY field
"""

_FREQUENCIES = """
SELECT lexeme, (
    SELECT count(*) FROM document
    WHERE words @@ ('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''')::tsquery
) FROM unnest(%s::text[]) AS lexeme
"""


class Candidates(NamedTuple):
    """Documents with their scores, and the values that order ties, a row a document."""

    doc_ids: list[str]
    scored: Scored
    ties: list[tuple[Any, ...]]

    @property
    def total(self) -> int:
        """How many documents qualify."""
        return len(self.doc_ids)


def find_by_words(
    connection: Connection, text: str, layout: Layout, filters: Condition, *, relax: bool = False
) -> Candidates:
    """Return every document that qualifies for a text, with its BM25F score.

    A document qualifies that has every word of the text, each in any weighted field, or contains
    the text in a field for that; with `relax`, where none does, one that has any of the words.
    """
    words = words_and_terms(text)
    different = list(dict.fromkeys(word for word, _ in words))
    lexeme_of = dict(connection.execute(_LEXEMES, (different,)).fetchall())
    wanted = Counter(lexeme_of[word] for word, _ in words if word in lexeme_of)
    order = {lexeme_of[word]: term for word, term in words if word in lexeme_of}
    asked = [word for word in different if word in lexeme_of]
    rows = _chosen(connection, text, asked, layout, filters)
    if not rows and relax and asked:
        rows = _any_word(connection, asked, layout, filters)
    doc_ids = [row[0] for row in rows]
    scores = _scores(connection, doc_ids, wanted, order, layout)
    return Candidates(doc_ids, Scored(np.arange(len(doc_ids)), scores), [row[1:] for row in rows])


def _chosen(
    connection: Connection, text: str, asked: Sequence[str], layout: Layout, filters: Condition
) -> list[tuple[Any, ...]]:
    condition, values = filters
    ways = []
    if asked:
        matches, queries = _matches(asked, " AND ")
        ways.append(_BY_WORDS.format(matches=matches, filters=condition))
        values = values | queries
    part = plain(text)
    if layout.substring and part and is_storable(part):
        ways.append(_BY_PART.format(filters=condition))
        values = values | {"part": part}
    if not ways:
        return []
    return _rows(connection, " UNION ".join(ways), values, layout)


def _any_word(
    connection: Connection, asked: Sequence[str], layout: Layout, filters: Condition
) -> list[tuple[Any, ...]]:
    matches, queries = _matches(asked, " OR ")
    chosen = _BY_WORDS.format(matches=f"({matches})", filters=filters[0])
    return _rows(connection, chosen, filters[1] | queries, layout)


def _matches(asked: Sequence[str], joint: str) -> tuple[str, dict[str, Any]]:
    """Return the condition that words stand in a document, all (AND) or any (OR) of them.

    Only letters and digits are left in the words, so none is an operator but the word "or", which
    is a stop word and not among them.
    """
    pieces = [asked[i : i + PIECE] for i in range(0, len(asked), PIECE)]
    between = " " if joint == " AND " else " or "
    queries = {f"q{i}": between.join(piece) for i, piece in enumerate(pieces)}
    matches = [f"d.words @@ websearch_to_tsquery('english', %({name})s)" for name in queries]
    return joint.join(matches), queries


def _rows(
    connection: Connection, chosen: str, values: dict[str, Any], layout: Layout
) -> list[tuple[Any, ...]]:
    ties, names = columns(layout.ties)
    statement = _CANDIDATES.format(ties=ties, chosen=chosen)
    return connection.execute(statement.encode(), values | names).fetchall()


def _scores(
    connection: Connection,
    doc_ids: list[str],
    wanted: Counter[str],
    order: Mapping[str, str],
    layout: Layout,
) -> NDArray[np.float64]:
    """Compute as `BM25F.build` and `BM25F.scores` do, with the same sums in the same order."""
    given = {"ids": doc_ids, "fields": list(layout.weights), "lexemes": list(wanted)}
    found = connection.execute(_OCCURRENCES, given).fetchall() if doc_ids and wanted else []
    if not found:
        return np.zeros(len(doc_ids))
    terms = sorted({row[1] for row in found}, key=order.__getitem__)
    place = {term: i for i, term in enumerate(terms)}
    n_docs, average, df = _statistics(connection, terms, layout)
    by_field: dict[str, list[tuple[int, int, int]]] = {}
    for field, lexeme, number, count, length in found:
        key = place[lexeme] * len(doc_ids) + number
        by_field.setdefault(field, []).append((key, count, length))
    parts = {field: np.array(sorted(rows), np.int64).T for field, rows in by_field.items()}
    keys = reduce(np.union1d, [part[0] for part in parts.values()])
    x = np.zeros(len(keys))
    for field in sorted(parts):
        own, counts, lengths = parts[field]
        shares = discounted(counts, lengths, average[field], layout.b)
        x[np.searchsorted(keys, own)] += layout.weights[field] * shares
    of_term, rows = np.divmod(keys, len(doc_ids))
    values = saturated(x, inverse_frequency(df, n_docs)[of_term], layout.k1)
    repeated = np.array([wanted[term] for term in terms])[of_term]
    total = np.bincount(rows, values * repeated, minlength=len(doc_ids))
    return total.astype(np.float64, copy=False)


def _statistics(
    connection: Connection, terms: list[str], layout: Layout
) -> tuple[int, dict[str, float], NDArray[np.int64]]:
    """Return the number of documents, each field's mean length, and the documents of each term."""
    row = connection.execute("SELECT count(*) FROM document").fetchone()
    n_docs = int(row[0]) if row else 0
    lengths = connection.execute(_LENGTHS, (list(layout.weights),)).fetchall()
    frequencies = dict(connection.execute(_FREQUENCIES, (terms,)).fetchall())
    df = np.array([frequencies[term] for term in terms], np.int64)
    return n_docs, {field: total / n_docs for field, total in lengths}, df
