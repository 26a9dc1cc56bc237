"""A Python callable as a system: text and depth in, document ids (and scores) out."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from searchmark.data.files import sha256
from searchmark.errors import InputError, Problem, SystemFailedError
from searchmark.systems.protocol import Answer, Context, Entry, Hit, Kind, Query, System, Tag


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "python"``.

    `callable` is ``module:function``, looked up beside the project file first. It is called with
    the query text and the depth, and returns document ids or (id, score) pairs, best first. `tags`
    says what it is: lexical, vector, hybrid.
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
        with redirect_stdout(sys.stderr):  # standard output is for results
            found = self.function(query.text, k)
            if found is None or isinstance(found, str | bytes):
                raise SystemFailedError(f"returned {found!r} where a list of ids is expected")
            return Answer(tuple(_hit(item) for item in found)[:k])


def _hit(item: object) -> Hit:
    if isinstance(item, str):
        return Hit(item)
    if isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str):
        return Hit(item[0], None if item[1] is None else float(item[1]))
    raise SystemFailedError(f"returned {item!r}, which is neither an id nor an (id, score) pair")


@contextmanager
def open_python(name: str, config: Config, context: Context) -> Iterator[System]:
    """Import the function, with the project's folder on the path while it is imported."""
    module, _, attribute = config.callable.partition(":")
    sys.path.insert(0, str(context.folder))
    try:
        loaded = import_module(module)
        function = getattr(loaded, attribute)
    except Exception as error:  # whatever a module does while it is imported
        what = f"{type(error).__name__}: {error}"
        raise InputError(
            f"the callable '{config.callable}' of system '{name}' cannot be imported ({what})",
            fix="write module:function; the module may lie beside the project file",
        ) from error
    finally:
        sys.path.remove(str(context.folder))
    if not callable(function):
        raise InputError(f"'{config.callable}' of system '{name}' is not callable")
    source = getattr(loaded, "__file__", None)
    # another version of the function is another system: its answers are never mixed with this one's
    identity = {"module": sha256(Path(source))} if source else {}
    yield PythonSystem(name, function, frozenset(config.tags), identity)


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report a callable that is not written as module:function."""
    module, colon, attribute = config.callable.partition(":")
    if module and colon and attribute.isidentifier():
        return []
    return [Problem("callable", f"'{config.callable}' is not written as module:function")]


PYTHON = Kind(Config, open_python, find_problems)
