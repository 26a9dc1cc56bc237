"""trec_eval's vocabulary: its names in its order, and what may follow them after a dot."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from searchmark.errors import InputError, nearest
from searchmark.measures.notation import make_measure
from searchmark.measures.spec import Measure, Spec, Value
from searchmark.measures.table import names_with_cutoff, spellings

Form = Literal["single", "cutoffs", "points", "text"]
Shown = Literal["both", "summary", "queries"]

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALLS = tuple(i / 10 for i in range(11))
MULTIPLES = tuple(i / 5 for i in range(1, 11))
RELSTRING_LENGTH = 10


@dataclass(frozen=True, slots=True)
class TrecName:
    """One of trec_eval's measures.

    `form` tells whether it is one number, one a cutoff, one a point, or a text; `numbers` are its
    default cutoffs or points. `shown` tells where it is printed, `is_count` how. `takes` names what
    may follow the dot where that is no list of cutoffs or points. `has_level` tells whether ``-l``
    matters to it, `counts_missing` whether a query without an answer counts with ``-c``.
    """

    name: str
    form: Form = "single"
    numbers: tuple[float, ...] = ()
    shown: Shown = "both"
    is_count: bool = False
    takes: Literal["", "gains", "p", "beta", "weights", "recalls", "length"] = ""
    has_level: bool = True
    counts_missing: bool = False

    @property
    def spec(self) -> Spec:
        """The measure behind the name."""
        names = spellings() if self.form == "single" else names_with_cutoff()
        return names[self.name.lower()]


NAMES = {
    name.name: name
    for name in (
        TrecName("runid", "text", shown="summary"),
        TrecName("num_q", shown="summary", is_count=True, counts_missing=True),
        TrecName("num_ret", is_count=True),
        TrecName("num_rel", is_count=True, counts_missing=True),
        TrecName("num_rel_ret", is_count=True),
        TrecName("map"),
        TrecName("gm_map", shown="summary"),
        TrecName("Rprec"),
        TrecName("bpref"),
        TrecName("recip_rank"),
        TrecName("iprec_at_recall", "points", RECALLS),
        TrecName("P", "cutoffs", CUTOFFS),
        TrecName("relstring", "text", (RELSTRING_LENGTH,), shown="queries", takes="length"),
        TrecName("recall", "cutoffs", CUTOFFS),
        TrecName("infAP"),
        TrecName("gm_bpref", shown="summary"),
        TrecName("Rprec_mult", "points", MULTIPLES),
        TrecName("utility", takes="weights"),
        TrecName("11pt_avg", takes="recalls"),
        TrecName("binG"),
        TrecName("G", takes="gains", has_level=False),
        TrecName("ndcg", takes="gains", has_level=False),
        TrecName("ndcg_rel", takes="gains", has_level=False),
        TrecName("Rndcg", takes="gains"),
        TrecName("ndcg_cut", "cutoffs", CUTOFFS, has_level=False),
        TrecName("map_cut", "cutoffs", CUTOFFS),
        TrecName("relative_P", "cutoffs", CUTOFFS),
        TrecName("success", "cutoffs", (1, 5, 10)),
        TrecName("set_P"),
        TrecName("set_relative_P"),
        TrecName("set_recall"),
        TrecName("set_map"),
        TrecName("set_F", takes="beta"),
        TrecName("num_nonrel_judged_ret", is_count=True),
        TrecName("rbp", takes="p", has_level=False),
        TrecName("rbp_resid", takes="p"),
        TrecName("unj", "cutoffs", (5, 10, 20)),
    )
}
"""Every name of ``all_trec``, in the order in which trec_eval 10 prints them."""

NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": tuple(NAMES)[: list(NAMES).index("P") + 1],
    "set": (
        "runid",
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "utility",
        "set_P",
        "set_relative_P",
        "set_recall",
        "set_map",
        "set_F",
    ),
    "all_trec": tuple(NAMES),
}
"""Names that stand for several."""


@dataclass(frozen=True, slots=True)
class Column:
    """One line of the output: the name printed, and the measure (None for a text)."""

    label: str
    name: TrecName
    measure: Measure | None = None
    length: int = RELSTRING_LENGTH


def parse_columns(measures: Iterable[str], level: int, n_documents: int = 0) -> list[Column]:
    """Read what follows ``-m``, such as ``official`` or ``ndcg_cut.5,10``; in trec_eval's order.

    Where one name is given twice with other parameters the first counts, as in trec_eval.

    Raises
    ------
    InputError
        For an unknown name or parameters that the measure does not take.
    """
    wanted: dict[str, str | None] = {}
    for text in measures:
        stem, dot, after = text.partition(".")
        if dot and not after:
            raise InputError(f"-m {text} has nothing after the dot", fix=f"write -m {stem}")
        for name in NICKNAMES.get(stem, (stem,)):
            if name not in NAMES:
                fix = nearest(name, [*NAMES, *NICKNAMES])
                raise InputError(f"trec_eval knows no measure '{name}'", fix=fix)
            if wanted.get(name) is None:
                wanted[name] = after if dot and stem not in NICKNAMES else None
    given: dict[str, Value] = {"n": n_documents, "rel": level}
    return [
        c for n in NAMES.values() if n.name in wanted for c in _columns(n, wanted[n.name], given)
    ]


def _columns(name: TrecName, text: str | None, given: dict[str, Value]) -> list[Column]:
    if name.form == "cutoffs":
        cuts = [int(n) for n in _numbers(name, text, r"0*[1-9][0-9]*")]
        return [Column(f"{name.name}_{k}", name, _measure(name, given, cutoff=k)) for k in cuts]
    if name.form == "points":
        point = str(name.spec.trec_at or name.spec.at)
        numbers = _numbers(name, text, r"[0-9]+\.?[0-9]*|\.[0-9]+")
        return [
            Column(f"{name.name}_{x:3.2f}", name, _measure(name, {**given, point: x}))
            for x in numbers
        ]
    label = name.name if text is None else f"{name.name}_{text}"
    extra = {} if text is None else _extra(name, text)
    if name.form == "text":
        return [Column(label, name, length=int(extra.get("length", RELSTRING_LENGTH)))]
    return [Column(label, name, _measure(name, {**given, **extra}))]


def _measure(name: TrecName, given: dict[str, Value], cutoff: int | None = None) -> Measure:
    taken = name.spec.params
    known = {n: v for n, v in given.items() if n in taken and (n != "rel" or name.has_level)}
    return make_measure(name.spec, cutoff, known, "trec")


def _numbers(name: TrecName, text: str | None, form: str) -> list[float]:
    """Return cutoffs or points, rising, each once."""
    if text is None:
        return list(name.numbers)
    parts = text.split(",")
    if not all(re.fullmatch(form, part) for part in parts):
        what = "whole numbers above 0" if name.form == "cutoffs" else "numbers of 0 or more"
        raise InputError(f"-m {name.name}.{text}: after the dot stand {what}, with commas between")
    numbers = sorted(float(part) for part in parts)
    if len(set(numbers)) < len(numbers):
        raise InputError(f"-m {name.name}.{text}: a number stands there twice")
    return numbers


def _extra(name: TrecName, text: str) -> dict[str, Value]:
    """Read parameters that are no cutoffs or points."""
    one = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
    forms = {
        "gains": rf"[0-9]+={one}(?:,[0-9]+={one})*",
        "p": r"p=(?:0?\.[0-9]+|[01](?:\.0*)?)",
        "beta": r"[0-9]+\.?[0-9]*|\.[0-9]+",
        "weights": rf"{one}(?:,{one}){{3}}",
        "recalls": r"[0-9.]+(?:,[0-9.]+)*",
        "length": r"[0-9]+",
    }
    if not name.takes or not re.fullmatch(forms[name.takes], text):
        fix = _EXAMPLES.get(name.takes, "it takes none")
        raise InputError(f"-m {name.name}.{text}: these parameters cannot be read", fix=fix)
    if name.takes == "gains":
        return {"gains": text.replace(",", ";").replace("=", ":")}
    if name.takes == "weights":
        return dict(zip("abcd", (float(x) for x in text.split(",")), strict=True))
    if name.takes == "recalls":
        return {"recalls": text.replace(",", ";")}
    number = text.removeprefix("p=")
    return {name.takes: int(number) if name.takes == "length" else float(number)}


_EXAMPLES = {
    "gains": "write gains as in ndcg.1=3.5,2=9",
    "p": "write rbp.p=0.8",
    "beta": "write set_F.0.5",
    "weights": "write utility.1,-1,0,0",
    "recalls": "write 11pt_avg.0.2,0.5,0.8",
    "length": "write relstring.20",
}
