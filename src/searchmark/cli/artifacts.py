"""Files that a command writes besides what it prints, for what comes after it in a build."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from searchmark.data.files import check_writable
from searchmark.errors import InputError


def clear(files: Mapping[str, Path], inputs: Iterable[Path]) -> None:
    """Make room for `files`, given by option, before anything long starts.

    Whatever an earlier call left there is removed, so that it cannot be taken for this one's. A
    path that cannot be written to, is named twice or is one of the `inputs` is an InputError.
    """
    taken = {os.path.realpath(path): f"{path} is read by the gate" for path in inputs}
    for option, path in files.items():
        real = os.path.realpath(path)
        if real in taken:
            raise InputError(f"{option} names a file that is in use: {taken[real]}", fix=_FIX)
        taken[real] = f"{path} is written by {option}"
        _check(option, path)
    for path in files.values():
        if path.is_file():  # /dev/null and its like are written to, not removed
            Path(os.path.realpath(path)).unlink()


_FIX = "name another one"


def _check(option: str, path: Path) -> None:
    try:
        check_writable(path)
    except OSError as error:
        what = f"{option}: nothing can be written to it ({error.strerror})"
        raise InputError(what, path=error.filename or path, fix=_FIX) from error
