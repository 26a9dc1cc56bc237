import pytest

from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.holes import holes_at_top

from .making import evidence, query

JUDGED = {f"d{i}": int(i == 1) for i in range(1, 11)}


def found(*rankings: list[str], k: int = 10, holes: float = 0.2, **given: bool) -> list[Finding]:
    ranked = {f"s{i}": ("", docs) for i, docs in enumerate(rankings, 1)}
    made = query(JUDGED, ranked, k=k, **given)  # type: ignore[arg-type]
    return list(holes_at_top(made, evidence(made, holes=holes)))


def ranked(n_judged: int, n_unjudged: int) -> list[str]:
    return [f"d{i + 1}" for i in range(n_judged)] + [f"u{i + 1}" for i in range(n_unjudged)]


def test_unjudged_results() -> None:
    (finding,) = found(["d1", "u1", "u2", "d2"], ["d1", "d2"], ["u2", "d1", "d2", "d3", "d4"])
    assert (finding.rule, finding.severity, finding.tag) == ("holes-at-top", "MEDIUM", "JUDGMENTS")
    assert finding.systems == ("s1", "s3")
    assert finding.documents == ("u1", "u2")
    assert finding.evidence == {
        "share": 0.5,
        "limit": 0.2,
        "n_documents": 2,
        "n_top_unjudged": 1,
    }
    assert finding.what == (
        "nobody judged 2 of the first 4 of s1, 1 of the first 5 of s3 (rank 1 of s3 among them); "
        "the values are not to be trusted before that"
    )


@pytest.mark.parametrize(("n_unjudged", "n"), [(2, 0), (3, 1)])
def test_the_share(n_unjudged: int, n: int) -> None:
    """2 of 10 are 20%, not above the limit."""
    rows = ranked(10 - n_unjudged, n_unjudged)
    assert len(found(rows)) == n
    assert found(rows, holes=0.3) == []


@pytest.mark.parametrize(("n_unjudged", "severity"), [(4, "LOW"), (5, "MEDIUM")])
def test_half_of_the_results(n_unjudged: int, severity: str) -> None:
    (finding,) = found(ranked(10 - n_unjudged, n_unjudged))
    assert finding.severity == severity


def test_the_first_one_is_enough() -> None:
    (finding,) = found(["u1", *ranked(9, 0)])
    assert (finding.severity, finding.documents) == ("LOW", ("u1",))
    assert found(["d1", "u1", *ranked(9, 0)[1:]]) == []


def test_the_cutoff() -> None:
    rows = ["d1", "d2", "u1", "u2"]
    assert found(rows, k=2) == []
    assert len(found(rows, k=3)) == 1


def test_complete_judgments_have_no_holes() -> None:
    assert found(["u1", "u2"], complete=True) == []
    assert found([]) == []
