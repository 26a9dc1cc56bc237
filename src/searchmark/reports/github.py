"""What GitHub Actions shows of a verdict: annotations, and a summary that is not too long."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from searchmark.reports.table import clean
from searchmark.reports.verdict import NOT_COMPARABLE_FIX, NoVerdict, no_verdict_line

if TYPE_CHECKING:
    from searchmark.gate.verdict import Verdict

MAX_ANNOTATIONS = 10
"""GitHub shows so many of each level for a step and drops the others without a word."""

MAX_SUMMARY = 1024 * 1024
"""GitHub refuses the whole summary of a step that is longer, in bytes."""

CUT = "\n\nThe rest is left out: GitHub takes 1 MiB of summary from a step.\n"


def annotations(found: "Verdict | NoVerdict") -> list[str]:
    """Return workflow commands: reasons are errors, what cannot be seen warns, advice is notice."""
    if isinstance(found, NoVerdict):
        title = f"Searchmark: {no_verdict_line(found).rstrip('.')}"
        fix = (NOT_COMPARABLE_FIX,) if found.comparable is False else ()
        return [*_commands("error", title, found.reasons), *_commands("notice", title, fix)]
    levels = (
        ("error", "failed", found.because),
        ("warning", "rests on part", found.caveats),
        ("warning", "cannot tell", found.blind),
        ("notice", "suggests", found.suggestions),
    )
    return [
        line
        for level, what, sentences in levels
        for line in _commands(level, f"Searchmark gate {what} ({found.system})", sentences)
    ]


def _commands(level: str, title: str, sentences: Sequence[str]) -> Iterator[str]:
    """Yield a command a sentence; the last one tells of those that would not be shown."""
    n_shown = len(sentences) if len(sentences) <= MAX_ANNOTATIONS else MAX_ANNOTATIONS - 1
    told = [*sentences[:n_shown]]
    if n_shown < len(sentences):
        told.append(f"and {len(sentences) - n_shown:,} more; the log and the summary have them all")
    for sentence in told:
        yield f"::{level} title={_property(clean(title))}::{_data(clean(sentence))}"


def _data(text: str) -> str:
    """Escape what would end a message; the per cent sign first, for it is the escape itself."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape what would end a property as well."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def unread(text: str, token: str) -> str:
    """Return text between commands that keep the runner from obeying what stands in it.

    A query may read like a workflow command; `token` must not be guessable.
    """
    return f"::stop-commands::{token}\n{text}::{token}::\n"


def fitted(markdown: str, taken: int = 0) -> str:
    """Return what fits into a step's summary of which `taken` bytes are written, cut at a line."""
    room = MAX_SUMMARY - taken
    encoded = markdown.encode()
    if len(encoded) <= room:
        return markdown
    kept = encoded[: max(room - len(CUT.encode()), 0)]
    head = kept[: kept.rfind(b"\n") + 1].decode()
    return head.rstrip("\n") + CUT if len(CUT.encode()) <= room else ""
