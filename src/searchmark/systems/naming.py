"""Errors of a system as a whole, with its name and where the project file has it."""

import copy
from pathlib import Path
from typing import NamedTuple

from searchmark.errors import (
    InputError,
    OutsideError,
    SearchmarkError,
    SystemFailedError,
    described,
    shown_path,
)


class Place(NamedTuple):
    """Where a system stands: the project file and the line; None for what nobody knows."""

    path: Path | None = None
    line: int | None = None

    @property
    def shown(self) -> str:
        """How messages name it."""
        path = "" if self.path is None else shown_path(self.path)
        return path + ("" if self.line is None else f":{self.line}")


def opening_error(error: BaseException, name: str, place: Place) -> SearchmarkError:
    """Return what is told of a system that cannot be opened: a wrong configuration stays one."""
    if isinstance(error, InputError):
        return input_error(error, name, place)
    return _outside(error, name, place, "cannot be opened")


def closing_error(error: BaseException, name: str, place: Place) -> SearchmarkError:
    """Return what is told of a system that could not be closed; its answers count all the same."""
    return _outside(error, name, place, "could not be closed")


def input_error(error: InputError, name: str, place: Place) -> InputError:
    """Return the error with the system's name, and its place; that of another file comes first."""
    is_named = f"'{name}'" in error.what or f"systems.{name}." in error.what
    if error.path is None or str(error.path) == str(place.path):
        what = error.what if is_named else f"system '{name}': {error.what}"
        path, line = place.path or error.path, error.line or place.line
        return InputError(what, path=path, line=line, fix=error.fix)
    parts = [*([] if is_named else [f"system '{name}'"]), *([place.shown] if place.path else [])]
    what = f"{error.what} ({', '.join(parts)})" if parts else error.what
    return InputError(what, path=error.path, line=error.line, fix=error.fix)


def _outside(error: BaseException, name: str, place: Place, what: str) -> SearchmarkError:
    told = str(error) if isinstance(error, SearchmarkError) else described(error)
    where = "" if place.path is None else f"{place.shown}: "
    begin = f"system '{name}' {what}"
    is_told = told.startswith(begin)
    text = where + (told if is_told else f"{begin}: {told.removeprefix(f'system {name!r}: ')}")
    if not isinstance(error, OutsideError):
        return SystemFailedError(text)
    found = copy.copy(error)
    found.args = (text,)
    return found
