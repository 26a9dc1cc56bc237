"""The service under 200 clients while its dense arm is killed, hangs and comes back.

Sixteen seconds of what `benchmarks/serve.py` does for a minute: the same clients, the same trouble,
shorter calm between.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

SECONDS, CLIENTS = 16, 200


@pytest.fixture(scope="module")
def benchmark(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("serve", repository / "benchmarks" / "serve.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


def test_the_judge_of_replies_tells_what_is_wrong(benchmark: ModuleType) -> None:
    def reply(sent: float, answered: float, *, partial: bool) -> object:
        return benchmark.Reply("q", sent, answered, 200, partial, ())

    outage = benchmark.Outage("killed", 10.0, 20.0)
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
    seen = benchmark.rehearse(SECONDS, CLIENTS)
    assert seen.lost == []
    assert {r.status for r in seen.replies} == {200}
    assert [o.kind for o in seen.outages] == ["killed", "hung"]
    assert len(seen.replies) > CLIENTS

    # what can be told from outside is told right, before, within and after the outages
    assert seen.wrong() == []
    for outage in seen.outages:
        within = [r for r in seen.replies if outage.start <= r.sent and r.answered <= outage.end]
        assert within and all(r.partial for r in within)
    told = {seen.must_be(r) for r in seen.replies}
    assert told >= {True, False}
    last = seen.outages[-1].end + benchmark.BACK_S
    assert [r for r in seen.replies if r.sent > last]

    # and at every moment an answer is the ranking that it says it is
    assert seen.n_compared == 300
    assert seen.other == []
