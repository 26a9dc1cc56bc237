"""Where a program lies, what it is started with, and what tells it from another release."""

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from searchmark.data.files import sha256
from searchmark.errors import InputError
from searchmark.systems.secrets import Secrets

NEEDED = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""What a clean environment keeps."""


def working_folder(path: Path, name: str) -> Path:
    """Return the folder that a system's program runs in."""
    if not path.is_dir():
        raise InputError(f"the folder (cwd) of system '{name}' is not there", path=path)
    return path.resolve()


def environment(given: Mapping[str, str], secrets: Secrets, *, is_clean: bool) -> dict[str, str]:
    """Return the variables of a program: inherited, or the few it needs, and those given."""
    inherited = {n: v for n, v in os.environ.items() if not is_clean or n in NEEDED}
    return inherited | {n: secrets.expand(v, key=f"env.{n}") for n, v in given.items()}


def find_program(first: str, cwd: Path, variables: Mapping[str, str], name: str) -> None:
    """Make sure that the program can be started: in `cwd` where it has a slash, else on PATH."""
    if "/" in first:
        path = cwd / first
        if path.is_dir():
            raise InputError(f"the program of system '{name}' is a folder", path=path)
        if not path.is_file():
            raise InputError(f"the program of system '{name}' is not there", path=path)
        if not os.access(path, os.X_OK):
            raise InputError(
                f"the program of system '{name}' may not be executed",
                path=path,
                fix=f"chmod +x it, or name what runs it first: argv = ['python3', '{first}', ...]",
            )
    elif shutil.which(first, path=variables.get("PATH", os.defpath)) is None:
        beside = (cwd / first).is_file()
        raise InputError(
            f"the program '{first}' of system '{name}' is not installed (not found on PATH)",
            fix=f"write './{first}' for the one in cwd" if beside else "install it, or mend PATH",
        )


def digests(argv: Iterable[str], files: Iterable[str], cwd: Path, folder: Path) -> dict[str, str]:
    """Return the digests of all `files`, and of arguments that name a file.

    A program beside the project counts too; one of the machine does not, as it differs from
    machine to machine.
    """
    found = {}
    for i, argument in enumerate(argv):
        path = cwd / argument
        with suppress(OSError, ValueError):  # too long for a name, or none at all
            is_own = i > 0 or ("/" in argument and folder.resolve() in path.resolve().parents)
            if is_own and path.is_file():
                found[argument] = sha256(path)
    for name in files:
        if (cwd / name).is_dir():
            raise InputError(
                "what 'files' names is a folder; name the files in it", path=cwd / name
            )
        if not (cwd / name).is_file():
            raise InputError("a file named under 'files' is not there", path=cwd / name)
        found[name] = sha256(cwd / name)
    return {f"file {name}": digest for name, digest in found.items()}
