"""A Python callable as a system: text and depth in, document ids (and scores) out."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import GeneratorType
from typing import Any

import msgspec

from searchmark.data.files import sha256
from searchmark.errors import InputError, Problem, SystemFailedError, described
from searchmark.systems.guard import guarded
from searchmark.systems.protocol import Answer, Context, Entry, Hit, Kind, Query, System, Tag


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "python"``.

    `callable` is ``module:function``, looked up beside the project file first. It is called with
    the query text and the depth, and returns document ids or (id, score) pairs, best first; no more
    than the depth are taken, of a generator too, a repeated id being one of them. `tags` says what
    it is: lexical, vector, hybrid.
    """

    callable: str
    tags: list[Tag] = []


@dataclass(frozen=True, slots=True, eq=False)
class PythonSystem:
    """Calls the function once a query."""

    name: str
    function: Callable[[str, int], Any]
    tags: frozenset[str] = frozenset()
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return what the function returns, cut at `k`."""
        with guarded():
            found = self.function(query.text, k)
            _refuse_async(found)
            if found is None or isinstance(found, str | bytes):
                raise SystemFailedError(f"returned {found!r} where a list of ids is expected")
            hits = tuple(_hit(item) for item in islice(found, k))
            if isinstance(found, GeneratorType):
                found.close()  # what it still does belongs to this call
        return Answer(hits)


def _refuse_async(found: object) -> None:
    if isinstance(found, Coroutine):
        found.close()  # or else Python warns that nobody awaited it
    if isinstance(found, Awaitable | AsyncIterator):
        raise SystemFailedError("is async: return the list itself, or wrap it with asyncio.run")


def _hit(item: object) -> Hit:
    """Return the hit in Python's own types: ids and scores of NumPy are subclasses of them."""
    if isinstance(item, str):
        return Hit(str.__str__(item))
    if isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str):
        return Hit(str.__str__(item[0]), None if item[1] is None else float(item[1]))
    _refuse_async(item)
    raise SystemFailedError(f"returned {item!r}, which is neither an id nor an (id, score) pair")


@contextmanager
def open_python(name: str, config: Config, context: Context) -> Iterator[System]:
    """Import the function, with the project's folder on the path while it is imported."""
    module, _, attribute = config.callable.partition(":")
    sys.path.insert(0, str(context.folder))
    try:
        with guarded():
            loaded = import_module(module)
            function = getattr(loaded, attribute)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a module does while it is imported
        raise InputError(
            f"the callable '{config.callable}' of system '{name}' cannot be imported "
            f"({described(error)})",
            fix="write module:function; the module may lie beside the project file",
        ) from error
    finally:
        with suppress(ValueError):
            sys.path.remove(str(context.folder))
    if not callable(function):
        raise InputError(f"'{config.callable}' of system '{name}' is not callable")
    yield PythonSystem(name, function, frozenset(config.tags), _identity(loaded))


def _identity(module: object) -> dict[str, str]:
    """Return the digest of the source: another version is another system, with its own answers."""
    source = getattr(module, "__file__", None)
    if not isinstance(source, str) or not Path(source).is_file():
        return {}
    return {"module": sha256(Path(source))}


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report a callable that is not written as module:function."""
    module, colon, attribute = config.callable.partition(":")
    if module and colon and attribute.isidentifier():
        return []
    return [Problem("callable", f"'{config.callable}' is not written as module:function")]


PYTHON = Kind(Config, open_python, find_problems)
