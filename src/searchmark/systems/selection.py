"""What is read from an engine's answer: JMESPath expressions for ids, scores, costs and flags."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from jmespath.parser import Parser
from jmespath.visitor import TreeInterpreter

from searchmark.errors import InputError, Problem, SystemFailedError
from searchmark.systems.protocol import Answer, Hit

MOST_EXACT = 2.0**53
"""Whole numbers above this have lost digits once they are floats: no ids."""

MOST_COUNTED = 2**63 - 1
"""No engine holds more documents: a greater number is no count, and tables could not keep it."""


class _KeepsGaps(TreeInterpreter):  # type: ignore[misc]
    """JMESPath, but a list keeps its length where an element has nothing at the path.

    The standard drops such elements, so that a hit without an id would vanish and the scores of the
    others would move up by one.
    """

    def visit_projection(self, node: Any, value: Any) -> list[Any] | None:
        base = self.visit(node["children"][0], value)
        if not isinstance(base, list):
            return None
        return [self.visit(node["children"][1], element) for element in base]

    def visit_value_projection(self, node: Any, value: Any) -> list[Any] | None:
        base = self.visit(node["children"][0], value)
        if not isinstance(base, Mapping):
            return None
        return [self.visit(node["children"][1], element) for element in base.values()]

    def visit_filter_projection(self, node: Any, value: Any) -> list[Any] | None:
        base = self.visit(node["children"][0], value)
        if not isinstance(base, list):
            return None
        into, condition = node["children"][1], node["children"][2]
        return [self.visit(into, e) for e in base if self._is_true(self.visit(condition, e))]

    def visit_flatten(self, node: Any, value: Any) -> list[Any] | None:
        inner = node["children"][0]
        base = self.visit(inner, value)
        if not isinstance(base, list):
            return None
        merged: list[Any] = []
        for element in base:
            if isinstance(element, list):
                merged.extend(element)
            elif element is not None or "projection" not in inner["type"]:
                merged.append(element)  # a group without members has none
        return merged

    def visit_or_expression(self, node: Any, value: Any) -> Any:
        left = self.visit(node["children"][0], value)
        if not self._is_false(left):
            return left
        right = self.visit(node["children"][1], value)
        return left if left and right in (None, []) else right  # results without ids are not none

    def _is_false(self, value: Any) -> bool:
        gone = isinstance(value, list) and all(element is None for element in value)
        return gone or bool(super()._is_false(value))


class _OneList(_KeepsGaps):
    """The same, for what has to be one list of results.

    A list of lists in the answer is several rankings, or another shape than the expression is made
    for. Put end to end, as `[]` does, lists without elements would pass for an empty answer.
    Lists that the expression itself gathers (`groups[].docs[]`, `[a, b][]`) are joined.
    """

    def visit_flatten(self, node: Any, value: Any) -> list[Any] | None:
        inner = node["children"][0]
        if _is_path(inner):
            base = self.visit(inner, value)
            n_lists = sum(isinstance(e, list) for e in base) if isinstance(base, list) else 0
            if n_lists:
                raise ValueError(
                    f"of {len(base)} elements {n_lists} are lists, where one list of results is "
                    "expected; take one of them as in hits[0][].id, or join them as in "
                    "hits[*][].id"
                )
        return super().visit_flatten(node, value)


def _is_path(node: Any) -> bool:
    """Tell whether an expression leads to something in the document, and gathers nothing."""
    while node["type"] in ("subexpression", "pipe") and node["children"]:
        node = node["children"][-1]
    return node["type"] in ("identity", "current", "field", "index_expression", "index")


_INTERPRETER, _LISTS = _KeepsGaps(), _OneList()


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled expression and the key of the project file that holds it."""

    key: str
    expression: str
    tree: Any

    @property
    def shown(self) -> str:
        """How messages name it."""
        return f"{self.key} = '{self.expression}'"

    def find(self, document: Any) -> Any:
        """Return what stands at the path, None for nothing."""
        return self._found(document, _INTERPRETER)

    def find_results(self, document: Any) -> Any:
        """Return what stands at the path, which is to be one list; several are never joined."""
        return self._found(document, _LISTS)

    def _found(self, document: Any, interpreter: TreeInterpreter) -> Any:
        try:
            return interpreter.visit(self.tree, document)
        except (JMESPathError, TypeError, ValueError, ArithmeticError) as error:
            told = str(error).splitlines()[0]
            raise SystemFailedError(f"the answer does not fit {self.shown}: {told}") from error


def path_problem(expression: str) -> str | None:
    """Say why an expression is no JMESPath; None where it is one."""
    try:
        tree = Parser().parse(expression).parsed
    except (JMESPathError, ValueError) as error:
        told = " ".join(str(error).split("\n")[0].split())
        return f"'{expression}' is no JMESPath expression ({told})"
    unknown = [name for name in _functions(tree) if name not in Functions.FUNCTION_TABLE]
    return f"JMESPath has no function {unknown[0]}()" if unknown else None


def _functions(tree: Any) -> Iterator[str]:
    if isinstance(tree, Mapping):
        if tree["type"] == "function_expression":
            yield tree["value"]
        for child in tree["children"]:
            yield from _functions(child)


def compile_path(expression: str, key: str) -> Path:
    """Compile an expression; a wrong one is an InputError that names `key`."""
    problem = path_problem(expression)
    if problem is not None:
        raise InputError(f"{key}: {problem}")
    return Path(key, expression, Parser().parse(expression).parsed)


def ids_at(document: Any, path: Path) -> list[str]:
    """Return the ids in the engine's order; only a list without elements is empty."""
    return [_id(value, i, path) for i, value in enumerate(_list_at(document, path))]


def _id(value: Any, i: int, path: Path) -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) <= MOST_EXACT:
        return str(int(value))
    raise SystemFailedError(
        f"result {i + 1} has no id at {path.shown}: there is {kind_of(value)} where a text or a "
        "whole number is expected"
    )


def numbers_at(document: Any, path: Path, n: int) -> list[float | None]:
    """Return the `n` numbers at the path, None where a result has none."""
    values = _list_at(document, path)
    if len(values) != n:
        raise SystemFailedError(f"the answer has {len(values)} values at {path.shown} and {n} ids")
    return [_number(value, i, path) for i, value in enumerate(values)]


def _number(value: Any, i: int, path: Path) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        found = kind_of(value)
    else:
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if isfinite(number):
            return number
        found = str(value)[:40]
    raise SystemFailedError(
        f"result {i + 1} has {found} at {path.shown}, where a number is expected"
    )


def flag_at(document: Any, path: Path) -> bool:
    """Tell whether what stands at the path says yes: nothing, false, 0, "" and [] do not."""
    value = path.find(document)
    if isinstance(value, str):
        return value.strip().lower() not in ("", "false", "no", "0")
    return bool(value)


def count_at(document: Any, path: Path) -> int | None:
    """Return the count at the path, None where there is none."""
    value = path.find(document)
    if value is None:
        return None
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not 0 <= value <= MOST_COUNTED:
        found = str(value)[:40] if isinstance(value, int | float) else kind_of(value)
        raise SystemFailedError(f"the answer has {found} at {path.shown}, which is no count")
    return int(value)


def _list_at(document: Any, path: Path) -> list[Any]:
    found = path.find_results(document)
    if isinstance(found, list):
        return found
    if found is None:
        raise SystemFailedError(f"the answer has nothing at {path.shown}; {outline(document)}")
    raise SystemFailedError(
        f"the answer has {kind_of(found)} at {path.shown}, where a list is expected"
    )


def outline(document: Any) -> str:
    """Say what an answer is, so that a person finds the right path."""
    if isinstance(document, Mapping):
        names = [str(name)[:40] for name in document]
        if not names:
            return "it is {}"
        more = ", ..." if len(names) > 8 else ""
        return f"it holds {', '.join(names[:8])}{more}"
    return f"it is {kind_of(document)}"


def kind_of(value: Any) -> str:
    """Name a JSON value's type in plain words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "a text" if value else "an empty text"
    if isinstance(value, int | float):
        return f"the number {str(value)[:40]}"
    return "an object" if isinstance(value, Mapping) else f"a list of {len(value)}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The compiled paths of one system; `tokens` is a path or what every result costs."""

    ids: Path
    scores: Path | None = None
    tokens: Path | float | None = None
    partial: Path | None = None
    total: Path | None = None

    def hits(self, document: Any) -> list[Hit]:
        """Return every result of the document, in its order."""
        ids = ids_at(document, self.ids)
        scores = self._numbers(document, self.scores, len(ids))
        tokens = self._numbers(document, self.tokens, len(ids))
        return [Hit(*parts) for parts in zip(ids, scores, tokens, strict=True)]

    def answer(self, document: Any, k: int, *, size: int | None = None) -> Answer:
        """Return the first `k` results with the document's flag and total."""
        return Answer(
            tuple(self.hits(document)[:k]),
            self.partial is not None and flag_at(document, self.partial),
            total=None if self.total is None else count_at(document, self.total),
            size=size,
        )

    @staticmethod
    def _numbers(document: Any, path: Path | float | None, n: int) -> Sequence[float | None]:
        if isinstance(path, Path):
            return numbers_at(document, path, n) if n else []  # some leave all out with the ids
        return [path] * n


def selection(
    ids: str,
    scores: str | None = None,
    tokens: str | float | None = None,
    *,
    partial: str | None = None,
    total: str | None = None,
) -> Selection:
    """Compile the paths of one system; a wrong one is an InputError that names its key."""

    def path(expression: str | None, key: str) -> Path | None:
        return None if expression is None else compile_path(expression, key)

    return Selection(
        compile_path(ids, "ids"),
        path(scores, "scores"),
        path(tokens, "tokens") if isinstance(tokens, str) else tokens,
        path(partial, "partial"),
        path(total, "total"),
    )


def selection_problems(**expressions: str | float | None) -> list[Problem]:
    """Report expressions, given by their keys, that do not compile."""
    found = []
    for key, expression in expressions.items():
        if isinstance(expression, str) and (problem := path_problem(expression)) is not None:
            found.append(Problem(key, problem))
    return found
