"""The machine contract: JSON whose fields are added to but never change meaning."""

from typing import TYPE_CHECKING, Any

from searchmark.errors import BAD_VERDICT
from searchmark.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from searchmark.diagnosis.diagnosis import Diagnosis
    from searchmark.diagnosis.evidence import Evidence, QueryEvidence, Ranking
    from searchmark.diagnosis.finding import Finding
    from searchmark.diagnosis.rollup import Group, Rise
    from searchmark.gate.verdict import MeasureVerdict, QueryChange, Verdict
    from searchmark.measures.summary import Evaluation, Mean, Sensitivity, SystemScores
    from searchmark.reports.table import Table
    from searchmark.reports.verdict import NoVerdict
    from searchmark.stats.comparison import Family

EVALUATION_FORMAT = "searchmark/evaluation/1"
COMPARISON_FORMAT = "searchmark/comparison/1"
VERDICT_FORMAT = "searchmark/gate/1"
DIAGNOSIS_FORMAT = "searchmark/diagnosis/1"
QUERIES_FORMAT = "searchmark/queries/1"


def evaluation_json(evaluation: "Evaluation", *, per_query: bool = False) -> str:
    """Return an evaluation as JSON in full double precision."""
    return _text(
        {
            "format": EVALUATION_FORMAT,
            "searchmark": __version__,
            "systems": {
                s.system: _system(s, evaluation, per_query=per_query) for s in evaluation.systems
            },
            "n_queries": evaluation.n_queries,
            "categories": dict(evaluation.categories),
            "profile": evaluation.profile,
            "conventions": dict(evaluation.conventions),
            "digests": dict(evaluation.digests),
            "sensitivity": [_sensitivity(s) for s in evaluation.sensitivity],
            "notes": list(evaluation.notes),
        }
    )


def _sensitivity(found: "Sensitivity") -> dict[str, Any]:
    needed = [{"difference": d, "n_queries": n} for d, n in found.needed]
    return {**found._asdict(), "needed": needed}


def _system(scores: "SystemScores", evaluation: "Evaluation", *, per_query: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "measures": {m.measure: _mean(m) for m in scores.means},
        "by_category": {
            c: {m.measure: _mean(m) for m in means} for c, means in scores.by_category.items()
        },
        "n_failed": scores.n_failed,
        "invalid": scores.invalid,
    }
    if scores.system in evaluation.calls:
        found["calls"] = evaluation.calls[scores.system]._asdict()
    if scores.system in evaluation.counts:
        found["counts"] = evaluation.counts[scores.system]._asdict()
    for measure, band in evaluation.bands.get(scores.system, {}).items():
        found["measures"][measure]["ties"] = band._asdict()
    if per_query:
        found["per_query"] = {m: dict(values) for m, values in scores.per_query.items()}
    return found


def _mean(mean: "Mean") -> dict[str, Any]:
    return {
        "mean": mean.value,
        "low": mean.low,
        "high": mean.high,
        "interval": mean.interval,
        "interval_note": mean.interval_note,
        "ceiling": mean.ceiling,
        "n_queries": mean.n_queries,
        "n_missing": mean.n_missing,
        "n_skipped": mean.n_skipped,
        "unjudged_share": mean.unjudged_share,
    }


def comparison_json(family: "Family") -> str:
    """Return compared systems as JSON in full double precision."""
    from searchmark.reports.comparison import TABLE_COLUMNS

    return _text(
        {
            "format": COMPARISON_FORMAT,
            "searchmark": __version__,
            "comparisons": [
                {
                    **{name: getattr(c, name) for name in TABLE_COLUMNS},
                    "p_by_test": dict(c.p_by_test),
                    "interval": c.interval_method,
                    "interval_note": c.interval_note,
                    "n_clusters": c.n_clusters,
                    "note": c.note,
                }
                for c in family.comparisons
            ],
            "correction": family.correction,
            "alpha": family.alpha,
            "level": family.level,
            "sentence": family.sentence,
            "detectable": dict(family.detectable),
            "notes": list(family.notes),
        }
    )


def no_verdict_json(found: "NoVerdict") -> str:
    """Return as JSON that no verdict was given, and why."""
    return _text(
        {
            "format": VERDICT_FORMAT,
            "searchmark": __version__,
            "exit_code": found.exit_code,
            "comparable": found.comparable,
            "passed": None,
            "system": found.system,
            "reasons": list(found.reasons),
        }
    )


def verdict_json(verdict: "Verdict") -> str:
    """Return a verdict as JSON in full double precision."""
    return _text(
        {
            "format": VERDICT_FORMAT,
            "searchmark": __version__,
            "exit_code": 0 if verdict.passed else BAD_VERDICT,
            "comparable": True,
            "passed": verdict.passed,
            "system": verdict.system,
            "because": list(verdict.because),
            "blind": list(verdict.blind),
            "suggestions": list(verdict.suggestions),
            "notes": list(verdict.notes),
            "caveats": list(verdict.caveats),
            "alpha": verdict.alpha,
            "suggested_max_drop": verdict.suggested_max_drop,
            "measures": [_measure(v) for v in verdict.measures],
            "categories": [{"category": v.category, **_measure(v)} for v in verdict.categories],
            "pinned": [
                {
                    "query_id": p.query_id,
                    "text": p.text,
                    "ok": p.ok,
                    "because": p.because,
                    "changes": [_change(c) for c in p.changes],
                }
                for p in verdict.pinned
            ],
            "worst_queries": [
                {"query_id": q.query_id, "text": q.text, **_change(q)}
                for q in verdict.worst_queries
            ],
            "n_better": dict(verdict.n_better),
            "n_worse": dict(verdict.n_worse),
        }
    )


def _change(q: "QueryChange") -> dict[str, Any]:
    return {
        "measure": q.measure,
        "baseline": q.baseline,
        "candidate": q.candidate,
        "delta": q.delta,
    }


def _measure(v: "MeasureVerdict") -> dict[str, Any]:
    return {
        "measure": v.measure,
        "higher_is_better": v.higher_is_better,
        "baseline": v.baseline,
        "candidate": v.candidate,
        "delta": v.delta,
        "low": v.low,
        "high": v.high,
        "n_queries": v.n_queries,
        "p": v.p,
        "p_adjusted": v.p_adjusted,
        "detectable": v.detectable,
        "standard_error": v.standard_error,
        "caught": v.caught,
        "paired_delta": v.paired_delta,
        "limit": v.limit,
        "floor": v.floor,
        "ok": v.ok,
        "because": v.because,
        "blind": v.blind,
    }


def diagnosis_json(diagnosis: "Diagnosis") -> str:
    """Return a diagnosis as JSON in full double precision."""
    setup, verdict, action = diagnosis.setup, diagnosis.completion, diagnosis.action
    return _text(
        {
            "format": DIAGNOSIS_FORMAT,
            "searchmark": __version__,
            "measure": setup.measure,
            "k": setup.k,
            "n_queries": setup.n_queries,
            "n_no_answer": setup.n_no_answer,
            "n_unjudged": setup.n_unjudged,
            "serving": setup.serving,
            "mean": setup.overall,
            "systems": {
                s.name: {
                    "kind": s.kind or None,
                    "arms": list(s.arms),
                    "mean": setup.means[s.name],
                    "invalid": setup.invalid.get(s.name),
                    "levels": [level._asdict() for level in diagnosis.levels[s.name]],
                }
                for s in setup.systems
            },
            "findings": [_finding(f) for f in diagnosis.findings],
            "groups": [_group(g) for g in diagnosis.groups],
            "all_mended": _rise(diagnosis.all_mended),
            "verdict": {
                "passed": verdict.passed,
                "because": list(verdict.because),
                "caveat": verdict.caveat,
                "conditions": [c._asdict() for c in verdict.conditions],
            },
            "next": {
                "action": None
                if action is None
                else {
                    "what": action.what,
                    "why": list(action.why),
                    "tag": action.tag,
                    "severity": action.severity,
                    "system": action.system,
                    "query_ids": list(action.query_ids),
                    "serving": action.serving,
                    "then": action.then,
                    "rise": _rise(action.rise),
                },
                "ways": [s._asdict() for s in diagnosis.steps],
            },
            "capabilities": [
                {**r._asdict(), "served_by": list(r.served_by)} for r in diagnosis.capabilities
            ],
            "categories": [r._asdict() for r in diagnosis.categories],
            "queries": [r._asdict() for r in diagnosis.queries],
        }
    )


def _finding(f: "Finding") -> dict[str, Any]:
    return {
        "rule": f.rule,
        "severity": f.severity,
        "tag": f.tag,
        "query_id": f.query_id,
        "systems": list(f.systems),
        "documents": list(f.documents),
        "evidence": dict(f.evidence),
        "what": f.what,
        "fix": f.fix,
        "repaired": dict(f.repaired),
    }


def _group(g: "Group") -> dict[str, Any]:
    return {
        "tag": g.tag,
        "severity": g.severity,
        "n_findings": g.n_findings,
        "severities": dict(g.severities),
        "rules": dict(g.rules),
        "query_ids": list(g.query_ids),
        "systems": list(g.systems),
        "fixes": [f._asdict() for f in g.fixes],
        "rise": _rise(g.rise),
    }


def _rise(rise: "Rise") -> dict[str, Any]:
    return {
        "mean": rise.mean,
        "after": rise.after,
        "rise": rise.overall,
        "by_system": dict(rise.by_system),
    }


def queries_json(queries: "Sequence[QueryEvidence]", setup: "Evidence") -> str:
    """Return queries seen whole as JSON."""
    return _text(
        {
            "format": QUERIES_FORMAT,
            "searchmark": __version__,
            "measure": setup.measure,
            "k": setup.k,
            "queries": [
                {
                    "query_id": q.query_id,
                    "text": q.text,
                    "category": q.category,
                    "capability": q.capability._asdict(),
                    "judged": dict(q.judged),
                    "ideal_dcg": q.ideal,
                    "systems": {
                        r.name: {**_ranking(r, q.k), "invalid": setup.invalid.get(r.name)}
                        for r in q.rankings
                    },
                }
                for q in queries
            ],
        }
    )


def _ranking(r: "Ranking", k: int) -> dict[str, Any]:
    return {
        "value": r.value,
        "status": r.status,
        "partial": r.partial,
        "error": r.error,
        "latency_ms": r.latency_ms,
        "n_documents": len(r.documents),
        "documents": [d._asdict() for d in r.within(k)],
    }


def table_json(table: "Table") -> str:
    """Return a table as a list of objects, one a row."""
    return _text([dict(zip(table.columns, row, strict=True)) for row in table.rows])


def _text(value: Any) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
