"""What a Python callable may take and return, and clients that have a life."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError, SystemFailedError, SystemTimeoutError
from searchmark.systems.calling import CalledBatchSystem, CalledSystem
from searchmark.systems.policy import CallPolicy
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Answer, Entry, Hit, Query
from searchmark.systems.python import Config

CORPUS = Corpus(pl.DataFrame({"doc_id": ["d1", "d2"], "text": ["red", "green"]}))

Opened = Callable[..., AbstractContextManager[CalledSystem]]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Open the callable `search` of a module with this text, with keys and limits."""
    before = set(sys.modules)

    @contextmanager
    def opening(
        module: str, calls: CallPolicy | None = None, **keys: Any
    ) -> Iterator[CalledSystem]:
        name = f"smform_{abs(hash((module, tmp_path)))}"
        (tmp_path / f"{name}.py").write_text(module)
        keys = {"callable": f"{name}:search", **keys}
        entry = Entry("mine", "python", Config(**keys), calls or CallPolicy())
        with Pool({"mine": entry}, CORPUS, folder=tmp_path, cache=tmp_path) as pool:
            yield pool.open("mine")

    yield opening
    for name in set(sys.modules) - before:
        if name.startswith("smform_"):
            del sys.modules[name]


def ask(system: CalledSystem, text: str = "red", k: int = 2) -> Answer:
    return system.search(Query("q1", text), k)


@pytest.mark.parametrize(
    ("returned", "hit"),
    [
        ("'d1'", Hit("d1")),
        ("('d1', 0.5)", Hit("d1", 0.5)),
        ("['d1', None]", Hit("d1")),
        ("('d1', 2, 30)", Hit("d1", 2.0, 30.0)),
        ("{'id': 'd1'}", Hit("d1")),
        ("{'id': 'd1', 'score': 1, 'tokens': 7, 'title': 'x'}", Hit("d1", 1.0, 7.0)),
        ("Hit('d1', 0.25, 3.0)", Hit("d1", 0.25, 3.0)),
    ],
)
def test_a_result_may_be_written_in_many_forms(opened: Opened, returned: str, hit: Hit) -> None:
    module = "from searchmark.systems.protocol import Hit\n"
    with opened(module + f"def search(text, k): return [{returned}]") as system:
        assert ask(system).hits == (hit,)


def test_a_whole_answer_keeps_what_it_tells(opened: Opened) -> None:
    module = (
        "from searchmark.systems.protocol import Answer, Hit\n"
        "def search(text, k):\n"
        "    return Answer((Hit('a'), Hit('b'), Hit('c')), partial=True, total=7, size=99)"
    )
    with opened(module) as system:
        answer = ask(system)
    assert [h.doc_id for h in answer.hits] == ["a", "b"]
    assert (answer.partial, answer.total, answer.size) == (True, 7, 99)


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("[7]", "returned 7, which is not an id"),
        ("[('d1', 'high')]", "'high' is no number"),
        ("[('d1', 10**400)]", "is no number"),
        ("[('d1', float('nan'))]", "nan can be neither kept nor compared; give a finite number"),
        ("[('d1', float('-inf'))]", "-inf can be neither kept nor compared"),
        ("[('d1', 1, float('inf'))]", "inf can be neither kept nor compared"),
        ("[('d1', 1, 2, 3)]", "which is not an id"),
        ("[('', 1)]", "whose id is empty"),
        ("[{'doc': 'd1'}]", "which is not an id"),
        ("[None]", "returned None, which is not an id"),
        ("[True]", "returned True, which is not an id"),
        ("[['d1', '7']]", "'7' is no number"),
        ("{'d1', 'd2'}", "returned a set where a list of ids is expected; a set has no order"),
        ("frozenset()", "a set has no order"),
        ("bytearray(b'd1')", "where a list of ids is expected"),
        ("__import__('pandas').DataFrame({'id': ['d1']})", "where a list of ids is expected"),
        ("__import__('polars').DataFrame({'id': ['d1']})", "where a list of ids is expected"),
        ("{'d1': 0.5}", "where a list of ids is expected"),
        ("'x' * 1000", "…"),
    ],
)
def test_what_is_no_result_is_a_failure(opened: Opened, returned: str, told: str) -> None:
    with (
        opened(f"def search(text, k): return {returned}") as system,
        pytest.raises(SystemFailedError, match=told),
    ):
        ask(system)


ODD = '-x "quoted" {k} ${HOME}\n\'; DROP TABLE x; -- \U0001f600'


@pytest.mark.parametrize(
    "function",
    [
        "def search(query: Query, k): return [query.query_id, query.text]",
        "def search(query: 'Query', k): return [query.query_id, query.text]",
        "def search(query: 'protocol.Query', k: 'Unknown'): return [query.query_id, query.text]",
        "async def search(query: Query | None, k): return [query.query_id, query.text]",
        "class Mine:\n"
        "    def __call__(self, query: Query, k): return [query.query_id, query.text]\n"
        "search = Mine()",
    ],
)
def test_a_parameter_annotated_as_query_gets_it(opened: Opened, function: str) -> None:
    with opened("from searchmark.systems.protocol import Query\n" + function) as system:
        assert [h.doc_id for h in ask(system, ODD).hits] == ["q1", ODD]


def test_the_key_takes_decides_over_the_annotation(opened: Opened) -> None:
    plain = "def search(query, k): return [type(query).__name__]"
    with opened(plain) as system:
        assert ask(system).hits == (Hit("str"),)
    with opened(plain, takes="query") as system:
        assert ask(system).hits == (Hit("Query"),)
    annotated = "from searchmark.systems.protocol import Query\n"
    with opened(annotated + plain.replace("query,", "query: Query,"), takes="text") as system:
        assert ask(system).hits == (Hit("str"),)


BATCHES = {
    "list": "def search(queries, k): return [[q, str(len(queries))] for q in queries]",
    "generator": "def search(queries, k):\n    for q in queries: yield [q, str(len(queries))]",
    "async": "async def search(queries, k): return [[q, str(len(queries))] for q in queries]",
    "async generator": (
        "async def search(queries, k):\n    for q in queries: yield [q, str(len(queries))]"
    ),
    "queries": (
        "from searchmark.systems.protocol import Query\n"
        "def search(queries: list[Query], k):\n"
        "    return [[q.text, str(len(queries))] for q in queries]"
    ),
}


@pytest.mark.parametrize("form", BATCHES)
def test_a_batch_is_one_call(opened: Opened, form: str) -> None:
    with opened(BATCHES[form], CallPolicy(batch=3), batch_form=True) as system:
        assert isinstance(system, CalledBatchSystem)
        answers = system.search_many([Query("1", "a"), Query("2", ODD), Query("3", "c")], 5)
        found = [a.hits for a in answers if isinstance(a, Answer)]
        assert found == [(Hit(t), Hit("3")) for t in ("a", ODD, "c")]
        assert ask(system, "alone").hits == (Hit("alone"), Hit("1"))


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("[['d1']]", "returned 1 answers to 2 queries"),
        ("[['d1']] * 3", "returned more than 2 answers to 2 queries"),
        ("(['d1'] for _ in iter(int, 1))", "returned more than 2 answers to 2 queries"),
        ("None", "returned None where 2 lists of ids are expected"),
        ("{q: ['d1'] for q in queries}", "where 2 lists of ids are expected"),
    ],
)
def test_a_wrong_number_of_answers_is_a_failure(opened: Opened, returned: str, told: str) -> None:
    module = f"def search(queries, k): return {returned}"
    with (
        opened(module, CallPolicy(batch=2), batch_form=True) as system,
        pytest.raises(SystemFailedError, match=told),
    ):
        assert isinstance(system, CalledBatchSystem)
        system.search_many([Query("1", "a"), Query("2", "b")], 5)


def test_one_wrong_answer_of_a_batch_is_that_querys_failure(opened: Opened) -> None:
    module = "def search(queries, k): return [['d1'], [7], ValueError('no'), []]"
    with opened(module, CallPolicy(batch=4), batch_form=True) as system:
        assert isinstance(system, CalledBatchSystem)
        given = system.search_many([Query(str(i), "x") for i in range(4)], 5)
    assert isinstance(given[0], Answer)
    assert given[0].hits == (Hit("d1"),)
    assert "returned 7" in str(given[1])
    assert "ValueError: no" in str(given[2])
    assert isinstance(given[3], Answer)
    assert given[3].hits == ()


def test_batch_needs_a_function_that_takes_lists(opened: Opened) -> None:
    with (
        pytest.raises(InputError, match="batch = 5, and its function takes one query"),
        opened("def search(text, k): return []", CallPolicy(batch=5)),
    ):
        pass


LIVES = {
    "class": (
        "class search:\n"
        "    def __init__(self): print('open')\n"
        "    def __call__(self, text, k): return ['d1']\n"
        "    def close(self): print('close')",
        False,
    ),
    "class with aclose": (
        "class search:\n"
        "    def __init__(self): print('open')\n"
        "    async def __call__(self, text, k): return ['d1']\n"
        "    async def aclose(self): print('close')",
        False,
    ),
    "context manager": (
        "from contextlib import contextmanager\n"
        "@contextmanager\n"
        "def search():\n"
        "    print('open')\n"
        "    yield lambda text, k: ['d1']\n"
        "    print('close')",
        True,
    ),
    "async context manager": (
        "from contextlib import asynccontextmanager\n"
        "import asyncio\n"
        "@asynccontextmanager\n"
        "async def search():\n"
        "    print('open')\n"
        "    loop = asyncio.get_running_loop()\n"
        "    async def ask(text, k):\n"
        "        return ['d1'] if asyncio.get_running_loop() is loop else []\n"
        "    yield ask\n"
        "    print('close')",
        True,
    ),
    "async factory": (
        "async def search():\n"
        "    print('open')\n"
        "    return Mine()\n"
        "class Mine:\n"
        "    def __call__(self, text, k): return ['d1']\n"
        "    def close(self): print('close')",
        True,
    ),
}


@pytest.mark.parametrize("form", LIVES)
def test_a_client_is_opened_once_and_closed_at_the_end(
    opened: Opened, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    module, factory = LIVES[form]
    with opened(module, factory=factory) as system:
        assert [ask(system).hits, ask(system).hits] == [(Hit("d1"),), (Hit("d1"),)]
        assert capfd.readouterr() == ("", "open\n")
    assert capfd.readouterr() == ("", "close\n")


def test_an_instance_of_the_module_stays_the_modules(
    opened: Opened, capfd: pytest.CaptureFixture[str]
) -> None:
    module = LIVES["class"][0].replace("class search", "class Mine") + "\nsearch = Mine()"
    with opened(module) as system:
        ask(system)
    assert capfd.readouterr() == ("", "open\n")


def test_a_client_that_cannot_be_made_is_wrong_input(opened: Opened) -> None:
    with (
        pytest.raises(InputError, match=r"made no client \(ValueError: no server\)"),
        opened("def search(): raise ValueError('no server')", factory=True),
    ):
        pass


def test_a_client_that_cannot_be_closed_is_told(opened: Opened) -> None:
    module = LIVES["class"][0].replace("print('close')", "1 / 0")
    with pytest.raises(SystemFailedError, match="could not be closed"), opened(module) as system:
        ask(system)
    with pytest.raises(KeyError), opened(module) as system:
        raise KeyError  # which is the failure to be told


def test_16_async_calls_overlap_on_one_loop(opened: Opened) -> None:
    module = """
import asyncio
inside = 0
async def search(text, k):
    global inside, all_here
    if not inside:
        all_here = asyncio.Event()
    inside += 1
    if inside == 16:
        all_here.set()
    await asyncio.wait_for(all_here.wait(), 20)
    return [text]
"""
    with opened(module, CallPolicy(concurrency=16)) as system, ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda i: ask(system, f"d{i}").hits, range(16)))
    assert found == [(Hit(f"d{i}"),) for i in range(16)]


SLOW = {
    "async": "import asyncio\nasync def search(text, k):\n    try:\n"
    "        await asyncio.sleep(0 if text == 'fast' else 30)\n"
    "        return ['d1']\n    finally: print('ended', text)",
    "sync": "import threading\ngo_on = threading.Event()\ndef search(text, k):\n"
    "    text == 'fast' or go_on.wait(30)\n"
    "    print('ended', text)\n    return ['d1']",
}


@pytest.mark.parametrize("form", SLOW)
def test_a_call_that_takes_too_long_harms_no_other(
    opened: Opened, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    stdout = sys.stdout
    with opened(SLOW[form], CallPolicy(timeout_s=0.2, concurrency=2)) as system:
        with pytest.raises(SystemTimeoutError, match=r"no answer within 0\.2 s"):
            ask(system, "slow")
        click.echo("result 1")  # while the call may still go on
        assert ask(system, "fast").hits == (Hit("d1"),)
        click.echo("result 2")
        if form == "sync":
            module = next(m for n, m in sys.modules.items() if n.startswith("smform_"))
            module.go_on.set()
        until(lambda: sys.stdout is stdout)
    printed = capfd.readouterr()
    assert printed.out == "result 1\nresult 2\n"
    assert sorted(printed.err.split("\n")) == ["", "ended fast", "ended slow"]


def until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_async_code_that_blocks_the_loop_is_left_behind(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("searchmark.systems.eventloop.GRACE_S", 0.1)
    module = (
        "import threading\ngo_on = threading.Event()\n"
        "async def search(text, k): go_on.wait(30); return []"
    )
    before = threading.active_count()
    with opened(module, CallPolicy(timeout_s=0.1)) as system, pytest.raises(SystemTimeoutError):
        ask(system)
    found = next(m for n, m in sys.modules.items() if n.startswith("smform_"))
    found.go_on.set()
    until(lambda: threading.active_count() <= before)
