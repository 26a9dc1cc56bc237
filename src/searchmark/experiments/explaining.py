"""Why one system of a project ranks a document where it does."""

from functools import partial
from typing import TYPE_CHECKING, cast

from searchmark.data import read_corpus, read_queries
from searchmark.errors import InputError, nearest
from searchmark.experiments.soundness import shown
from searchmark.project import Project
from searchmark.project.place import place_of
from searchmark.systems.explanation import ExplainingSystem, Explanation
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Query

if TYPE_CHECKING:
    from searchmark.systems.protocol import System


def query_of(project: Project, query_id: str) -> Query:
    """Return a query of the golden set by its id."""
    queries = read_queries(project.queries)
    texts = dict(zip(queries.query_ids, queries.texts, strict=True))
    if query_id not in texts:
        raise InputError(
            f"no query has the id {shown(query_id)}",
            path=project.queries,
            fix=nearest(query_id, texts),
        )
    return Query(query_id, texts[query_id])


def explain(
    project: Project, system: str, query: Query, doc_id: str, *, k: int | None = None
) -> Explanation:
    """Ask a system for its explanation, at the depth of the project if no other is given."""
    corpus, cache = read_corpus(project.corpus), project.folder / ".searchmark"
    place = partial(place_of, project.path)
    with Pool(project.systems, corpus, folder=project.folder, cache=cache, locate=place) as pool:
        opened = pool.open(system)
        asked = _explaining(opened.inner, project)
        return opened.call(lambda: asked.explain(query, doc_id, k or project.file.depth))


def _explaining(system: "System", project: Project) -> ExplainingSystem:
    if callable(getattr(system, "explain", None)):
        return cast("ExplainingSystem", system)
    use = project.systems[system.name].use
    raise InputError(
        f"the system '{system.name}' cannot explain a result: no system of use = \"{use}\" can",
        fix="opensearch and elasticsearch can; searchmark diagnose looks at all systems",
    )
