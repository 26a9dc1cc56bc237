"""Objects of the user's own modules, named as ``module:attribute``, and optional libraries."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.data.files import sha256
from searchmark.errors import (
    InputError,
    Problem,
    SystemTimeoutError,
    described,
    failure_text,
    shown_path,
)
from searchmark.systems.alarm import within
from searchmark.systems.guard import guarded

OPEN_S = 600.0
"""For so long what a user's module makes may take to open: it may read a large index."""

_OF_PROJECTS: dict[str, Path] = {}
"""Module -> the project's folder that it was found in: another project may have one so called."""


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
    told = f"the {key} '{reference}' of system '{system}'"
    with on_path(folder):
        _forget_others(folder)
        before = set(sys.modules)
        try:
            with guarded():
                loaded = import_module(module)
                value = getattr(loaded, attribute)
                is_factory = makes is not None and _is_factory(value, makes)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a module does while it is imported
            _note_own(set(sys.modules) - before, folder)
            why = f"{told} cannot be imported ({failure_text(error)})"
            raise InputError(why, fix=_fix(error, module, key, folder)) from error
        _note_own(set(sys.modules) - before, folder)
        if is_factory:
            value = _made(value, told)
    return Imported(value, _identity(loaded))


def _is_factory(value: Any, makes: str) -> bool:
    return callable(value) and (isinstance(value, type) or not hasattr(value, makes))


def _made(factory: Any, told: str) -> Any:
    def make() -> Any:
        with guarded():
            return factory()

    try:
        return within(OPEN_S, make)
    except KeyboardInterrupt:
        raise
    except SystemTimeoutError:
        raise SystemTimeoutError(f"{told} made nothing within {OPEN_S:g} s") from None
    except BaseException as error:  # whatever it does while it opens
        why = f"{told} made nothing ({failure_text(error)})"
        raise InputError(why, fix="it is called once, without arguments") from error


@contextmanager
def on_path(folder: Path) -> Iterator[None]:
    """Look for modules in the project's folder first."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(str(folder))


def _forget_others(folder: Path) -> None:
    """Let modules be found here that have the names of modules of other projects."""
    for name, home in list(_OF_PROJECTS.items()):
        if home != folder and _source(folder, name) is not None:
            sys.modules.pop(name, None)
            del _OF_PROJECTS[name]


def _note_own(names: set[str], folder: Path) -> None:
    """Note which modules are the project's; one that hides a module of Python's own is refused."""
    for name in names:
        if (source := _source(folder, name)) is None:
            continue
        file = getattr(sys.modules.get(name), "__file__", None)
        if not isinstance(file, str) or Path(file) != source:
            continue
        if name in sys.stdlib_module_names:
            del sys.modules[name]
            what = f"hides Python's own module '{name}', which libraries need"
            raise InputError(what, path=source, fix="rename the file")
        _OF_PROJECTS[name] = folder


def _source(folder: Path, module: str) -> Path | None:
    """Return the file in a folder that a module of this name is read from."""
    place = folder.joinpath(*module.split("."))
    for path in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if path.is_file():
            return path
    return None


def _fix(error: BaseException, module: str, key: str, folder: Path) -> str:
    """Say what to do about a module that cannot be imported, or that lacks the attribute."""
    if isinstance(error, ModuleNotFoundError) and error.name and error.name != module:
        return f"install the package that has '{error.name}' beside searchmark"
    file = getattr(sys.modules.get(module), "__file__", None)
    source = _source(folder, module)
    if source is not None and module in sys.modules and file != str(source):
        what = file if isinstance(file, str) else "Python itself"
        return f"{shown_path(source)} has the name of a module of {what}; rename it"
    return f"write {_form(key)}; the module may lie beside the project file"


def import_library(module: str, install: str) -> Any:
    """Import an optional library; where it is not installed, an InputError says how to get it."""
    try:
        with guarded():
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
