"""One way to find a thing by name: built-in tables and third-party entry points alike.

A table maps a name to ``"module:attribute"``; the module is imported when the name is first used.
Adding a measure, a system or a report is one file and one line in its room's table.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from searchmark.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Registry:
    """Names of one kind (`kind` is the word used in errors) and where their targets live."""

    def __init__(self, kind: str, group: str, builtin: "Mapping[str, str]") -> None:
        self.kind, self.group, self.builtin = kind, group, builtin
        self._found: dict[str, str] = {}

    def targets(self) -> "Mapping[str, str]":
        """Every known name with its target; a name that two owners claim is an error."""
        if not self._found:
            # 50 ms to import: only where names beyond the built-in ones are asked for
            from importlib.metadata import entry_points

            found = dict(self.builtin)
            for point in entry_points(group=self.group):
                if point.name in found and found[point.name] != point.value:
                    raise InputError(
                        f"the {self.kind} name '{point.name}' is claimed by both "
                        f"{found[point.name]} and {point.value}",
                        fix="uninstall one of the two packages",
                    )
                found[point.name] = point.value
            self._found.update(found)
        return self._found

    def names(self) -> list[str]:
        """All known names, sorted."""
        return sorted(self.targets())

    def load(self, name: str) -> Any:
        """Import and return the target of `name`; an unknown name lists the nearest known ones.

        A built-in name is loaded without a look at the entry points; a package that claims it too
        is noticed as soon as the names are listed (by every project file, and by doctor).
        """
        targets = self.builtin if name in self.builtin else self.targets()
        if name not in targets:
            raise InputError(f"unknown {self.kind} '{name}'", fix=nearest(name, targets))
        module, _, attribute = targets[name].partition(":")
        return getattr(import_module(module), attribute)
