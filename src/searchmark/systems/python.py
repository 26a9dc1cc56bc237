"""A Python callable as a system: text and depth in, document ids (and scores) out."""

import inspect
import re
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

from searchmark.errors import (
    InputError,
    Problem,
    SystemFailedError,
    SystemTimeoutError,
    failure_text,
)
from searchmark.systems.eventloop import EventLoop
from searchmark.systems.guard import Call, guarded
from searchmark.systems.imported import import_object, on_path, reference_problems
from searchmark.systems.living import living
from searchmark.systems.protocol import Answer, Context, Entry, Kind, Query, System, Tag
from searchmark.systems.returned import answer_of, answers_of

T = TypeVar("T")


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "python"``.

    `callable` is ``module:function``, looked up beside the project file first; a class is made
    without arguments. With `factory` the function is called once and gives what answers, perhaps
    as a context manager. It is called with the query and the depth, and returns document ids or
    (id, score) pairs, best first; no more than the depth are taken. `takes` says whether it is
    given the query's text or the Query; without it the annotation of its first parameter does.
    With `batch_form` it is given a list of queries and returns a list for each. `tags` says what
    it is: lexical, vector, hybrid.
    """

    callable: str
    takes: Literal["text", "query"] | None = None
    batch_form: bool = False
    factory: bool = False
    tags: list[Tag] = []


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """Calls the user's function where it can do no harm; on the loop where it is async."""

    call: Callable[[Any, int], Any]
    loop: EventLoop
    is_async: bool
    timeout_s: float | None

    def read(self, asked: object, k: int, most: int, reader: Callable[[object], T]) -> T:
        """Return what `reader` makes of what the function returns; it may be a generator."""
        if self.is_async:
            return self._awaited(lambda: self.call(asked, k), most, reader)
        with guarded():
            found = self.call(asked, k)
            if not isinstance(found, Awaitable | AsyncIterator):
                return reader(found)
        return self._awaited(lambda: found, most, reader)

    def _awaited(self, make: Callable[[], Any], most: int, reader: Callable[[object], T]) -> T:
        call = Call()

        async def work() -> T:
            with guarded(call):
                found = make()
                if isinstance(found, Awaitable):
                    found = await found
                if isinstance(found, AsyncIterator):
                    found = await _first(found, most)
                return reader(found)
            raise SystemFailedError("returned nothing")  # for the type checker: guarded() raises

        try:
            return self.loop.run(work(), self.timeout_s)
        except SystemTimeoutError:
            call.abandon()  # what it does while it is cancelled is no result
            raise


async def _first(found: AsyncIterator[T], most: int) -> list[T]:
    """Return no more than `most`, and end what gives them."""
    items: list[T] = []
    try:
        async for item in found:
            items.append(item)
            if len(items) == most:
                break
    finally:
        if inspect.isasyncgen(found):
            await found.aclose()
    return items


@dataclass(frozen=True, slots=True, eq=False)
class PythonSystem:
    """Calls the function once a query."""

    name: str
    function: Function
    takes_query: bool = False
    tags: frozenset[str] = frozenset()
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return what the function returns, cut at `k`."""
        asked = query if self.takes_query else query.text
        return self.function.read(asked, k, k, lambda found: answer_of(found, k))


@dataclass(frozen=True, slots=True, eq=False)
class PythonBatchSystem:
    """Calls the function with several queries."""

    name: str
    function: Function
    takes_query: bool = False
    tags: frozenset[str] = frozenset()
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Ask for one."""
        (answer,) = self.search_many([query], k)
        if isinstance(answer, SystemFailedError):
            raise answer
        return answer

    def search_many(self, queries: Sequence[Query], k: int) -> list[Answer | SystemFailedError]:
        """Return what the function returns for each, cut at `k`."""
        asked = [q if self.takes_query else q.text for q in queries]
        n = len(asked)
        return self.function.read(asked, k, n + 1, lambda found: answers_of(found, n, k))


@contextmanager
def open_python(name: str, config: Config, context: Context) -> Iterator[System]:
    """Import the function, and make what has a life; it is closed at the end."""
    if context.calls.batch > 1 and not config.batch_form:
        raise InputError(
            f"system '{name}' has batch = {context.calls.batch}, and its function takes one query",
            fix="write a function that takes a list of queries, and set batch_form = true",
        )
    found = import_object(config.callable, key="callable", system=name, folder=context.folder)
    with EventLoop() as loop, _living(found.value, loop, name, config, context) as function:
        if not callable(function):
            raise InputError(f"'{config.callable}' of system '{name}' is not callable")
        caller = Function(function, loop, _is_async(function), context.calls.timeout_s)
        kind = PythonBatchSystem if config.batch_form else PythonSystem
        takes_query = _takes_query(function) if config.takes is None else config.takes == "query"
        yield kind(name, caller, takes_query, frozenset(config.tags), found.identity)


@contextmanager
def _living(
    value: Any, loop: EventLoop, name: str, config: Config, context: Context
) -> Iterator[Any]:
    """Give the function itself, or what a class or a factory makes, which is closed at the end."""
    if not (config.factory or isinstance(value, type)) or not callable(value):
        yield value
        return
    with ExitStack() as stack:
        told = f"the callable '{config.callable}' of system '{name}' made no client"
        try:
            with on_path(context.folder):
                made = stack.enter_context(living(value, loop, name))
        except KeyboardInterrupt:
            raise
        except SystemTimeoutError as error:
            raise SystemTimeoutError(f"{told}: it {error}") from None
        except BaseException as error:  # whatever a client does while it opens
            raise InputError(
                f"{told} ({failure_text(error)})", fix="it is called once, without arguments"
            ) from error
        yield made


def _is_async(function: Callable[..., Any]) -> bool:
    """Tell whether calling it gives what must be awaited; such calls begin on the loop too."""
    called = function if inspect.isroutine(function) else getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called)


def _takes_query(function: Callable[..., Any]) -> bool:
    """Tell whether the first parameter is annotated as a Query, or a list of them."""
    called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    try:
        first = next(iter(inspect.signature(function).parameters.values()))
    except (StopIteration, TypeError, ValueError):
        return False  # what is written in C has no signature
    annotation: Any = first.annotation
    try:
        annotation = typing.get_type_hints(called).get(first.name, annotation)
    except Exception:  # a name that is known to type checkers alone
        return isinstance(annotation, str) and bool(re.search(r"(?:^|[\[.])Query\b", annotation))
    return annotation is Query or Query in typing.get_args(annotation)


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report a callable that is not written as module:function."""
    return reference_problems(config.callable, "callable")


PYTHON = Kind(Config, open_python, find_problems)
