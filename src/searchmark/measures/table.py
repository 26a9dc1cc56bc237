"""Every measure by name. A new one is a file (or a Spec in one) and a line here."""

from functools import cache

from searchmark.errors import InputError
from searchmark.measures.spec import Spec
from searchmark.registry import Registry

MEASURES = Registry(
    kind="measure",
    group="searchmark.measures",
    builtin={
        "AP": "searchmark.measures.precision:AP",
        "BinG": "searchmark.measures.gain:BIN_G",
        "Bpref": "searchmark.measures.bpref:BPREF",
        "DCG": "searchmark.measures.ndcg:DCG",
        "ERR": "searchmark.measures.err:ERR",
        "FilterOK": "searchmark.measures.coverage:FILTER_OK",
        "G": "searchmark.measures.gain:G",
        "GMAP": "searchmark.measures.precision:GMAP",
        "GMBpref": "searchmark.measures.bpref:GM_BPREF",
        "IPrec": "searchmark.measures.iprec:IPREC",
        "IPrec11": "searchmark.measures.iprec:IPREC_11",
        "Judged": "searchmark.measures.coverage:JUDGED",
        "NoAnswer": "searchmark.measures.coverage:NO_ANSWER",
        "NumNonrelJudgedRet": "searchmark.measures.counts:NUM_NONREL_JUDGED_RET",
        "NumQ": "searchmark.measures.counts:NUM_Q",
        "NumRel": "searchmark.measures.counts:NUM_REL",
        "NumRelRet": "searchmark.measures.counts:NUM_REL_RET",
        "NumRet": "searchmark.measures.counts:NUM_RET",
        "P": "searchmark.measures.precision:P",
        "R": "searchmark.measures.precision:R",
        "RBP": "searchmark.measures.rbp:RBP",
        "RBPResidual": "searchmark.measures.rbp:RBP_RESIDUAL",
        "RR": "searchmark.measures.reciprocal:RR",
        "RelativeP": "searchmark.measures.rprec:RELATIVE_P",
        "RnDCG": "searchmark.measures.ndcg_points:R_NDCG",
        "Rprec": "searchmark.measures.rprec:RPREC",
        "SNR": "searchmark.measures.tokens:SNR",
        "SetAP": "searchmark.measures.sets:SET_AP",
        "SetF": "searchmark.measures.sets:SET_F",
        "SetP": "searchmark.measures.sets:SET_P",
        "SetR": "searchmark.measures.sets:SET_R",
        "SetRelativeP": "searchmark.measures.sets:SET_RELATIVE_P",
        "Success": "searchmark.measures.reciprocal:SUCCESS",
        "Tokens": "searchmark.measures.tokens:TOKENS",
        "Unjudged": "searchmark.measures.coverage:UNJUDGED",
        "Utility": "searchmark.measures.sets:UTILITY",
        "infAP": "searchmark.measures.infap:INF_AP",
        "nDCG": "searchmark.measures.ndcg:NDCG",
        "nDCGRel": "searchmark.measures.ndcg_points:NDCG_REL",
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
    "trec": {"empty": "zero", "missing": "skip", "negative": "unjudged"},
    "answerable": {"empty": "skip"},
}
"""Profile -> defaults it sets for every measure that has the parameter."""


@cache
def find_spec(name: str) -> Spec | None:
    """Return the measure of that name, alias or trec_eval name, in any case; None if unknown.

    A proper name loads the file of that measure only; anything else needs all of them.
    """
    proper = {n.lower(): n for n in MEASURES.builtin}
    if name.lower() in proper:
        spec: Spec = MEASURES.load(proper[name.lower()])
        return spec
    return spellings().get(name.lower())


@cache
def spellings() -> dict[str, Spec]:
    """Return every name, alias and trec_eval name, lower case, with the measure it means."""
    found: dict[str, Spec] = {}
    for name in MEASURES.names():
        spec: Spec = MEASURES.load(name)
        for spelling in spec.names():
            _claim(found, spelling, spec)
    return found


@cache
def names_with_cutoff() -> dict[str, Spec]:
    """Return trec_eval's names that take a cutoff after an underscore, lower case."""
    found: dict[str, Spec] = {}
    for spec in spellings().values():
        if spec.trec_cut:
            _claim(found, spec.trec_cut, spec)
    return found


def _claim(found: dict[str, Spec], spelling: str, spec: Spec) -> None:
    other = found.setdefault(spelling.lower(), spec)
    if other is not spec:
        raise InputError(
            f"the name '{spelling}' is claimed by the measures {other.name} and {spec.name}",
            fix="uninstall the package that adds one of them",
        )
