"""The notation of measures: ``nDCG@10``, ``P(rel=2)@5``, and trec_eval's names for the same."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from searchmark.errors import InputError, nearest
from searchmark.measures.spec import Measure, Param, Spec, Value
from searchmark.measures.table import PROFILE_DEFAULTS, find_spec, names_with_cutoff, spellings

MAX_CUTOFF = 1_000_000

_NOTATION = 'give their notation, such as ["nDCG@10", "RR"]'

_FORM = re.compile(r"\s*(\w[\w.-]*)\s*(?:\(([^()]*)\))?\s*(?:@\s*([^\s@()]+))?\s*", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]+")


class _Parts(NamedTuple):
    spec: Spec
    inside: str
    at: str | None


def parse_measure(text: str, profile: str = "graded") -> Measure:
    """Read the notation of a measure; what it does not say comes from the profile.

    Raises
    ------
    InputError
        For an unknown name, parameter or value, with the nearest known ones.
    """
    if not isinstance(profile, str) or profile not in PROFILE_DEFAULTS:
        fix = nearest(str(profile), PROFILE_DEFAULTS)
        raise InputError(f"unknown profile '{profile}'", fix=fix)
    parts = _split(text)
    given = _params(parts.inside, parts.spec, text)
    if parts.spec.at is not None:
        return _with_point(parts, given, profile, text)
    return make_measure(parts.spec, _cutoff(parts.at, parts.spec, text), given, profile)


def parse_measures(measures: Iterable[str] | str, profile: str) -> list[Measure]:
    """Read measures; one that is written in several ways is one column."""
    given = [measures] if isinstance(measures, str) else measures
    if not isinstance(given, Iterable):
        raise InputError(f"measures={measures!r} names no measures", fix=_NOTATION)
    names = list(given)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"the measure {name!r} is no text", fix=_NOTATION)
    if not names:
        raise InputError("there are no measures", fix=_NOTATION)
    return list({m.written: m for m in (parse_measure(n, profile) for n in names)}.values())


def make_measure(
    spec: Spec, cutoff: int | None, given: Mapping[str, Value], profile: str
) -> Measure:
    """Return the measure of `spec` with the `given` parameters, the rest as the profile says."""
    in_force: dict[str, Value | None] = {n: p.default for n, p in spec.all_params().items()}
    for defaults in (PROFILE_DEFAULTS[profile], spec.profiles.get(profile, {})):
        in_force.update({n: v for n, v in defaults.items() if _allows(spec, n, v)})
    in_force.update(given)
    return Measure(spec, cutoff, tuple(in_force.items()), _written(spec, given, cutoff))


def _with_point(parts: _Parts, given: dict[str, Value], profile: str, text: str) -> Measure:
    """Return a measure whose ``@`` sets a parameter, such as the recall of ``IPrec@0.1``."""
    name = str(parts.spec.at)
    if parts.at is not None and name in given:
        raise InputError(f"'{text}' gives '{name}' twice")
    if parts.at is not None:
        given[name] = _value(parts.at, name, parts.spec.params[name], text)
    elif name not in given and parts.spec.cutoff == "required":
        raise InputError(f"'{text}' needs a {name}", fix=f"write {parts.spec.name}@0.1")
    measure = make_measure(parts.spec, None, given, profile)
    if name not in given:
        return measure
    others = {n: v for n, v in given.items() if n != name}
    short = _written(parts.spec, others, None) + f"@{given[name]}"
    return replace(measure, written=short)


def _allows(spec: Spec, name: str, value: Value) -> bool:
    param = spec.all_params().get(name)
    return param is not None and (not param.choices or value in param.choices)


def _split(text: str) -> _Parts:
    form = _FORM.fullmatch(text)
    if not form:
        raise InputError(
            f"'{text}' is not the notation of a measure",
            fix="write NAME, NAME@CUTOFF or NAME(PARAMETER=VALUE)@CUTOFF, such as P(rel=2)@5",
        )
    name, inside, at = form[1], form[2] or "", form[3]
    spec = find_spec(name)
    if spec is not None:
        return _Parts(spec, inside, at)
    stem, _, number = text.strip().rpartition("_")
    if stem.lower() in names_with_cutoff() and _NUMBER.fullmatch(number):
        spec = names_with_cutoff()[stem.lower()]
        if spec.trec_at is not None:
            return _Parts(spec, f"{spec.trec_at}={number}", None)
        return _Parts(spec, "", number)
    # one spelling of each, the proper one: nDCG, not ndcg
    known = {n.lower(): n for spec in spellings().values() for n in reversed(spec.names())}
    raise InputError(f"unknown measure '{text}'", fix=nearest(name, known.values()))


def _params(inside: str, spec: Spec, text: str) -> dict[str, Value]:
    """Return the parameters given, in the order of the spec, so that one measure reads one way."""
    known = spec.all_params()
    given: dict[str, Value] = {}
    for part in filter(None, (p.strip() for p in inside.split(","))):
        name, equals, value = (x.strip() for x in part.partition("="))
        if not equals or not value:
            raise InputError(f"'{part}' in '{text}' is not PARAMETER=VALUE")
        if name not in known:
            raise InputError(f"'{text}': {spec.name} has no '{name}'", fix=nearest(name, known))
        if name in given:
            raise InputError(f"'{text}' gives '{name}' twice")
        given[name] = _value(value, name, known[name], text)
    return {name: given[name] for name in known if name in given}


def _value(value: str, name: str, param: Param, text: str) -> Value:
    if param.choices:
        if value not in param.choices:
            raise InputError(
                f"'{text}': {name} cannot be '{value}'", fix=nearest(value, param.choices)
            )
        return value
    if param.kind == "word":
        return value
    form = _WHOLE if param.kind == "whole number" else _NUMBER
    if not form.fullmatch(value) or not math.isfinite(float(value)):
        raise InputError(f"'{text}': {name} must be a {param.kind}, not '{value}'")
    number: int | float = int(value) if param.kind == "whole number" else float(value)
    if param.low is not None and number < param.low:
        raise InputError(f"'{text}': {name} must be at least {param.low:g}")
    if param.high is not None and number > param.high:
        raise InputError(f"'{text}': {name} must be at most {param.high:g}")
    return number


def _cutoff(cutoff: str | None, spec: Spec, text: str) -> int | None:
    if cutoff is None:
        if spec.cutoff == "required":
            raise InputError(f"'{text}' needs a cutoff", fix=f"write {spec.name}@10")
        return None
    if spec.cutoff == "none":
        raise InputError(f"'{text}': {spec.name} takes no cutoff", fix=f"write {spec.name}")
    is_whole = re.fullmatch(r"0*[0-9]{1,7}", cutoff) is not None
    if not is_whole or not 1 <= int(cutoff) <= MAX_CUTOFF:
        raise InputError(f"'{text}': the cutoff must be a whole number from 1 to {MAX_CUTOFF:,}")
    return int(cutoff)


def _written(spec: Spec, given: Mapping[str, Value], cutoff: int | None) -> str:
    inside = ",".join(f"{n}={v}" for n, v in given.items())
    return spec.name + (f"({inside})" if inside else "") + ("" if cutoff is None else f"@{cutoff}")
