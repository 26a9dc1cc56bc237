"""Objects of the user's own modules, named as ``module:attribute``, and optional libraries."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.data.files import sha256
from searchmark.errors import InputError, Problem, described
from searchmark.systems.guard import guarded


class Imported(NamedTuple):
    """An object, and the digest of the source it was defined in, where that is a file."""

    value: Any
    identity: dict[str, str]


def import_object(
    reference: str, *, key: str, system: str, folder: Path, makes: str | None = None
) -> Imported:
    """Import ``module:attribute``, with the project's folder on the path meanwhile.

    Where `makes` names a method that the attribute lacks, or it is a class, it is a factory and is
    called without arguments. Whatever the user's code does, it ends in an InputError here.
    """
    module, _, attribute = reference.partition(":")
    try:
        with on_path(folder), guarded():
            loaded = import_module(module)
            value = getattr(loaded, attribute)
            if makes and callable(value) and (isinstance(value, type) or not hasattr(value, makes)):
                value = value()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a module does while it is imported
        raise InputError(
            f"the {key} '{reference}' of system '{system}' cannot be imported ({described(error)})",
            fix=f"write {_form(key)}; the module may lie beside the project file",
        ) from error
    return Imported(value, _identity(loaded))


@contextmanager
def on_path(folder: Path) -> Iterator[None]:
    """Look for modules in the project's folder first."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(str(folder))


def import_library(module: str, install: str) -> Any:
    """Import an optional library; where it is not installed, an InputError says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f"this needs {module}, which cannot be imported ({described(error)})",
            fix=f"pip install {install}",
        ) from None


def reference_problems(reference: str, key: str) -> list[Problem]:
    """Report a text that is not written as module:attribute."""
    module, colon, attribute = reference.partition(":")
    if module and colon and attribute.isidentifier():
        return []
    return [Problem(key, f"'{reference}' is not written as {_form(key)}")]


def _form(key: str) -> str:
    return "module:function" if key == "callable" else "module:attribute"


def _identity(module: object) -> dict[str, str]:
    """Return the digest of the source: another version is another system, with its own answers."""
    source = getattr(module, "__file__", None)
    if not isinstance(source, str) or not Path(source).is_file():
        return {}
    return {"module": sha256(Path(source))}
