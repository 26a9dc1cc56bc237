"""What a mean must reach: ``--fail-under`` of the command."""

from collections.abc import Iterable, Iterator, Mapping

from searchmark.errors import InputError, nearest
from searchmark.experiments.rolling.measuring import MEASURES
from searchmark.reports.rollingrecord import LABEL, Record


def read_floors(given: Iterable[str]) -> dict[str, float]:
    """Return measure -> least mean, from texts such as ``RR=0.8``."""
    floors = {}
    for text in given:
        name, equals, number = text.partition("=")
        if name not in MEASURES:
            raise InputError(
                f"--fail-under '{text}': '{name}' is not measured", fix=nearest(name, MEASURES)
            )
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not equals or not 0 <= value <= 1:
            raise InputError(f"--fail-under '{text}': give a number from 0 to 1, as {name}=0.8")
        floors[name] = value
    return floors


def not_held(record: Record, floors: Mapping[str, float]) -> Iterator[str]:
    """Yield a sentence for every floor that a record does not hold.

    Only whole answers count: what is partial cannot show that a floor is held.
    """
    for name, least in floors.items():
        mean = None if record.whole is None else record.whole.measures[name].mean
        if mean is None:
            yield f"{name} ({LABEL}) is not known, as no answer was whole; {least:g} is asked for"
        elif mean < least:
            yield f"{name} ({LABEL}) is {mean:.6f}, under {least:g}"
