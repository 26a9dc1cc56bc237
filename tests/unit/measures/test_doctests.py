"""The worked examples in the docstrings are run."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import searchmark.measures

MODULES = [m.name for m in pkgutil.iter_modules(searchmark.measures.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(import_module(f"searchmark.measures.{name}"))
    assert result.failed == 0


def test_there_are_examples_to_run():
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [import_module(f"searchmark.measures.{name}") for name in MODULES]
    assert sum(bool(t.examples) for m in modules for t in finder.find(m)) > 20
