"""Ten queries for systems that fail on some of them, and commands over them."""

from pathlib import Path

import pytest

from searchmark.cli.main import main

N = 10


def call(*arguments: str | Path) -> int:
    """Return the exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    return int(str(ended.value.code))
