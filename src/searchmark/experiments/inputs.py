"""What an experiment reads: corpus, queries, judgments, measures, checked together."""

from collections.abc import Mapping
from dataclasses import dataclass

from searchmark.data import (
    Corpus,
    Judged,
    Qrels,
    Queries,
    prepare,
    read_corpus,
    read_qrels,
    read_queries,
)
from searchmark.errors import InputError
from searchmark.measures.notation import parse_measure
from searchmark.measures.spec import Measure
from searchmark.project import Project
from searchmark.stats.means import Groups


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Everything that the rankings are judged by; `digests` are the SHA-256 of the files."""

    corpus: Corpus
    queries: Queries
    qrels: Qrels
    judged: Judged
    measures: tuple[Measure, ...]
    profile: str

    @property
    def digests(self) -> Mapping[str, str]:
        """SHA-256 of the files as they lie on disk."""
        return {
            "corpus": self.corpus.digest,
            "queries": self.queries.digest,
            "qrels": self.qrels.digest,
        }

    @property
    def groups(self) -> Groups:
        """Category and cluster of the queries that have one."""
        ids = self.queries.query_ids
        categories = zip(ids, self.queries.categories, strict=True)
        clusters = zip(ids, self.queries.clusters, strict=True)
        return Groups({q: c for q, c in categories if c}, {q: c for q, c in clusters if c})

    @property
    def conventions(self) -> Mapping[str, str]:
        """Each measure as written -> with every parameter in force."""
        return {m.written: m.full for m in self.measures}


def read_inputs(project: Project) -> Inputs:
    """Read and check a project's files."""
    corpus = read_corpus(project.corpus)
    queries = read_queries(project.queries)
    qrels = read_qrels(project.qrels)
    if not project.file.ignore_missing_documents:
        qrels.check_documents(corpus.doc_ids, corpus=corpus.path)
    judged = prepare(
        qrels, query_ids=queries.query_ids, complete=project.file.complete, corpus=corpus
    )
    if not judged.n_queries:
        raise InputError(
            "no query of the query set is judged",
            path=qrels.path,
            fix=f"check that its query ids are those of {queries.path}",
        )
    parsed = (parse_measure(m, project.file.profile) for m in project.file.measures)
    measures = tuple({m.written: m for m in parsed}.values())  # MRR is RR: one column
    return Inputs(corpus, queries, qrels, judged, measures, project.file.profile)
