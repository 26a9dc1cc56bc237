"""Every measure by name. A new one is a file (or a Spec in one) and a line here."""

from functools import cache

from searchmark.measures.spec import Spec
from searchmark.registry import Registry

MEASURES = Registry(
    kind="measure",
    group="searchmark.measures",
    builtin={
        "AP": "searchmark.measures.precision:AP",
        "FilterOK": "searchmark.measures.coverage:FILTER_OK",
        "Judged": "searchmark.measures.coverage:JUDGED",
        "NoAnswer": "searchmark.measures.coverage:NO_ANSWER",
        "NumRet": "searchmark.measures.coverage:NUM_RET",
        "P": "searchmark.measures.precision:P",
        "R": "searchmark.measures.precision:R",
        "RR": "searchmark.measures.reciprocal:RR",
        "Success": "searchmark.measures.reciprocal:SUCCESS",
        "nDCG": "searchmark.measures.ndcg:NDCG",
    },
)

PROFILES = {
    "graded": "exp-log2 gains; with nothing to find nDCG and R are 1, the others 0; missing is 0",
    "trec": "trec_eval's behaviour: linear gains, nothing relevant is 0, missing is left out",
    "answerable": "as graded, but queries with nothing relevant are left out",
}
"""Profile -> what it means, in words."""

PROFILE_DEFAULTS: dict[str, dict[str, str]] = {
    "graded": {},
    "trec": {"empty": "zero", "missing": "skip"},
    "answerable": {"empty": "skip"},
}
"""Profile -> defaults it sets for every measure that has the parameter."""


@cache
def spellings() -> dict[str, Spec]:
    """Return every name, alias and trec_eval name, lower case, with the measure it means."""
    found: dict[str, Spec] = {}
    for name in MEASURES.names():
        spec: Spec = MEASURES.load(name)
        for spelling in (spec.name, *spec.aliases, *([spec.trec] if spec.trec else [])):
            found.setdefault(spelling.lower(), spec)
    return found
