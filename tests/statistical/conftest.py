import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def simulation() -> Iterator[ModuleType]:
    """Return the module beside this file, which the pictures of the docs use too."""
    spec = spec_from_file_location("simulation", Path(__file__).with_name("simulation.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["simulation"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["simulation"]
