"""Whatever a function under test changes of the process, the same bytes come out."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from searchmark.cli.main import main

DISTURBANCES = {
    "working folder": "os.chdir(elsewhere)",
    "random numbers": "random.seed(1); numpy.random.seed(1)",
    "numpy errors": "numpy.seterr(all='raise'); numpy.set_printoptions(precision=1)",
    "decimal context": "decimal.getcontext().prec = 1; decimal.setcontext(decimal.Context(prec=2))",
    "locale": "locale.setlocale(locale.LC_ALL, 'C')",
    "warnings": "warnings.simplefilter('error'); warnings.warn_explicit = None",
    "logging": "logging.basicConfig(level=0, stream=sys.stdout, force=True); logging.info('x')",
    "no logging": "logging.disable(100)",
    "environment": "os.environ.update(COLUMNS='20', NO_COLOR='1', TZ='Asia/Tokyo', TMPDIR='/x')",
    "mask of files": "os.umask(0o777)",
    "garbage": "gc.disable(); gc.set_threshold(1)",
    "recursion": "sys.setrecursionlimit(150)",
    "switching": "sys.setswitchinterval(5)",
    "hooks": "sys.excepthook = sys.displayhook = None",
    "polars": "polars.Config.set_fmt_float('full'); polars.Config.set_tbl_rows(1)",
    "sockets": "socket.setdefaulttimeout(0.001)",
    "streams": "sys.stdout = io.StringIO(); sys.stderr = None",
}

MODULE = """
import decimal, gc, io, locale, logging, numpy, os, polars, random, socket, sys, warnings
elsewhere = {elsewhere!r}

def search(text, k):
    {disturb}
    return [("d2", 0.25), ("d1", 1 / 3)] if text == "red" else ["d1"]
"""

PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"
depth = 5
measures = ["RR"]

[systems.mine]
use = "python"
callable = "{module}:search"
"""

Ran = tuple[str, bytes]


@pytest.fixture
def ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[[str], Ran]]:
    """Run a project whose function does something first; return what is printed and kept."""
    before = set(sys.modules)

    def run(disturb: str) -> Ran:
        folder = tmp_path / f"p{abs(hash(disturb))}"
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        folder.mkdir()
        module = f"smdist_{folder.name}"
        (folder / f"{module}.py").write_text(
            MODULE.format(elsewhere=str(elsewhere), disturb=disturb)
        )
        (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "a"}\n{"_id": "d2"}\n')
        (folder / "queries.jsonl").write_text(
            '{"_id": "1", "text": "red"}\n{"_id": "2", "text": "green"}\n'
        )
        (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\td1\t1\n2\td1\t1\n")
        (folder / "searchmark.toml").write_text(PROJECT.format(module=module))
        monkeypatch.chdir(folder)
        with pytest.raises(SystemExit) as ended:
            main(["run"])
        printed = capsys.readouterr()
        assert ended.value.code == 0, printed.err
        assert "\nmine: results in .searchmark" in "\n" + printed.err
        assert list(elsewhere.iterdir()) == []
        (bundle,) = (folder / ".searchmark" / "runs").iterdir()
        shown = printed.out.partition("Calls: latency")[0]  # which differs from run to run
        return shown, (bundle / "run.parquet").read_bytes()

    yield run
    for name in set(sys.modules) - before:
        if name.startswith("smdist_"):
            del sys.modules[name]


@pytest.fixture
def undisturbed() -> Iterator[None]:
    """Undo what the functions do, for the tests that follow."""
    import decimal
    import gc
    import logging
    import os
    import random
    import socket
    import warnings

    import numpy as np
    import polars as pl

    environment, root = dict(os.environ), logging.getLogger()
    handlers, level = list(root.handlers), root.level
    kept = sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold()
    hooks = sys.excepthook, sys.displayhook
    errors, state, shown = np.geterr(), np.random.get_state(), np.get_printoptions()
    numbers, context = random.getstate(), decimal.getcontext().copy()
    explicit = warnings.warn_explicit
    with warnings.catch_warnings(), pl.Config():
        yield
    warnings.warn_explicit = explicit  # type: ignore[misc]
    os.environ.clear()
    os.environ.update(environment)
    root.handlers[:], root.level = handlers, level
    logging.disable(logging.NOTSET)
    sys.setrecursionlimit(kept[0])
    sys.setswitchinterval(kept[1])
    gc.set_threshold(*kept[2])
    gc.enable()
    sys.excepthook, sys.displayhook = hooks
    np.seterr(**errors)
    np.random.set_state(state)
    np.set_printoptions(**shown)
    random.setstate(numbers)
    decimal.setcontext(context)
    socket.setdefaulttimeout(None)


@pytest.mark.parametrize("what", DISTURBANCES)
@pytest.mark.usefixtures("undisturbed")
def test_the_same_comes_out(ran: Callable[[str], Ran], what: str) -> None:
    plain, disturbed = ran("pass"), ran(DISTURBANCES[what])
    assert disturbed == plain
    # RR: d1 is second for query 1 and first for query 2, so (1/2 + 1) / 2
    assert "0.750" in plain[0]
