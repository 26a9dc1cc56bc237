"""The kit itself: an adapter that keeps the contract passes, each broken rule is noticed."""

import sys
from collections.abc import Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from searchmark.errors import InputError
from searchmark.systems import SYSTEMS, pacing
from searchmark.systems.protocol import Kind
from searchmark.testing import (
    Behaviour,
    Case,
    MisbehavingServer,
    ServerSubject,
    cases,
    failing,
    left_out,
)
from searchmark.testing.contract import CASES

CAUGHT = {
    "hides failures": [
        "is_a_failure[refused]",
        "is_a_failure[cut_early]",
        "is_a_failure[broken_json]",
        "run_records_a_failure[cut_late]",
    ],
    "lets exceptions out": ["is_a_failure[refused]", "odd_queries_never_crash"],
    "retries by itself": ["is_a_failure[error_500]", "run_never_tries_again[forbidden]"],
    "shares what is one thread's": ["threads_get_their_own_answers", "run_mixes_nothing_up"],
    "hides failures in batches": ["fails_in_batches[error_500]"],
    "turns batches round": ["batches_keep_their_order"],
    "leaves connections open": ["leaves_nothing_open"],
    "leaves threads behind": ["leaves_nothing_open", "leaves_nothing_open_after[cut_late]"],
    "ignores the status": ["is_a_failure[error_500]", "is_a_failure[too_many]"],
    "takes no JSON for nothing": [
        "is_a_failure[html]",
        "is_a_failure[nothing]",
        "is_a_failure[truncated_json]",
    ],
    "has no time limit": ["is_a_failure[slow]"],
    "limits each read only": ["is_a_failure[trickle]"],
    "takes lateness for any error": ["is_a_failure[slow]", "run_records_a_failure[slow]"],
    "strips queries": ["queries_arrive_unharmed"],
    "pastes queries": ["queries_arrive_unharmed"],
    "replaces what it cannot send": ["odd_queries_never_crash"],
    "reads without end": ["bounds_an_answer"],
    "does not name the key": ["bounds_an_answer"],
    "never says that it may pass": ["is_a_failure[unavailable]", "run_tries_again[unavailable]"],
    "always says that it may pass": [
        "is_a_failure[bad_request]",
        "run_never_tries_again[forbidden]",
    ],
    "reads no Retry-After": ["reads_retry_after", "run_honours_retry_after"],
    "takes 429 for any failure": ["run_survives_a_storm"],
    "reads no dates": ["reads_retry_after_dates"],
    "tells secrets": [
        "is_a_failure[forbidden]",
        "is_a_failure[html]",
        "run_keeps_secrets[forbidden]",
    ],
    "has secrets in its identity": ["run_keeps_secrets[answers]"],
    "tells everything": ["is_a_failure[fails]"],
    "tells lines": ["is_a_failure[fails]"],
    "takes another shape for nothing": ["is_a_failure[wrong_shape]"],
    "drops results without ids": ["is_a_failure[null_id]", "is_a_failure[missing_id]"],
    "raises where nothing is found": ["empty_is_an_answer"],
    "sorts by score": ["never_reorders[rising]"],
    "sorts ties by id": ["never_reorders[tied]"],
    "drops duplicates": ["passes_duplicates_on"],
    "shifts scores": ["never_shifts_scores[partly_scored]"],
    "ignores k": ["gives_at_most_k"],
    "hides what is partial": ["tells_what_is_partial"],
    "takes any score": ["is_a_failure[nan_score]", "is_a_failure[text_score]"],
    "takes any id": ["is_a_failure[bool_id]", "is_a_failure[fraction_id]"],
    "reads ids as numbers": ["numbers_become_texts"],
    "strips ids": ["never_alters_ids"],
    "turns answers round": ["keeps_the_order"],
}
"""Fault of the reference adapter -> cases that have to notice it."""


class ReferenceSubject(ServerSubject):
    def __init__(self, server: MisbehavingServer, fault: str = "", **keys: Any) -> None:
        token = "${SEARCHMARK_CONTRACT_TOKEN}"
        table = {"use": "reference", "url": server.url, "token": token, "fault": fault, **keys}
        super().__init__(server, table)


@pytest.fixture(scope="module")
def reference() -> Iterator[ModuleType]:
    path = Path(__file__).with_name("reference.py")
    spec = spec_from_file_location("contract_reference", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["contract_reference"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["contract_reference"]


@pytest.fixture(autouse=True)
def registered(reference: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    builtin = {**SYSTEMS.builtin, "reference": "contract_reference:REFERENCE"}
    monkeypatch.setattr(SYSTEMS, "builtin", builtin)
    monkeypatch.setattr(SYSTEMS, "_found", {})


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer("json", patience_s=3.0) as server:
        yield server


@pytest.mark.parametrize("case", cases(ReferenceSubject))
def test_an_adapter_that_keeps_the_contract_passes(case: Case, server: MisbehavingServer) -> None:
    case(ReferenceSubject(server))


@pytest.mark.parametrize(("fault", "name"), [(f, n) for f, names in CAUGHT.items() for n in names])
def test_a_broken_rule_is_noticed(
    fault: str,
    name: str,
    server: MisbehavingServer,
    reference: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(failing, "MARGIN_S", 1.0)
    monkeypatch.setattr("searchmark.testing.tidiness.PATIENCE_S", 0.3)
    monkeypatch.setattr(pacing, "FIRST_BACKOFF_S", 0.0)
    case = next(c for c in CASES if c.name == name)
    with pytest.raises(AssertionError) as told:
        case(ReferenceSubject(server, fault))
    assert len(str(told.value)) > 40, "an assertion teaches the rule"
    while reference.LEFT:
        reference.LEFT.pop().close()


def test_every_check_is_seen_to_fail() -> None:
    checks = {case.name.partition("[")[0] for case in CASES}
    seen = {name.partition("[")[0] for names in CAUGHT.values() for name in names}
    assert checks - seen == set()
    assert {n for names in CAUGHT.values() for n in names} <= {c.name for c in CASES}


def test_what_a_subject_cannot_show_needs_a_reason() -> None:
    class Quiet(ReferenceSubject):
        cannot: Mapping[Behaviour, str] = {Behaviour.HUGE: "", Behaviour.HTML: "no pages"}

    with pytest.raises(ValueError, match="say why the subject cannot show huge"):
        cases(Quiet)


def test_a_subject_that_shows_nothing_is_refused() -> None:
    class Empty(ReferenceSubject):
        cannot: Mapping[Behaviour, str] = {behaviour: "for some reason" for behaviour in Behaviour}

    with pytest.raises(ValueError, match="has to show answers, empty, echo, fails"):
        cases(Empty)


def test_what_is_left_out_is_listed_with_its_reason() -> None:
    class NoPages(ReferenceSubject):
        cannot: Mapping[Behaviour, str] = {Behaviour.HTML: "it speaks no HTTP"}

    names = {case.name for case in cases(NoPages)}
    assert left_out(NoPages) == {
        "is_a_failure[html]": "it speaks no HTTP",
        "run_keeps_secrets[html]": "it speaks no HTTP",
    }
    assert names == {case.name for case in CASES} - set(left_out(NoPages))


def case_of(name: str) -> Case:
    return next(c for c in CASES if c.name == name)


@pytest.mark.parametrize("name", ["batches_keep_their_order", "fails_in_batches[error_500]"])
def test_cases_of_batches_pass_only_where_batches_alone_are_refused(
    name: str, server: MisbehavingServer, reference: ModuleType
) -> None:
    with pytest.raises(InputError, match="no such shop"):
        case_of(name)(ReferenceSubject(server, "cannot be opened"))
    case_of(name)(ReferenceSubject(server, "refuses batches"))


def test_an_adapter_without_a_limit_of_an_answer_has_to_say_why(
    server: MisbehavingServer, reference: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(msgspec.Struct, frozen=True):
        url: str
        token: str
        fault: str = ""

    monkeypatch.setattr(reference, "REFERENCE", Kind(Endless, reference.open_reference))
    with pytest.raises(AssertionError, match=r"no key 'max_bytes' .* say in `cannot` why"):
        case_of("bounds_an_answer")(ReferenceSubject(server))


def test_a_limit_above_what_the_case_sends_is_as_good(server: MisbehavingServer) -> None:
    case_of("bounds_an_answer")(ReferenceSubject(server, max_bytes=50_000_000))
