"""What the environment says to a system, as a fingerprint that tells nobody what it is.

A project file names variables, and a digest of it holds their names alone: were their values left
out, answers of one server would be taken for those of another.
"""

from collections.abc import Mapping
from hashlib import pbkdf2_hmac
from pathlib import Path
from secrets import token_bytes
from typing import Any

import msgspec

from searchmark.errors import InputError
from searchmark.experiments.holding import wait_for

_SALT_BYTES = 32
_ROUNDS = 50_000
"""Some 20 ms: nothing for a run, and much for whoever tries all short passwords."""


def fingerprint(variables: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """Return the names of variables and a keyed digest of their values; {} where there are none.

    The key is drawn once and lies in `folder`, beside the results and in none of them.
    """
    if not variables:
        return {}
    values = msgspec.json.encode(
        {name: value.encode("utf-8", "surrogateescape") for name, value in variables.items()},
        order="deterministic",
    )
    digest = pbkdf2_hmac("sha256", values, _salt(folder / "salt"), _ROUNDS)
    return {"environment": {"names": sorted(variables), "fingerprint": digest.hex()[:32]}}


def _salt(path: Path) -> bytes:
    """Return the key of a project's fingerprints; one that is missing or damaged is drawn anew."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b", buffering=0) as stream:
            wait_for(stream)  # two runs that start at once draw one
            stream.seek(0)
            found = stream.read()
            if len(found) != _SALT_BYTES:
                stream.truncate(0)
                found = token_bytes(_SALT_BYTES)
                stream.write(found)
            return found
    except OSError as error:
        raise InputError(
            f"a key cannot be kept here ({error.strerror})",
            path=path,
            fix="this has to be a file that may be written, or nothing",
        ) from error
