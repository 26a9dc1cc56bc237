"""The reference of all measures in Markdown, made from their specs and docstrings.

``python -m searchmark.measures.reference > docs/measures.md`` writes it anew; a test compares.
"""

import inspect
import re
import sys
from functools import partial

from searchmark.measures.spec import Param, Spec
from searchmark.measures.table import MEASURES, PROFILE_DEFAULTS, PROFILES

INTRODUCTION = """\
# Measures

This page is made from the code: `python -m searchmark.measures.reference`.

A measure is written `NAME`, `NAME@CUTOFF` or `NAME(PARAMETER=VALUE,...)@CUTOFF`, such as `nDCG@10`,
`RR` or `P(rel=2)@5`. Case does not matter. trec_eval's names mean the same (`ndcg_cut_10`,
`recip_rank`). Parameters that are not written take the value of the profile; all that are in force
are printed under every table and stored with every result.

A query without a single judgment is not evaluated, unless the judgments are complete: then it is a
query with nothing relevant. Documents with one score stand by id, the last first, as in trec_eval;
where ties are said to matter, the band beside a number tells how far (worst, expected over random
orders, best).
"""

EDGES = {
    "nothing_relevant": "nothing relevant",
    "nothing_retrieved": "nothing retrieved",
    "nothing_judged": "no result judged",
    "fewer_results": "fewer results than the cutoff",
    "negative_grades": "negative grades",
}

TIES = {
    "better-first": "the better document first is best; the band is exact at both ends",
    "unaffected": "do not matter",
    "sampled": "matter; the band is drawn from random orders",
    "unknown": "matter; no band, because unjudged results count too",
}


def markdown() -> str:
    """Return the whole reference."""
    specs = [MEASURES.load(name) for name in sorted(MEASURES.names(), key=str.lower)]
    parts = [INTRODUCTION, _profiles(), _overview(specs), *(_section(spec) for spec in specs)]
    return "\n".join(parts)


def _profiles() -> str:
    rows = [
        f"| `{name}` | {PROFILES[name]} | {_settings(PROFILE_DEFAULTS[name])} |"
        for name in PROFILES
    ]
    return "\n".join(["| profile | what it means | sets |", "|---|---|---|", *rows, ""])


def _settings(values: dict[str, str]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in values.items()) or "nothing"


def _overview(specs: list[Spec]) -> str:
    rows = [
        f"| [{s.name}](#{s.name.lower()}) | {_other_names(s)} | {_range(s)} | {s.summary} |"
        for s in specs
    ]
    return "\n".join(["| measure | also | range | what it is |", "|---|---|---|---|", *rows, ""])


def _other_names(spec: Spec) -> str:
    names = dict.fromkeys([*spec.aliases, *([spec.trec] if spec.trec else [])])
    cut = [f"{spec.trec_cut}_{'0.2' if spec.trec_at or spec.at else 'k'}"] if spec.trec_cut else []
    return ", ".join(f"`{name}`" for name in [*names, *cut] if name != spec.name)


def _range(spec: Spec) -> str:
    low = "any" if spec.low is None else f"{spec.low:g}"
    high = "any" if spec.high is None else f"{spec.high:g}"
    return f"{low} to {high}"


def _section(spec: Spec) -> str:
    lines = [f"## {spec.name}", "", _sentence(spec), ""]
    notes = _docstring_part(spec, "Notes")
    if notes:
        lines += [notes, ""]
    params = spec.all_params()
    if params:
        lines += ["| parameter | default | what it sets |", "|---|---|---|"]
        lines += [
            f"| `{n}` | {_default(spec, n, p)} | {p.doc}{_allowed(p)} |" for n, p in params.items()
        ]
        lines.append("")
    lines += [f"- {words}: {getattr(spec.edges, field)}" for field, words in EDGES.items()]
    lines += [f"- ties: {TIES[spec.ties]}", ""]
    source = _docstring_part(spec, "References") or spec.reference
    if source:
        lines += [f"Source: {source}", ""]
    return "\n".join(lines)


def _sentence(spec: Spec) -> str:
    how = {"mean": "the mean", "sum": "the sum", "geometric": "the geometric mean"}[spec.aggregate]
    better = "Higher" if spec.higher_is_better else "Lower"
    at = f", `@` sets `{spec.at}`" if spec.at else f", cutoff {spec.cutoff}"
    return (
        f"{spec.summary[0].upper()}{spec.summary[1:]}. {better} is better; over queries {how}{at}."
    )


def _default(spec: Spec, name: str, param: Param) -> str:
    default = "none" if param.default is None else f"`{param.default}`"
    changed = {
        profile: spec.profiles.get(profile, {}).get(name, PROFILE_DEFAULTS[profile].get(name))
        for profile in PROFILES
    }
    others = [
        f"`{value}` in `{profile}`"
        for profile, value in changed.items()
        if value is not None
        and value != param.default
        and (not param.choices or value in param.choices)
    ]
    return ", ".join([default, *others])


def _allowed(param: Param) -> str:
    if param.choices:
        return " (" + ", ".join(f"`{choice}`" for choice in param.choices) + ")"
    ends = [
        f"{word} {end:g}"
        for word, end in (("from", param.low), ("to", param.high))
        if end is not None
    ]
    return f" ({' '.join(ends)})" if ends else ""


def _docstring_part(spec: Spec, title: str) -> str:
    """Return a section of the docstring of what computes the measure, on one line."""
    function = spec.compute.func if isinstance(spec.compute, partial) else spec.compute
    text = inspect.cleandoc(function.__doc__ or "")
    found = re.search(
        rf"^{title}\n-+\n(.*?)(?=\n\n\w[^\n]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE
    )
    return " ".join(found[1].replace("``", "`").split()) if found else ""


if __name__ == "__main__":
    sys.stdout.write(markdown())
