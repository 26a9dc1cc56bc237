"""A Haystack pipeline of the user's own as a system."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from searchmark.errors import Problem, SystemFailedError
from searchmark.systems.guard import guarded
from searchmark.systems.imported import reference_problems
from searchmark.systems.protocol import Answer, Context, Entry, Kind, Query, System, Tag
from searchmark.systems.retrieved import hits_of, path_problems
from searchmark.systems.retriever import Retriever, open_retriever
from searchmark.systems.template import fill_json, placeholders_in, template_problem, texts_in

METHODS = ("run", "run_async")

TELEMETRY = "HAYSTACK_TELEMETRY_ENABLED"
"""The library reports each use of a pipeline to its makers unless this says False."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "haystack"``.

    `retriever` is ``module:attribute``, a pipeline or a function that makes one, looked up beside
    the project file first. `inputs` is what it is run with, `output` the component and its output
    that holds the documents. `id` and `score` are where they stand in each document, such as
    ``meta.doc_id``. `tags` says what it is: lexical, vector, hybrid.
    """

    retriever: str
    inputs: dict[str, Any] = msgspec.field(
        default_factory=lambda: {"retriever": {"query": "{query}", "top_k": "{k}"}}
    )
    output: str = "retriever.documents"
    id: str = "id"
    score: str | None = "score"
    tags: list[Tag] = []


@dataclass(frozen=True, slots=True, eq=False)
class HaystackSystem:
    """Runs the pipeline once a query."""

    name: str
    pipeline: Retriever
    config: Config
    tags: frozenset[str]
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the documents that the pipeline puts out, cut at `k`."""
        inputs = fill_json(self.config.inputs, {"query": query.text, "k": k})
        component, _, output = self.config.output.rpartition(".")
        with guarded():
            asked = {"include_outputs_from": {component}}  # also where another component reads it
            outputs = self.pipeline.ask(METHODS, self.pipeline.value, inputs, **asked)
            found = _output(outputs, component, output)
            return Answer(hits_of(found, k, id=self.config.id, score=self.config.score))


def _output(outputs: Any, component: str, name: str) -> object:
    if not isinstance(outputs, Mapping):
        raise SystemFailedError(f"the pipeline returned {outputs!r:.100}, not its outputs")
    there = outputs.get(component)
    if not isinstance(there, Mapping) or name not in there:
        parts = {c: held for c, held in outputs.items() if isinstance(held, Mapping)}
        known = ", ".join(f"{c}.{o}" for c, held in parts.items() for o in held) or "nothing"
        raise SystemFailedError(
            f"the pipeline put out no '{component}.{name}' (it put out {known}); "
            "name the output that holds the documents with the key 'output'"
        )
    found: object = there[name]
    return found


@contextmanager
def open_haystack(name: str, config: Config, context: Context) -> Iterator[System]:
    """Import the pipeline, or what makes it; nothing is reported to anybody."""
    os.environ.setdefault(TELEMETRY, "False")
    opening = open_retriever(
        config.retriever,
        library="Haystack pipeline",
        methods=METHODS,
        system=name,
        folder=context.folder,
    )
    with opening as pipeline:
        yield HaystackSystem(name, pipeline, config, frozenset(config.tags), pipeline.identity)


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report names, paths and placeholders that are not written as such."""
    found = [
        *reference_problems(config.retriever, "retriever"),
        *path_problems(config.id, config.score),
    ]
    component, _, output = config.output.rpartition(".")
    if not component or not output:
        found.append(Problem("output", f"'{config.output}' is not written as component.output"))
    for key, text in texts_in(config.inputs, "inputs"):
        if wrong := template_problem(text, ("query", "k")):
            found.append(Problem(key, wrong))
    if "query" not in placeholders_in(config.inputs):
        found.append(Problem("inputs", "has no place for the query; write {query} somewhere"))
    return found


HAYSTACK = Kind(Config, open_haystack, find_problems)
