"""The rules by name: adding one is one file and one line here.

A rule of `QUERY_RULES` is a function ``(query, setup) -> Iterator[Finding]`` that is asked once for
each judged query; one of `SETUP_RULES` is ``(setup) -> Iterator[Finding]`` and sees all of them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from searchmark.registry import Registry

if TYPE_CHECKING:
    from searchmark.diagnosis.evidence import Evidence, QueryEvidence
    from searchmark.diagnosis.finding import Finding

QueryRule = Callable[["QueryEvidence", "Evidence"], Iterator["Finding"]]
SetupRule = Callable[["Evidence"], Iterator["Finding"]]

EVERY_SYSTEM_FAILS = "every-system-fails"
"""Where this one finds something, the comparing rules below are skipped for the query."""

COMPARING: Mapping[str, str] = {
    "pairwise-gap": "searchmark.diagnosis.rules.pairwise:pairwise_gap",
    "hybrid-below-best": "searchmark.diagnosis.rules.hybrid:hybrid_below_best",
    "irrelevant-at-top": "searchmark.diagnosis.rules.top:irrelevant_at_top",
    "relevant-missed": "searchmark.diagnosis.rules.missed:relevant_missed",
}
"""Rules about how good an answer is; skipped for a query that every system fails."""

STANDING: Mapping[str, str] = {
    "no-answer-answered": "searchmark.diagnosis.rules.no_answer:no_answer_answered",
    "filter-violated": "searchmark.diagnosis.rules.filters:filter_violated",
    "stuffed-above-genuine": "searchmark.diagnosis.rules.stuffed:stuffed_above_genuine",
    "near-duplicates": "searchmark.diagnosis.rules.crowded:near_duplicates",
    "holes-at-top": "searchmark.diagnosis.rules.holes:holes_at_top",
    "failed-or-partial": "searchmark.diagnosis.rules.failures:failed_or_partial",
    "judged-not-in-corpus": "searchmark.diagnosis.rules.absent:judged_not_in_corpus",
    "contradicting-judgment": "searchmark.diagnosis.rules.contradicted:contradicting_judgment",
}
"""Rules that hold whatever the value is."""

ABOUT_CALLS = frozenset({"failed-or-partial"})
"""Rules that see systems whose run is no measurement, too: they tell why it is none."""

SETUP_RULES: Mapping[str, str] = {
    "latency-outliers": "searchmark.diagnosis.rules.latency:latency_outliers",
    "same-results": "searchmark.diagnosis.rules.same:same_results",
}
"""Rules about systems, over all queries."""

QUERY_RULES: Mapping[str, str] = {
    EVERY_SYSTEM_FAILS: "searchmark.diagnosis.rules.all_fail:every_system_fails",
    **COMPARING,
    **STANDING,
}

RULES = Registry("rule", "searchmark.rules", {**QUERY_RULES, **SETUP_RULES})
