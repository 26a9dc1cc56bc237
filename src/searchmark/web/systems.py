"""The embedded index: a system of the project, asked exactly as it was evaluated."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from searchmark.data.corpus import Corpus
from searchmark.data.filters import Filter, allowed
from searchmark.errors import InputError, SearchmarkError, failure_text
from searchmark.retrieval.catalogs import DEPTH, Found, Health, Mode, Page
from searchmark.systems import SYSTEMS
from searchmark.systems.bm25 import Config as WordsConfig
from searchmark.systems.bm25 import open_bm25
from searchmark.systems.dense import Config as DenseConfig
from searchmark.systems.hybrid import Config as HybridConfig
from searchmark.systems.protocol import Answer, Context, Entry, Hit, Query, System
from searchmark.web.arm import GuardedEncoder
from searchmark.web.dense import DenseArm, open_arm

KINDS = ("bm25", "dense", "hybrid")


@dataclass(frozen=True, slots=True, eq=False)
class SystemCatalog:
    """A catalog in memory; see `CatalogSearch`.

    `words` answers where `system` has nothing but vectors and its encoder fails. `arm` is None
    where the system has no vectors. `depth` is how many results of an arm are fused: where a fusion
    has as many or more, an arm may have found others, and nobody knows how many.
    """

    system: System
    corpus: Corpus
    words: System | None
    arm: DenseArm | None
    depth: int | None = None
    documents: Mapping[str, Mapping[str, Any]] = field(init=False, repr=False)
    by_id: tuple[str, ...] = field(init=False, repr=False)
    rows: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rows = self.corpus.frame.to_dicts()
        object.__setattr__(self, "documents", {row["doc_id"]: row for row in rows})
        object.__setattr__(self, "by_id", tuple(sorted(self.documents)))
        object.__setattr__(self, "rows", {d: row for row, d in enumerate(self.documents)})

    def search(
        self,
        text: str,
        limit: int,
        offset: int = 0,
        *,
        mode: Mode = "fused",
        filters: tuple[Filter, ...] = (),
    ) -> Page:
        """Return the documents at the places `offset` to `offset + limit` of the ranking.

        The ranking is the system's own, whatever the mode.
        """
        k = max(DEPTH, offset + limit)
        answer, why = self._ask(Query("served", text, filters), k)
        hits = answer.hits[offset : offset + limit]
        found = tuple(self._found(hit) for hit in hits)
        known = k if self.depth is None else min(k, self.depth)
        total = len(answer.hits) if len(answer.hits) < known else None
        return Page(found, answer.partial or self._lacks_vectors, total, why)

    def browse(self, filters: tuple[Filter, ...], limit: int, after: str | None = None) -> Page:
        """Return documents that pass the filters by ascending id, those behind the id `after`."""
        passed = self.by_id
        if filters:
            mask = allowed(self.corpus.frame, filters)
            kept = {d for d, is_in in zip(self.corpus.doc_ids, mask, strict=True) if is_in}
            passed = tuple(d for d in self.by_id if d in kept)
        ids = [d for d in passed if after is None or d > after][:limit]
        return Page(tuple(Found(d, None, self.documents[d]) for d in ids), total=len(passed))

    def health(self) -> Health:
        """Return how the catalog is."""
        if self.arm is None:
            return Health(len(self.by_id), 0, 0, 0, "", "ok")
        n = self.arm.n_vectors
        dense = self.arm.guard.why or ("ok" if n else "the catalog has no vectors")
        return Health(len(self.by_id), 0, 0, n, self.arm.generation, dense)

    @property
    def guard(self) -> GuardedEncoder | None:
        """What stands before the encoder; None where the system has no vectors."""
        return None if self.arm is None else self.arm.guard

    @property
    def _lacks_vectors(self) -> bool:
        return self.arm is not None and not self.arm.n_vectors

    def _found(self, hit: Hit) -> Found:
        best = None if self.arm is None else self.arm.best_text(hit.doc_id, self.rows[hit.doc_id])
        return Found(hit.doc_id, hit.score, self.documents[hit.doc_id], best)

    def _ask(self, query: Query, k: int) -> tuple[Answer, str]:
        try:
            return self.system.search(query, k), ""
        except InputError:
            raise
        except SearchmarkError as error:
            if self.words is None:
                raise
            return replace(self.words.search(query, k), partial=True), failure_text(error)


@contextmanager
def open_system(
    systems: Mapping[str, Entry], name: str, context: Context
) -> Iterator[SystemCatalog]:
    """Open a built-in system of a project without the limits that hold in an evaluation."""
    with ExitStack() as stack:
        parts = _Parts(systems, context, stack)
        system = parts.open(name)
        words = None
        if isinstance(system, DenseArm):
            config = systems[name].config
            assert isinstance(config, DenseConfig)
            words = stack.enter_context(open_bm25(name, _words_config(config), context))
        yield SystemCatalog(system, context.corpus, words, parts.arm, parts.depth)


class _Parts:
    """Opens a system and those it is made of, once each, their encoders guarded."""

    def __init__(self, systems: Mapping[str, Entry], context: Context, stack: ExitStack) -> None:
        self._systems, self._stack = systems, stack
        self._context = replace(context, open=self.open)
        self._open: dict[str, System] = {}
        self.arm: DenseArm | None = None
        self.depth: int | None = None

    def open(self, name: str) -> System:
        if name not in self._open:
            self._open[name] = self._opened(self._systems[name])
        return self._open[name]

    def _opened(self, entry: Entry) -> System:
        if entry.use not in KINDS:
            raise InputError(
                f"system '{entry.name}' is of the kind '{entry.use}', which is not served",
                fix=f"name one of the kinds {', '.join(KINDS)}, made of such ones alone",
            )
        context = replace(self._context, calls=entry.calls)
        if isinstance(entry.config, DenseConfig):
            return self._dense(entry.name, entry.config, context)
        if isinstance(entry.config, HybridConfig):
            self.depth = min(self.depth or entry.config.depth, entry.config.depth)
        opened = SYSTEMS.load(entry.use).open(entry.name, entry.config, context)
        system: System = self._stack.enter_context(opened)
        return system

    def _dense(self, name: str, config: DenseConfig, context: Context) -> DenseArm:
        if self.arm is not None:
            raise InputError("a hybrid of two dense systems is not served", fix="leave out one")
        self.arm = self._stack.enter_context(open_arm(name, config, context))
        return self.arm


def _words_config(config: DenseConfig) -> WordsConfig:
    """Return the search by words over the fields of a search by meaning."""
    names = [n for part in config.fields for n in ([part] if isinstance(part, str) else part)]
    return WordsConfig(
        fields=list(dict.fromkeys(names)), constraints=config.constraints, ties=config.ties
    )
