"""Python functions as systems: what a module and a call may do, and what is told of it."""

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from searchmark.data import Corpus, Queries
from searchmark.errors import InputError
from searchmark.experiments.journal import Call, open_journal
from searchmark.experiments.runner import ask_all
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry
from searchmark.systems.python import Config

CORPUS = Corpus(pl.DataFrame({"doc_id": ["d1", "d2"], "text": ["red", "green"]}))

Answers = Callable[[str], Call]


@pytest.fixture
def answered(tmp_path: Path) -> Iterator[Answers]:
    """Ask the function `search` of a module with this text, and read the call from its journal."""
    before = set(sys.modules)

    def answer(module: str) -> Call:
        name = f"sm_{abs(hash((module, tmp_path)))}"
        (tmp_path / f"{name}.py").write_text(module)
        entry = Entry("mine", "python", Config(callable=f"{name}:search"))
        queries = Queries(pl.DataFrame({"query_id": ["q"], "text": ["red"]}), {})
        with (
            Pool({"mine": entry}, CORPUS, folder=tmp_path, cache=tmp_path) as pool,
            open_journal(tmp_path / "journal") as journal,
        ):
            return ask_all(pool.open("mine"), queries, 2, journal)[0]

    yield answer
    for name in set(sys.modules) - before:
        if name.startswith("sm_"):
            del sys.modules[name]  # Hypothesis reads the `__file__` of every module there is


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("class B(BaseException): pass\nraise B('x')", r"\(B: x\)"),
        ("raise GeneratorExit", r"\(GeneratorExit\)"),
        ("exit(0)", r"called exit\(0\), which would have ended the program"),
        ("import os; os._exit(0)", r"called os\._exit\(0\), which would"),
        ("import click; raise click.exceptions.Exit(0)", r"\(Exit: 0\)"),
        ("raise ValueError('one\\ntwo')", r"\(ValueError: one two\)"),
        ("def __getattr__(name): raise KeyError(name)", r"\(KeyError: '"),
        ("import sys; sys.path.clear()", "AttributeError: module 'sm_"),
        (
            "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
            r"\(E: its message cannot be shown, ValueError\)",
        ),
    ],
)
def test_a_module_that_cannot_be_imported_is_wrong_input(
    answered: Answers, module: str, told: str
) -> None:
    with pytest.raises(InputError, match=f"cannot be imported.*{told}"):
        answered(module)


def test_ctrl_c_while_a_module_is_imported_is_a_persons_wish(answered: Answers) -> None:
    with pytest.raises(KeyboardInterrupt):
        answered("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(20)")
    with pytest.raises(InputError, match=r"cannot be imported.*raised KeyboardInterrupt"):
        answered("raise KeyboardInterrupt")


def test_a_module_may_stand_for_itself(answered: Answers) -> None:
    body = "def search(text, k): return ['d1']\n"
    for odd in ("__file__ = 7", "__file__ = '/nowhere'", "import sys; sys.path.clear()"):
        assert answered(body + odd).doc_ids == ["d1"]


@pytest.mark.parametrize(
    "returned",
    [
        "numpy.array(['d1', 'd2'])",
        "[numpy.str_('d1'), (numpy.str_('d2'), None)]",
        "[Id('d1'), Id('d2')]",
    ],
)
def test_ids_are_plain_text(answered: Answers, returned: str) -> None:
    call = answered(
        "import enum, numpy\n"
        "class Id(str, enum.Enum):\n    one = 'd1'\n    two = 'd2'\n"
        f"def search(text, k): return {returned}"
    )
    assert (call.doc_ids, call.scores) == (["d1", "d2"], [None, None])
    assert {type(d) for d in call.doc_ids} == {str}


@pytest.mark.parametrize("score", ["numpy.float32(0.5)", "numpy.array(0.5)", "Fraction(1, 2)"])
def test_scores_are_plain_numbers(answered: Answers, score: str) -> None:
    call = answered(
        "import numpy\nfrom fractions import Fraction\n"
        f"def search(text, k): return [('d1', {score})]"
    )
    assert call.scores == [0.5]
    assert type(call.scores[0]) is float


def test_no_more_is_taken_than_asked_for(
    answered: Answers, capfd: pytest.CaptureFixture[str]
) -> None:
    module = """
def search(text, k):
    try:
        while True:
            yield "d1"
    finally:
        print("closed")
"""
    assert answered(module).doc_ids == ["d1", "d1"]
    assert capfd.readouterr() == ("", "closed\n")  # in the call, not whenever it is collected


@pytest.mark.parametrize(
    "module",
    [
        "async def search(text, k): return ['d1', ('d2', 0.5)]",
        "async def search(text, k):\n    yield 'd1'\n    yield ('d2', 0.5)\n    yield 'd3'",
        "async def one(text, k): return ['d1', ('d2', 0.5)]\nsearch = lambda q, k: one(q, k)",
        "class Mine:\n"
        "    async def __call__(self, text, k): return ['d1', ('d2', 0.5)]\n"
        "search = Mine()",
        "import asyncio\n"
        "async def one(text): return 'd1' if text == 'red' else None\n"
        "async def search(text, k): return await asyncio.gather(one(text), one(text))",
    ],
)
def test_what_is_async_is_awaited(answered: Answers, module: str) -> None:
    call = answered(module)
    assert call.error is None
    assert call.doc_ids[0] == "d1"
    assert len(call.doc_ids) == 2


def test_async_ids_are_to_be_awaited(answered: Answers) -> None:
    with warnings.catch_warnings(record=True) as leaked:
        warnings.simplefilter("always")
        call = answered("async def one(): return 'd1'\ndef search(text, k): return [one()]")
    assert call.error is not None
    assert "returned a coroutine where an id is expected" in call.error
    assert leaked == []


def test_what_async_code_does_harms_no_more_than_other_code(
    answered: Answers, capfd: pytest.CaptureFixture[str]
) -> None:
    call = answered("import os\nasync def search(text, k):\n    print('noise')\n    os._exit(3)")
    assert call.error is not None
    assert "called os._exit(3), which would have ended the program" in call.error
    assert capfd.readouterr() == ("", "noise\n")


def test_an_async_generator_is_ended_in_the_call(
    answered: Answers, capfd: pytest.CaptureFixture[str]
) -> None:
    module = """
async def search(text, k):
    try:
        while True:
            yield "d1"
    finally:
        print("closed")
"""
    assert answered(module).doc_ids == ["d1", "d1"]
    assert capfd.readouterr() == ("", "closed\n")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("raise ValueError('boom\\r\\nline2\\n')", "ValueError: boom line2"),
        ("raise Mute", "Mute: its message cannot be shown, ZeroDivisionError"),
        ("os._exit(0)", "called os._exit(0), which would have ended"),
        ("raise Base('x')", "Base: x"),
        ("return [Mute()]", "ZeroDivisionError: division by zero"),
    ],
)
def test_whatever_is_raised_is_one_line(answered: Answers, body: str, error: str) -> None:
    call = answered(
        "import os\n"
        "class Base(BaseException): pass\n"
        "class Mute(Exception):\n    def __str__(self): 1 / 0\n    __repr__ = __str__\n"
        f"def search(text, k): {body}"
    )
    assert call.status == "error"
    assert call.error is not None and call.error.startswith(error)
    assert "\n" not in call.error


def test_what_is_printed_at_import_is_no_result(
    answered: Answers, capfd: pytest.CaptureFixture[str]
) -> None:
    answered("print('noise')\ndef search(text, k):\n    print('more')\n    return ['d1']")
    assert capfd.readouterr() == ("", "noise\nmore\n")
