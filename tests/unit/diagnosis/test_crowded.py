import pytest

from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.crowded import near_duplicates

from .making import evidence, query

WORDS = ("alpha", "bravo", "delta", "gamma", "kappa", "lambda", "omega", "sigma", "theta", "zeta")


def document(doc_id: str, *changed: int) -> dict[str, str]:
    """Make a document of ten words, of which some are its own."""
    words = [f"{w}{doc_id}" if i in changed else w for i, w in enumerate(WORDS)]
    return {"doc_id": doc_id, "text": " ".join(words)}


CORPUS = [
    *(document(f"s{i}") for i in range(1, 6)),
    document("near", 0),  # 9 words of 11 in common with s1: 0.82
    document("less", 0, 1),  # 8 of 12: 0.67
    document("near2", 9),  # 0.82 to s1, 0.67 to near
    *(document(f"u{i}", *range(10)) for i in range(1, 8)),
    {"doc_id": "bare1", "text": ""},
    {"doc_id": "bare2", "text": ""},
    {"doc_id": "bare3", "text": ""},
]


def found(*rankings: list[str], k: int = 10, duplicate: float = 0.8) -> list[Finding]:
    ranked = {f"sys{i}": ("", docs) for i, docs in enumerate(rankings, 1)}
    made = query({"s1": 1}, ranked, k=k)  # type: ignore[arg-type]
    return list(near_duplicates(made, evidence(made, corpus=CORPUS, duplicate=duplicate)))


def test_a_crowd() -> None:
    (finding,) = found(["s1", "u1", "s2", "s3"], ["u1", "u2", "s1", "s2"])
    assert (finding.rule, finding.severity, finding.tag) == (
        "near-duplicates",
        "LOW",
        "SEARCH_PIPELINE",
    )
    assert (finding.systems, finding.documents) == (("sys1",), ("s1", "s2", "s3"))
    assert finding.evidence == {"n_alike": 3, "limit": 0.8}
    assert finding.what == (
        "3 of the first 4 of sys1 are near-duplicates of one another: s1, s2, s3"
    )


def test_two_are_no_crowd() -> None:
    assert found(["s1", "s2"]) == []
    assert len(found(["s1", "s2", "s3"])) == 1


@pytest.mark.parametrize(("n_others", "n"), [(3, 1), (4, 0)])
def test_half_of_the_results(n_others: int, n: int) -> None:
    others = [f"u{i}" for i in range(1, n_others + 1)]
    assert len(found([*others, "s1", "s2", "s3"])) == n
    assert len(found(["s1", *others, "s2", "s3"])) == n


def test_an_odd_number_of_results() -> None:
    """3 of 7 are less than half, 4 are more."""
    assert found(["s1", "s2", "s3", "u1", "u2", "u3", "u4"]) == []
    assert len(found(["s1", "s2", "s3", "s4", "u2", "u3", "u4"])) == 1


@pytest.mark.parametrize(("other", "n"), [("near", 1), ("less", 0)])
def test_likeness(other: str, n: int) -> None:
    """9 / 11 = 0.82 is enough, 8 / 12 = 0.67 is not."""
    assert len(found(["s1", "s2", other])) == n
    assert len(found(["s1", "s2", other], duplicate=0.66)) == 1
    assert found(["s1", "s2", other], duplicate=0.83) == []


def test_each_is_like_each() -> None:
    """Both are like s1, but not like one another."""
    assert found(["s1", "near", "near2"]) == []


def test_the_cutoff() -> None:
    assert found(["s1", "u1", "s2", "s3"], k=3) == []


def test_documents_without_words_are_not_alike() -> None:
    assert found(["bare1", "bare2", "bare3"]) == []


def test_three_are_shown_and_all_are_named() -> None:
    (finding,) = found(["s1", "s2", "s3", "s4"], ["s5", "s4", "s3"])
    assert finding.documents == ("s1", "s2", "s3", "s4", "s5")
    assert finding.what.endswith("s1, s2, s3 and 2 more")
