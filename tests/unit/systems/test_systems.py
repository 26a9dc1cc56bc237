from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import polars as pl
import pytest

from searchmark.data import Corpus, Run
from searchmark.data.filters import Filter
from searchmark.errors import InputError, SystemFailedError
from searchmark.experiments.asking import ask
from searchmark.systems import SYSTEMS
from searchmark.systems.catalog import ConstraintConfig
from searchmark.systems.policy import CallPolicy
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry, Hit, Query, System
from searchmark.systems.runfile import rankings

CORPUS = Corpus(
    pl.DataFrame(
        {
            "doc_id": ["a", "b", "c", "d"],
            "title": ["red apple", "green apple", "red stone", "apple"],
            "text": ["", "", "", ""],
            "network": ["base", "solana", "base", "base"],
            "paid": [1, 9, 5, 7],
        }
    )
)


def entry(name: str, use: str, **table: object) -> Entry:
    return Entry(name, use, msgspec.convert(table, SYSTEMS.load(use).config))


@contextmanager
def opened(folder: Path, *entries: Entry) -> Iterator[Pool]:
    by_name = {e.name: e for e in entries}
    with Pool(by_name, CORPUS, folder=folder, cache=folder / "cache") as pool:
        yield pool


def ids(system: System, text: str, *filters: Filter, k: int = 10) -> list[str]:
    return [h.doc_id for h in system.search(Query("q", text, filters), k).hits]


def put_module(folder: Path, name: str, body: str) -> None:
    (folder / f"{name}.py").write_text(body)


NETWORK = ConstraintConfig(pattern=r"\bon (base|solana)\b", field="network")


def test_strict_and_then_fallback(tmp_path: Path) -> None:
    strict = entry("strict", "bm25", fields=["title"], fallback=False)
    loose = entry("loose", "bm25", fields=["title"])
    with opened(tmp_path, strict, loose) as pool:
        assert ids(pool.open("strict"), "red apple") == ["a"]
        assert ids(pool.open("strict"), "blue apple") == []
        assert set(ids(pool.open("loose"), "blue apple")) == {"a", "b", "d"}


def test_a_constraint_in_the_text_excludes_and_is_cut(tmp_path: Path) -> None:
    words = entry("words", "bm25", fields=["title"], constraints=[msgspec.to_builtins(NETWORK)])
    with opened(tmp_path, words) as pool:
        assert ids(pool.open("words"), "apple on solana") == ["b"]


def test_exact_ties_go_to_the_configured_field(tmp_path: Path) -> None:
    # "red apple" and "green apple" score the same for apple; b was paid 9 times, a once
    words = entry("words", "bm25", fields=["title"], ties=["paid"])
    plain = entry("plain", "bm25", fields=["title"])
    with opened(tmp_path, words, plain) as pool:
        assert ids(pool.open("words"), "red green")[:2] != []
        assert ids(pool.open("words"), "apple") == ["d", "b", "a"]
        assert ids(pool.open("plain"), "apple") == ["d", "b", "a"]  # last id first


def test_fusion_keeps_filters_for_arms_that_know_none(tmp_path: Path) -> None:
    put_module(tmp_path, "sm_arm_plain", "def search(text, k):\n    return ['a', 'b', 'c']\n")
    arm = entry("arm", "python", callable="sm_arm_plain:search")
    both = entry("both", "hybrid", of=["arm"], constraints=[msgspec.to_builtins(NETWORK)])
    with opened(tmp_path, arm, both) as pool:
        assert ids(pool.open("both"), "x on base") == ["a", "c"]
        assert ids(pool.open("both"), "x") == ["a", "b", "c"]


def test_fusion_says_partial_when_an_arm_failed_and_fails_when_all_did(tmp_path: Path) -> None:
    put_module(tmp_path, "sm_arm_bad", "def search(text, k):\n    raise OSError('down')\n")
    bad = entry("bad", "python", callable="sm_arm_bad:search")
    words = entry("words", "bm25", fields=["title"])
    both = entry("both", "hybrid", of=["words", "bad"])
    alone = entry("alone", "hybrid", of=["bad"])
    with opened(tmp_path, bad, words, both, alone) as pool:
        answer = pool.open("both").search(Query("q", "stone"), 5)
        assert answer.hits == (Hit("c", answer.hits[0].score),)
        assert answer.partial
        with pytest.raises(
            SystemFailedError, match=r"^every arm of 'alone' failed: OSError: down$"
        ):
            pool.open("alone").search(Query("q", "stone"), 5)
        assert not pool.open("words").search(Query("q", "stone"), 5).partial


def test_a_fusion_without_an_arm_that_is_down_is_a_failure(tmp_path: Path) -> None:
    put_module(tmp_path, "sm_arm_down", "def search(text, k):\n    raise OSError('down')\n")
    config = msgspec.convert({"callable": "sm_arm_down:search"}, SYSTEMS.load("python").config)
    bad = Entry("bad", "python", config, CallPolicy(stop_after=2))
    words = entry("words", "bm25", fields=["title"])
    both = entry("both", "hybrid", of=["words", "bad"])
    with opened(tmp_path, bad, words, both) as pool:
        for _ in range(2):  # it may be a slip
            assert pool.open("both").search(Query("q", "stone"), 5).partial
        with pytest.raises(SystemFailedError, match="its arm 'bad' is down: OSError: down"):
            pool.open("both").search(Query("q", "stone"), 5)


def test_a_system_is_opened_once_and_closed_with_the_pool(tmp_path: Path) -> None:
    words = entry("words", "bm25", fields=["title"])
    both = entry("both", "hybrid", of=["words"])
    with opened(tmp_path, words, both) as pool:
        assert pool.open("both").inner.arms[0] is pool.open("words")  # type: ignore[attr-defined]


def test_a_circle_of_systems_is_told(tmp_path: Path) -> None:
    one, two = entry("one", "hybrid", of=["two"]), entry("two", "hybrid", of=["one"])
    with (
        opened(tmp_path, one, two) as pool,
        pytest.raises(InputError, match="one -> two -> one"),
    ):
        pool.open("one")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"fields": ["titel"]}, "no field 'titel'; did you mean 'title'"),
        ({"ties": ["payed"]}, "no field 'payed'; did you mean 'paid'"),
        ({"substring": ["nome"]}, "no field 'nome'"),
    ],
)
def test_a_field_that_is_not_there_is_told(
    tmp_path: Path, table: Mapping[str, object], message: str
) -> None:
    with (
        opened(tmp_path, entry("words", "bm25", **{"fields": ["title"], **table})) as pool,
        pytest.raises(InputError, match=message),
    ):
        pool.open("words")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return ['a', ('b', 2), ['c', None]]", (Hit("a"), Hit("b", 2.0), Hit("c"))),
        ("return []", ()),
        ("return (x for x in ['a', 'b'])", (Hit("a"), Hit("b"))),
    ],
)
def test_what_a_callable_may_return(tmp_path: Path, body: str, expected: tuple[Hit, ...]) -> None:
    name = f"sm_returns_{abs(hash(body))}"
    put_module(tmp_path, name, f"def search(text, k):\n    {body}\n")
    with opened(tmp_path, entry("mine", "python", callable=f"{name}:search")) as pool:
        assert pool.open("mine").search(Query("q", "x"), 5).hits == expected


@pytest.mark.parametrize(
    ("callable_", "message"),
    [("sm_not_there:search", "cannot be imported"), ("json:nothing", "cannot be imported")],
)
def test_a_callable_that_is_not_there_is_told(tmp_path: Path, callable_: str, message: str) -> None:
    with (
        opened(tmp_path, entry("mine", "python", callable=callable_)) as pool,
        pytest.raises(InputError, match=message),
    ):
        pool.open("mine")


@pytest.mark.parametrize("body", ["return 'abc'", "return None", "return 7", "return [7]"])
def test_what_is_no_list_of_ids_is_a_failure(tmp_path: Path, body: str) -> None:
    name = f"sm_wrong_{abs(hash(body))}"
    put_module(tmp_path, name, f"def search(text, k):\n    {body}\n")
    with opened(tmp_path, entry("mine", "python", callable=f"{name}:search")) as pool:
        assert ask(pool.open("mine"), Query("q", "x"), 5).status == "error"


def test_what_a_callable_prints_does_not_reach_the_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put_module(
        tmp_path, "sm_prints", "def search(text, k):\n    print('noise')\n    return ['a']\n"
    )
    with opened(tmp_path, entry("mine", "python", callable="sm_prints:search")) as pool:
        pool.open("mine").search(Query("q", "x"), 5)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "noise\n")


def test_a_query_that_a_run_file_does_not_hold_is_missing_not_empty(tmp_path: Path) -> None:
    (tmp_path / "old.run").write_text("q1 Q0 a 1 1.0 t\n")
    with opened(tmp_path, entry("old", "run", path="old.run")) as pool:
        assert ask(pool.open("old"), Query("q1", "x"), 5).status == "ok"
        assert ask(pool.open("old"), Query("q2", "x"), 5).status == "missing"


def test_a_module_that_fails_while_it_is_imported_is_told(tmp_path: Path) -> None:
    put_module(tmp_path, "sm_fails_on_import", "1 / 0\n")
    with (
        opened(tmp_path, entry("mine", "python", callable="sm_fails_on_import:search")) as pool,
        pytest.raises(InputError, match="ZeroDivisionError: division by zero"),
    ):
        pool.open("mine")


def test_a_run_file_answers_in_the_order_that_counts() -> None:
    run = Run.from_dict({"q1": {"a": 1.0, "b": 2.0, "c": 2.0}, "q2": {"x": 0.5}})
    assert rankings(run) == {
        "q1": (Hit("c", 2.0), Hit("b", 2.0), Hit("a", 1.0)),
        "q2": (Hit("x", 0.5),),
    }
