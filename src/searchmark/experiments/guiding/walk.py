"""A guided evaluation under way: where, what was answered so far, and whom to ask."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from searchmark.data.files import sha256
from searchmark.experiments.guiding.answers import Answers, read_answers, write_answers
from searchmark.experiments.guiding.steps import STEPS, heading, number
from searchmark.experiments.guiding.talk import Given, Talk
from searchmark.project import FILE_NAME


class Walk:
    """A guided evaluation under way in a folder: what was answered so far, and whom to ask."""

    def __init__(self, folder: Path, given: Given, talk: Talk) -> None:
        self.folder, self.given, self.talk = folder, given, talk
        self.answers = read_answers(folder)
        self._is_resumed = self.answers != Answers() or self.has_project

    @property
    def has_project(self) -> bool:
        """Whether there is a project file."""
        return (self.folder / FILE_NAME).exists()

    @property
    def is_own(self) -> bool:
        """Whether the project file is the one that was written here, unchanged."""
        path = self.folder / FILE_NAME
        return path.exists() and self.answers.project == sha256(path)

    def keep(self, **changes: Any) -> None:
        """Keep answers, on disk too."""
        self.answers = msgspec.structs.replace(self.answers, **changes)
        write_answers(self.folder, self.answers)

    def begin(self, step: str, detail: str = "") -> None:
        """Say which step begins; the first one of a session that goes on says so."""
        if self._is_resumed:
            self._is_resumed = False
            what = detail or STEPS[step]
            self.talk.tell(f"Going on with step {number(step)} of {len(STEPS)}, {step}: {what}.")
        else:
            self.talk.tell("\n" + heading(step) + ".")

    def show(self, lines: Sequence[str]) -> None:
        """Say lines that were laid out before."""
        self.talk.show("\n".join(lines))
