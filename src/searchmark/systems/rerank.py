"""A reranker over another system: its first results are scored anew, each beside the query."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from searchmark.errors import Problem, SystemFailedError, described
from searchmark.retrieval.sentences import PREFIX
from searchmark.systems.imported import reference_problems
from searchmark.systems.parts import part_problem
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Answer, Context, Entry, Hit, Kind, Query, System, Tag
from searchmark.systems.scoring import (
    EndpointConfig,
    Scorer,
    endpoint_problems,
    open_callable,
    open_endpoint,
    open_model,
)

_log = logging.getLogger(__name__)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "rerank"``.

    `of` names the system whose first `depth` results are put in the order of their new scores; ties
    and the results behind keep their old order. `fields`, joined by blanks, are what the reranker
    reads of a document. It is one of `model` (``sentence-transformers:NAME``, a cross-encoder),
    `callable` (``module:function``, called with the query and a list of texts) and `endpoint`.
    Where it fails, the query fails, unless `on_failure` keeps the old order and calls it partial.
    """

    of: str
    depth: int = 100
    fields: list[str] = msgspec.field(default_factory=lambda: ["title", "text"])
    model: str | None = None
    callable: str | None = None
    endpoint: EndpointConfig | None = None
    on_failure: Literal["error", "keep"] = "error"
    tags: list[Tag] = []


@dataclass(frozen=True, slots=True, eq=False)
class RerankSystem:
    """Asks the first stage, then the reranker."""

    name: str
    first: System
    scorer: Scorer
    text_of: Mapping[str, str]
    config: Config
    tags: frozenset[str]
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the first stage's results in their new order."""
        answer = self.first.search(query, max(k, self.config.depth))
        head, tail = answer.hits[: self.config.depth], answer.hits[self.config.depth :]
        if not head:
            return answer
        try:
            texts = [self.text_of.get(hit.doc_id, "") for hit in head]
            scores = self.scorer.score(query.text, texts)
        except Exception as error:
            if self.config.on_failure == "error":
                raise
            why = described(error)
            _log.warning("%s: the reranker failed on %s: %s", self.name, query.query_id, why)
            return Answer(answer.hits[:k], partial=True, total=answer.total)
        hits = (*_reordered(head, scores), *(Hit(h.doc_id, None, h.tokens) for h in tail))
        return Answer(hits[:k], answer.partial, total=answer.total)


def _reordered(hits: tuple[Hit, ...], scores: list[float]) -> list[Hit]:
    """Return hits with their new scores, greatest first; equal ones keep their order."""
    scored = [Hit(h.doc_id, s, h.tokens) for h, s in zip(hits, scores, strict=True)]
    return sorted(scored, key=lambda hit: -(hit.score or 0.0))


@contextmanager
def open_rerank(name: str, config: Config, context: Context) -> Iterator[System]:
    """Open the first stage and the reranker."""
    first = context.open(config.of)
    corpus = context.corpus
    text_of = dict(zip(corpus.doc_ids, corpus.joined(config.fields), strict=True))
    identity = {f"{config.of}.{key}": value for key, value in first.identity.items()}
    with ExitStack() as stack:
        scorer = stack.enter_context(_opened(name, config, context))
        identity |= scorer.identity
        tags = frozenset(config.tags) or first.tags
        yield RerankSystem(name, first, scorer, text_of, config, tags, identity)


@contextmanager
def _opened(name: str, config: Config, context: Context) -> Iterator[Scorer]:
    if config.model is not None:
        yield open_model(config.model.removeprefix(PREFIX), context.folder)
    elif config.callable is not None:
        with open_callable(config.callable, name, context.folder) as scorer:
            yield scorer
    elif config.endpoint is not None:
        with open_endpoint(config.endpoint, context) as asked:
            yield asked
    else:
        raise SystemFailedError(f"system '{name}' has no reranker")


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report a first stage that cannot be one, and anything but exactly one reranker."""
    found = []
    if problem := part_problem(name, config.of, systems, "of"):
        found.append(problem)
    if config.depth < 1:
        found.append(Problem("depth", f"{config.depth} is not 1 or more"))
    if not config.fields:
        found.append(Problem("fields", "names no field; give at least one"))
    given = [key for key in ("model", "callable", "endpoint") if getattr(config, key) is not None]
    if len(given) != 1:
        key, told = (
            ("model", "is missing") if not given else (given[1], f"stands beside {given[0]}")
        )
        found.append(Problem(key, f"{told}; give one of model, callable and endpoint"))
    if config.model is not None and not config.model.removeprefix(PREFIX).strip():
        found.append(Problem("model", "names no model"))
    if config.model is not None and not config.model.startswith(PREFIX):
        found.append(Problem("model", f"'{config.model}' does not begin with '{PREFIX}'"))
    if config.callable is not None:
        found += reference_problems(config.callable, "callable")
    if config.endpoint is not None:
        found += endpoint_problems(config.endpoint)
    return found


RERANK = Kind(Config, open_rerank, find_problems, calls=CallPolicy(retries=3))
