"""The catalog in memory, over the built-in indexes: what the one in PostgreSQL has to equal.

Beside the systems of a project it knows best texts, offsets, totals and filters.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.data.corpus import Corpus
from searchmark.data.filters import Filter, allowed
from searchmark.errors import failure_text
from searchmark.retrieval.bm25f import BM25F
from searchmark.retrieval.catalogs import DEPTH, Found, Health, Mode, Page
from searchmark.retrieval.constraints import extract
from searchmark.retrieval.dense import DenseIndex
from searchmark.retrieval.encoders import Encoder, encode_query
from searchmark.retrieval.fusion import reciprocal_rank_fusion
from searchmark.retrieval.layout import Layout
from searchmark.retrieval.ordering import Scored, priority, top
from searchmark.retrieval.vectors import VectorCache, encode_cached

_log = logging.getLogger(__name__)

Mask = NDArray[np.bool_] | None


class EmbeddedCatalog:
    """The documents of a corpus; see `CatalogSearch`.

    Without an encoder there is no dense arm, and answers that need one are partial. `cache` keeps
    the vectors.
    """

    def __init__(
        self,
        corpus: Corpus,
        layout: Layout,
        encoder: Encoder | None = None,
        cache: VectorCache | None = None,
    ) -> None:
        self.layout, self.encoder = layout, encoder
        self._documents = corpus.frame.to_dicts()
        self._frame = corpus.frame
        self.doc_ids = tuple(corpus.doc_ids)
        self._row = {doc_id: row for row, doc_id in enumerate(self.doc_ids)}
        self._by_id = sorted(self._row)
        keys = [corpus.frame[t].to_list() for t in layout.ties if t in corpus.frame.columns]
        self._order = priority(self.doc_ids, *keys)
        self._by_id_alone = priority(self.doc_ids)
        self._words = BM25F.build(
            {f: corpus.texts(f) for f in layout.weights},
            weights=layout.weights,
            k1=layout.k1,
            b=layout.b,
            substring={f: corpus.texts(f) for f in layout.substring} or None,
        )
        self._texts, owner = self._texts_of(self._documents)
        self._dense = None if encoder is None else self._embedded(encoder, cache, owner)

    def _texts_of(self, documents: Sequence[dict[str, Any]]) -> tuple[list[str], list[int]]:
        texts, owner = [], []
        for row, document in enumerate(documents):
            for one in self.layout.texts(document):
                texts.append(one.text)
                owner.append(row)
        return texts, owner

    def _embedded(
        self, encoder: Encoder, cache: VectorCache | None, owner: list[int]
    ) -> DenseIndex:
        texts = self._texts
        made = encoder.encode(texts) if cache is None else encode_cached(cache, encoder, texts)
        return DenseIndex(made, np.array(owner, np.int64), len(self.doc_ids))

    def search(
        self,
        text: str,
        limit: int,
        offset: int = 0,
        *,
        mode: Mode = "fused",
        filters: tuple[Filter, ...] = (),
    ) -> Page:
        """Return the documents at the places `offset` to `offset + limit`; see `CatalogSearch`."""
        wanted = extract(text, self.layout.constraints)
        mask = self._mask((*filters, *wanted.filters))
        if mode == "bm25":
            scored = self._by_words(wanted.text, mask, relax=self.layout.relax)
            return self._page(scored, limit, offset)
        vector, why = self._vector(wanted.text)
        if vector is None or self._dense is None:
            scored = self._by_words(wanted.text, mask, relax=False)
            return self._page(scored, limit, offset, why=why)
        near = self._dense.scores(vector, mask)
        if mode == "dense":
            return self._page(near, limit, offset, vector)
        words = self._by_words(wanted.text, mask, relax=False)
        # as in a hybrid of plain arms: the configured ties order what is shown
        arms = [top(arm, self._by_id_alone, DEPTH).rows for arm in (words, near)]
        page = self._page(reciprocal_rank_fusion(arms), limit, offset, vector)
        is_cut = max(len(words.rows), len(near.rows)) > DEPTH
        return replace(page, total=None) if is_cut else page

    def browse(self, filters: tuple[Filter, ...], limit: int, after: str | None = None) -> Page:
        """Return documents by ascending id, those behind the id `after`; see `CatalogSearch`."""
        mask = self._mask(filters)
        passed = [d for d in self._by_id if mask is None or mask[self._row[d]]]
        ids = [d for d in passed if after is None or d > after][:limit]
        found = tuple(Found(d, None, self._documents[self._row[d]]) for d in ids)
        return Page(found, total=len(passed))

    def health(self) -> Health:
        """Return how the catalog is; see `CatalogSearch`."""
        generation = "" if self.encoder is None else self.encoder.generation.key
        n_vectors = len(self._texts) if self._dense is not None else 0
        dense = "ok" if n_vectors else _NO_MODEL if self.encoder is None else _NO_VECTORS
        return Health(len(self.doc_ids), 0, 0, n_vectors, generation, dense)

    def _mask(self, filters: tuple[Filter, ...]) -> Mask:
        """Return which documents pass; none passes a filter on a field that none has."""
        if any(f.field not in self._frame.columns for f in filters):
            return np.zeros(len(self.doc_ids), np.bool_)
        return allowed(self._frame, filters) if filters else None

    def _by_words(self, text: str, mask: Mask, *, relax: bool) -> Scored:
        return self._words.scores(text, fallback=relax, allowed=mask)

    def _vector(self, text: str) -> tuple[NDArray[np.float32] | None, str]:
        """Return the query's vector; where there is none, None and the reason."""
        if self.encoder is None:
            return None, _NO_MODEL
        if not self._texts:
            return None, _NO_VECTORS
        try:
            return encode_query(self.encoder, text), ""
        except Exception as error:
            why = failure_text(error)
            _log.warning("the dense arm failed: %s", why)
            return None, why

    def _page(
        self,
        scored: Scored,
        limit: int,
        offset: int,
        vector: NDArray[np.float32] | None = None,
        why: str = "",
    ) -> Page:
        best = top(scored, self._order, limit + offset)
        pairs = zip(best.rows[offset:].tolist(), best.scores[offset:].tolist(), strict=True)
        found = tuple(
            Found(self.doc_ids[row], score, self._documents[row], self._best_text(row, vector))
            for row, score in pairs
        )
        return Page(found, bool(why), len(scored.rows), why, bool(why))

    def _best_text(self, row: int, vector: NDArray[np.float32] | None) -> str | None:
        if vector is None or self._dense is None or not vector.any():
            return None
        place = self._dense.best_text(vector, row)
        return None if place is None else self._texts[place]


_NO_MODEL = "there is no embedding model"
_NO_VECTORS = "the catalog has no vectors"
