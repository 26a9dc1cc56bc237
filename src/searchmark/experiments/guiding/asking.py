"""Systems asked before anything is judged; their answers are kept and not asked for again."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.data import Corpus, Queries
from searchmark.experiments.environment import fingerprint
from searchmark.experiments.journal import Call, damage_notes, open_journal
from searchmark.experiments.runner import ask_all
from searchmark.experiments.store import Store, digest_of
from searchmark.project import Project
from searchmark.project.place import place_of
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Progress, System
from searchmark.version import __version__


class Asked(NamedTuple):
    """What each system answered, and how many of the calls were made just now.

    `notes` are sentences about answers that were kept and could not be used.
    """

    calls: Mapping[str, tuple[Call, ...]]
    n_new: int
    notes: tuple[str, ...] = ()

    @property
    def failures(self) -> list[tuple[str, Call]]:
        """System and call of every query that failed."""
        return [(name, c) for name, calls in self.calls.items() for c in calls if c.is_failure]


def ask_systems(
    project: Project,
    corpus: Corpus,
    queries: Queries,
    *,
    progress: Progress | None = None,
) -> Asked:
    """Ask every system of a project every query; what was answered before is taken from disk.

    Failed queries are asked again each time. Nothing here depends on judgments.
    """
    store = Store(project.folder / ".searchmark")
    found: dict[str, tuple[Call, ...]] = {}
    n_new, notes = 0, list[str]()
    with Pool(
        project.systems,
        corpus,
        folder=project.folder,
        cache=store.folder,
        progress=progress,
        locate=partial(place_of, project.path),
    ) as pool:
        for name in project.systems:
            system = pool.open(name)
            used = fingerprint(pool.variables(name), store.folder)
            digest = digest_of(_facts(system, project, corpus, queries) | used)
            with open_journal(_folder(project) / f"{digest[:16]}.jsonl") as journal:
                before = len(journal.calls)
                notes += damage_notes(name, journal)
                found[name] = tuple(
                    ask_all(
                        system,
                        queries,
                        project.file.depth,
                        journal,
                        calls=project.systems[name].calls,
                        progress=_told(name, progress),
                    )
                )
                n_unasked = sum(c.status == "unasked" for c in found[name])
                n_new += len(queries) - before - n_unasked
    return Asked(found, n_new, tuple(notes))


def forget_answers(project: Project) -> None:
    """Forget what was answered: a system may answer otherwise the next time."""
    for path in _folder(project).glob("*.jsonl"):
        path.unlink()


def kept_since(project: Project) -> str | None:
    """Return when the oldest kept answers were given; None where there are none."""
    times = [path.stat().st_mtime for path in _folder(project).glob("*.jsonl")]
    return f"{datetime.fromtimestamp(min(times), UTC):%Y-%m-%d %H:%M} UTC" if times else None


def _folder(project: Project) -> Path:
    return project.folder / ".searchmark" / "guide"


def _told(name: str, progress: Progress | None) -> Any:
    def told(done: int, total: int) -> None:
        if progress is not None:
            progress(f"asking {name}", done, total)

    return told


def _facts(system: System, project: Project, corpus: Corpus, queries: Queries) -> dict[str, Any]:
    """Return everything that a system's answers depend on."""
    return {
        "system": system.name,
        "systems": project.file.systems,
        "identity": dict(system.identity),
        "depth": project.file.depth,
        "inputs": {"corpus": corpus.digest, "queries": queries.digest},
        "version": __version__,
    }
