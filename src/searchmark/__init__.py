"""Searchmark: did the search get better, for whom, by how much, and can the number be trusted.

Names are loaded when they are first used, so that ``import searchmark`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from searchmark.version import __version__

if TYPE_CHECKING:
    from searchmark.api import Result, evaluate
    from searchmark.errors import SearchmarkError

_LAZY = {
    "Result": "searchmark.api",
    "SearchmarkError": "searchmark.errors",
    "evaluate": "searchmark.api",
}

__all__ = ["Result", "SearchmarkError", "__version__", "evaluate"]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'searchmark' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
