"""Searchmark: did the search get better, for whom, by how much, and can the number be trusted.

Names are loaded when they are first used, so that ``import searchmark`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from searchmark.version import __version__

if TYPE_CHECKING:
    from searchmark.errors import SearchmarkError

_LAZY = {
    "SearchmarkError": "searchmark.errors",
}

__all__ = ["SearchmarkError", "__version__"]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'searchmark' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
