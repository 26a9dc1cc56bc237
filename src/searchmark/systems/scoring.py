"""What scores texts beside a query: a cross-encoder, a function of the user's, an endpoint."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from searchmark.errors import InputError, Problem, SystemFailedError
from searchmark.retrieval.sentences import digest_weights, loaded
from searchmark.systems.eventloop import EventLoop
from searchmark.systems.guard import guarded
from searchmark.systems.imported import import_object
from searchmark.systems.jsonapi import JsonApi, api_problems, open_api
from searchmark.systems.protocol import Context
from searchmark.systems.selection import kind_of, outline

PATH = "/rerank"

GREATEST = sys.float_info.max
"""The greatest score; infinite ones are none."""


class Scorer(Protocol):
    """Scores texts beside a query; greater is better."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What its scores depend on beyond the configuration."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one finite number a text, or raise."""
        ...


class EndpointConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of `endpoint`.

    `url` is the API's address, to which ``/rerank`` is added, `model` what the server calls the
    model, `key` a bearer token as ``${NAME}``. `style` is the API: "cohere" (Cohere, Jina,
    llama.cpp, vLLM), "voyage", or "tei" (text-embeddings-inference). `batch` texts go at once.
    `max_bytes` is the longest answer that is read.
    """

    url: str
    model: str | None = None
    key: str | None = None
    style: Literal["cohere", "voyage", "tei"] = "cohere"
    batch: int = 1000
    max_bytes: int = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class EndpointScorer:
    """Asks a server, batch by batch."""

    api: JsonApi
    config: EndpointConfig
    identity: Mapping[str, str] = field(default_factory=dict)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return what the server says of each text, whatever order it says it in."""
        size = self.config.batch
        return [
            score
            for start in range(0, len(texts), size)
            for score in self._asked(query, list(texts[start : start + size]))
        ]

    def _asked(self, query: str, texts: list[str]) -> list[float]:
        shown = self.api.request.shown
        found = self.api.post(_body(self.config, query, texts)).document
        key, name = _PLACES[self.config.style]
        results = found if key is None else found.get(key) if isinstance(found, dict) else None
        if not isinstance(results, list):
            raise SystemFailedError(f"{shown} answered without a list of scores; {outline(found)}")
        given = {_place(r): r.get(name) for r in results if isinstance(r, dict)}
        if len(results) != len(texts) or set(given) != set(range(len(texts))):
            raise SystemFailedError(
                f"{shown}: {len(results)} scores came for {len(texts)} texts, or their index is "
                "not each text's once"
            )
        return numbers_of([given[place] for place in range(len(texts))], len(texts), shown)


_PLACES: Mapping[str, tuple[str | None, str]] = {
    "cohere": ("results", "relevance_score"),
    "voyage": ("data", "relevance_score"),
    "tei": (None, "score"),
}
"""Where each style has its list, and in it the score."""


def _body(config: EndpointConfig, query: str, texts: list[str]) -> dict[str, Any]:
    if config.style == "tei":
        return {"query": query, "texts": texts, "truncate": True}
    n = {"top_k": len(texts)} if config.style == "voyage" else {"top_n": len(texts)}
    model = {} if config.model is None else {"model": config.model}
    return {**model, "query": query, "documents": texts, **n}


def _place(result: Mapping[str, Any]) -> int:
    index = result.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else -1


@dataclass(frozen=True, slots=True, eq=False)
class CallableScorer:
    """Calls a function of the user's, which may be async."""

    function: Callable[[str, list[str]], Any]
    loop: EventLoop
    identity: Mapping[str, str] = field(default_factory=dict)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return what it returns."""
        with guarded():
            found = self.function(query, list(texts))
            if isawaitable(found):
                found = self.loop.run(_awaited(found))
            listed = found.tolist() if hasattr(found, "tolist") else found
            if not isinstance(listed, list | tuple):
                raise SystemFailedError(
                    f"returned {found!r:.100} where a list of scores is expected"
                )
            return numbers_of(list(listed), len(texts), "the callable")


async def _awaited(found: Any) -> Any:
    return await found


@dataclass(frozen=True, slots=True, eq=False)
class ModelScorer:
    """A cross-encoder that sentence-transformers runs."""

    model: Any
    identity: Mapping[str, str] = field(default_factory=dict)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the model's score of each pair."""
        pairs = [(query, text) for text in texts]
        found = self.model.predict(pairs, show_progress_bar=False, convert_to_numpy=True)
        return numbers_of(found.tolist(), len(texts), "the cross-encoder")


def numbers_of(values: list[Any], n: int, who: str) -> list[float]:
    """Return `n` finite numbers, or say which value is none."""
    if len(values) != n:
        raise SystemFailedError(f"{who} gave {len(values)} scores for {n} texts")
    for place, value in enumerate(values):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not -GREATEST <= value <= GREATEST:  # a whole number may be longer
            what = str(value)[:40] if is_number else kind_of(value)
            raise SystemFailedError(f"{who}: the score of text {place} is {what}, not a number")
    return [float(value) for value in values]


@contextmanager
def open_endpoint(config: EndpointConfig, context: Context) -> Iterator[EndpointScorer]:
    """Open the connections."""
    with open_api(config, PATH, context, table="endpoint") as api:
        yield EndpointScorer(api, config)


@contextmanager
def open_callable(reference: str, system: str, folder: Path) -> Iterator[CallableScorer]:
    """Import the function."""
    found = import_object(reference, key="callable", system=system, folder=folder)
    if not callable(found.value):
        raise InputError(f"'{reference}' of system '{system}' is not callable")
    with EventLoop() as loop:
        yield CallableScorer(found.value, loop, found.identity)


def open_model(name: str, folder: Path) -> ModelScorer:
    """Load a cross-encoder by its name on the hub, or from a folder, the project's first."""
    own = folder / name
    model = loaded("CrossEncoder", str(own) if own.is_dir() else name)
    return ModelScorer(model, {"model": digest_weights(model)})


def endpoint_problems(config: EndpointConfig) -> list[Problem]:
    """Report an endpoint that cannot be one."""
    found = api_problems(config, table="endpoint")
    if not 1 <= config.batch <= 10_000:
        found.append(Problem("endpoint.batch", f"{config.batch} is not from 1 to 10,000"))
    if config.style != "tei" and config.style != "cohere" and not config.model:
        found.append(Problem("endpoint.model", "names no model, which this style needs"))
    return found
