"""The service under 200 clients while its dense arm is killed, hangs, fails and comes back.

Each kind of trouble once, of what `benchmarks/serve.py` makes for a minute: the same clients,
shorter calm between.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import PostgresServer

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

CLIENTS = 200
CALM_S = 1.0


@pytest.fixture(scope="module")
def benchmark(repository: Path) -> ModuleType:
    with pytest.MonkeyPatch.context() as environment:
        environment.syspath_prepend(repository / "benchmarks")
        module = importlib.import_module("serve")
    for name in ("serve", "troubles"):
        del sys.modules[name]
    return module


def test_the_judge_of_replies_tells_what_is_wrong(benchmark: ModuleType) -> None:
    def reply(sent: float, answered: float, *, partial: bool) -> object:
        return benchmark.Reply("q", sent, answered, 200, partial, ())

    outage = benchmark.Outage("killed", 9.95, 10.0, 20.0, 23.0)
    right = [
        reply(8, 9.9, partial=False),
        reply(10.1, 19, partial=True),
        reply(9, 11, partial=True),  # it was under way: either is right
        reply(9, 11, partial=False),
        reply(19.5, 20.5, partial=False),
        reply(22, 23, partial=True),
        reply(23.1, 24, partial=False),
    ]
    wrong = [
        reply(8, 9.9, partial=True),
        reply(10.1, 19, partial=False),
        reply(23.1, 24, partial=True),
    ]
    seen = benchmark.Rehearsal(replies=[*right, *wrong], outages=[outage])
    assert seen.wrong() == wrong


def test_no_answer_is_lost_or_wrong_while_the_dense_arm_dies_and_returns(
    benchmark: ModuleType,
) -> None:
    seen = benchmark.rehearse(None, CLIENTS, calm_s=CALM_S)
    assert [o.kind for o in seen.outages] == ["killed", "hung"]
    assert_right(seen)


def test_no_answer_over_postgresql_is_lost_or_wrong_either(
    benchmark: ModuleType, postgres_server: "PostgresServer"
) -> None:
    pytest.importorskip("psycopg_pool")
    kinds = ["killed", "broken", "waiting"]
    seen = benchmark.rehearse(None, CLIENTS, calm_s=CALM_S, dsn=postgres_server.dsn, kinds=kinds)
    assert [o.kind for o in seen.outages] == kinds
    assert_right(seen)


def assert_right(seen: Any) -> None:
    assert seen.lost == []
    assert {r.status for r in seen.replies} == {200}
    assert len(seen.replies) > CLIENTS

    # what can be told from outside is told right, before, within and after every outage
    assert seen.wrong() == []
    for outage in seen.outages:
        within = [r for r in seen.replies if outage.start <= r.sent and r.answered <= outage.end]
        assert within and all(r.partial for r in within)
    whole = [r for r in seen.replies if seen.must_be(r) is False]
    assert [r for r in whole if r.answered < seen.outages[0].since]
    assert [r for r in whole if r.sent > seen.outages[-1].until]

    # and at every moment an answer is the ranking that it says it is
    assert seen.n_compared == 300
    assert seen.other == []
