"""The notation of measures: ``nDCG@10``, ``P(rel=2)@5``, and trec_eval's names for the same."""

import re
from collections.abc import Mapping

from searchmark.errors import InputError, nearest
from searchmark.measures.spec import Measure, Param, Spec, Value
from searchmark.measures.table import MEASURES, PROFILE_DEFAULTS, spellings

_FORM = re.compile(r"\s*([A-Za-z][A-Za-z_]*)\s*(?:\(([^()]*)\))?\s*(?:@\s*([0-9.]+))?\s*")
_TREC_CUT = re.compile(r"\s*(ndcg_cut|map_cut|recall|success|p)_([0-9]+)\s*", re.IGNORECASE)
_TREC_NAMES = {"ndcg_cut": "nDCG", "map_cut": "AP", "recall": "R", "success": "Success", "p": "P"}


def parse_measure(text: str, profile: str = "graded") -> Measure:
    """Read the notation of a measure; what it does not say comes from the profile.

    Raises
    ------
    InputError
        For an unknown name, parameter or value, with the nearest known ones.
    """
    if profile not in PROFILE_DEFAULTS:
        raise InputError(f"unknown profile '{profile}'", fix=nearest(profile, PROFILE_DEFAULTS))
    name, inside, cutoff = _split(text)
    spec = spellings().get(name.lower())
    if spec is None:
        raise InputError(f"unknown measure '{text}'", fix=nearest(name, MEASURES.names()))
    given = _params(inside, spec, text)
    in_force: dict[str, Value | None] = {n: p.default for n, p in spec.all_params().items()}
    for defaults in (PROFILE_DEFAULTS[profile], spec.profiles.get(profile, {})):
        in_force.update({n: v for n, v in defaults.items() if n in in_force})
    in_force.update(given)
    at = _cutoff(cutoff, spec, text)
    return Measure(spec, at, tuple(in_force.items()), _written(spec, given, at))


def _split(text: str) -> tuple[str, str, str | None]:
    trec = _TREC_CUT.fullmatch(text)
    if trec:
        return _TREC_NAMES[trec[1].lower()], "", trec[2]
    form = _FORM.fullmatch(text)
    if not form:
        raise InputError(
            f"'{text}' is not the notation of a measure",
            fix="write NAME, NAME@CUTOFF or NAME(PARAMETER=VALUE)@CUTOFF, such as P(rel=2)@5",
        )
    return form[1], form[2] or "", form[3]


def _params(inside: str, spec: Spec, text: str) -> dict[str, Value]:
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
    return given


def _value(value: str, name: str, param: Param, text: str) -> Value:
    if param.choices:
        if value not in param.choices:
            raise InputError(
                f"'{text}': {name} cannot be '{value}'", fix=nearest(value, param.choices)
            )
        return value
    if param.default is None:
        return value
    kind = type(param.default)
    try:
        number = kind(value)
    except ValueError:
        word = "a whole number" if kind is int else "a number"
        raise InputError(f"'{text}': {name} must be {word}, not '{value}'") from None
    if param.low is not None and not float(number) >= param.low:
        raise InputError(f"'{text}': {name} must be at least {param.low:g}")
    return number


def _cutoff(cutoff: str | None, spec: Spec, text: str) -> int | None:
    if cutoff is None:
        if spec.cutoff == "required":
            raise InputError(f"'{text}' needs a cutoff", fix=f"write {spec.name}@10")
        return None
    if spec.cutoff == "none":
        raise InputError(f"'{text}': {spec.name} takes no cutoff", fix=f"write {spec.name}")
    if not cutoff.isdigit() or not 1 <= int(cutoff) <= 1_000_000:
        raise InputError(f"'{text}': the cutoff must be a whole number from 1 to 1,000,000")
    return int(cutoff)


def _written(spec: Spec, given: Mapping[str, Value], cutoff: int | None) -> str:
    inside = ",".join(f"{n}={v}" for n, v in given.items())
    return spec.name + (f"({inside})" if inside else "") + ("" if cutoff is None else f"@{cutoff}")
