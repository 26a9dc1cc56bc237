"""The contract kit: what every adapter passes, against an engine that misbehaves on command.

An adapter is tested through a *subject*: an object that starts an engine it can command, and tells
which table of a project file reaches it. For an engine that is asked by HTTP there is one::

    import pytest
    from searchmark.testing import MisbehavingServer, ServerSubject, cases

    class Subject(ServerSubject):
        cannot = {}                       # behaviours it cannot show, each with the reason

    @pytest.fixture(scope="module")
    def subject():
        with MisbehavingServer("json") as server:
            url = server.url + "/search?q={query}"
            yield Subject(server, {"use": "http", "url": url, "ids": "hits[].id"})

    @pytest.mark.parametrize("case", cases(Subject))
    def test_contract(case, subject):
        case(subject)

`Subject` says what one of your own has to be, for an engine that is a function or a program.

Nothing here imports pytest: a case is a plain callable that raises AssertionError.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from searchmark.testing.contract import Case, cases, left_out
    from searchmark.testing.dialects import DIALECTS, Dialect, Request
    from searchmark.testing.noticeboard import Noticeboard
    from searchmark.testing.plan import FAILURES, Behaviour, Plan, Row, echo_ids
    from searchmark.testing.server import MisbehavingServer
    from searchmark.testing.subject import TOKEN, ServerSubject, Subject, opened, run

_LAZY = {
    "DIALECTS": "dialects",
    "FAILURES": "plan",
    "TOKEN": "subject",
    "Behaviour": "plan",
    "Case": "contract",
    "Dialect": "dialects",
    "MisbehavingServer": "server",
    "Noticeboard": "noticeboard",
    "Plan": "plan",
    "Request": "dialects",
    "Row": "plan",
    "ServerSubject": "subject",
    "Subject": "subject",
    "cases": "contract",
    "echo_ids": "plan",
    "left_out": "contract",
    "opened": "subject",
    "run": "subject",
}
"""Loaded when first used: the server's process needs the standard library only."""

__all__ = [
    "DIALECTS",
    "FAILURES",
    "TOKEN",
    "Behaviour",
    "Case",
    "Dialect",
    "MisbehavingServer",
    "Noticeboard",
    "Plan",
    "Request",
    "Row",
    "ServerSubject",
    "Subject",
    "cases",
    "echo_ids",
    "left_out",
    "opened",
    "run",
]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(f"searchmark.testing.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'searchmark.testing' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
