"""From files to judgments and hits: raw bytes where they are regular, tables where they are not."""

from pathlib import Path

from searchmark.data.files import DAMAGED, check_file, kind_of
from searchmark.data.hits import Hits, Order, ScoreType
from searchmark.data.judged import Judged, prepare
from searchmark.data.rawtext import Irregular, Unordered

_PARQUET = {"parquet", "pq"}
_TABLES = {"jsonl", "ndjson", "json", "csv", "tsv"} | _PARQUET


def judged_from_file(path: Path) -> Judged:
    """Read judgments from any file that `read_qrels` reads."""
    check_file(path)
    if kind_of(path) not in _TABLES:
        from searchmark.data.rawtrec import judged_from_trec

        try:
            return judged_from_trec(path)
        except (Irregular, *DAMAGED):
            pass  # the general path reads it, or tells what is wrong and where
    from searchmark.data.qrels import read_qrels

    return prepare(read_qrels(path))


def hits_in_file(
    path: Path,
    judged: Judged,
    *,
    order: Order = "score",
    scores: ScoreType = "float64",
    keep_first: bool = False,
) -> tuple[str, Hits]:
    """Return the name of the run in a file (its tag, or the file's) and its hits."""
    check_file(path)
    if kind_of(path) not in _TABLES and order == "score":
        from searchmark.data.rawtrec import hits_from_trec

        try:
            try:
                return hits_from_trec(path, judged, scores=scores)
            except Unordered:
                from searchmark.data.rawshuffled import hits_from_shuffled

                return hits_from_shuffled(path, judged, scores=scores)
        except (Irregular, *DAMAGED):
            pass  # the general path reads it, or tells what is wrong and where
    from searchmark.data.ordering import find_hits
    from searchmark.data.run import parquet_pieces, read_run, stem

    if kind_of(path) in _PARQUET and order == "score":
        from searchmark.data.frames import hits_of_pieces

        try:
            return stem(path), hits_of_pieces(parquet_pieces(path), judged, scores)
        except Irregular:
            pass

    run = read_run(path)
    return run.name, find_hits(run, judged, order=order, scores=scores, keep_first=keep_first)
