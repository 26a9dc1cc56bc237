"""The paired tests by name. A new one is a file and a line here."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from searchmark.errors import InputError, nearest
from searchmark.stats.paired import Alternative, Floats, PairedTest
from searchmark.stats.randomization import randomization_test
from searchmark.stats.sign import sign_test
from searchmark.stats.ttest import t_test
from searchmark.stats.wilcoxon import wilcoxon_test


class Run(Protocol):
    """A test of differences, one a query."""

    def __call__(
        self,
        differences: Floats,
        *,
        clusters: Sequence[object] | None = None,
        alternative: Alternative = "two-sided",
    ) -> PairedTest:
        """Return what the test finds."""


class Entry(NamedTuple):
    """A test and what to say of it."""

    run: Run
    help: str


TESTS: Mapping[str, Entry] = {
    "randomization": Entry(
        randomization_test,
        "flips the signs of differences at random; assumes nothing else: the default",
    ),
    "t": Entry(t_test, "mean over its standard error; assumes differences that are about normal"),
    "wilcoxon": Entry(
        wilcoxon_test, "ranks of differences; rare large ones count little, means may be equal"
    ),
    "sign": Entry(sign_test, "counts wins and losses alone; the weakest, and the easiest to tell"),
}
"""Name -> test."""


def find_test(name: str) -> Entry:
    """Return the test of that name."""
    if name not in TESTS:
        raise InputError(f"unknown test '{name}'", fix=nearest(name, TESTS))
    return TESTS[name]
