"""Systems that cannot be opened or closed: told by name and place, and no other one suffers."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import (
    InputError,
    OutsideError,
    SearchmarkError,
    SystemFailedError,
    SystemTimeoutError,
)
from searchmark.systems.naming import Place
from searchmark.systems.policy import CallPolicy
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Answer, Context, Entry, Kind, Query, System

CORPUS = Corpus(pl.DataFrame({"doc_id": ["a"]}))


class Config(msgspec.Struct, frozen=True):
    """What a system of the test does when it is opened and closed."""

    opening: Callable[[Context], object] = lambda context: None
    closing: Callable[[], object] = lambda: None
    of: list[str] = []


class Plain:
    tags: frozenset[str] = frozenset()
    identity: Mapping[str, str] = {}

    def __init__(self, name: str) -> None:
        self.name = name

    def search(self, query: Query, k: int) -> Answer:
        return Answer(())


@contextmanager
def open_plain(name: str, config: Config, context: Context) -> Iterator[System]:
    config.opening(context)
    for part in config.of:
        context.open(part)
    with ExitStack() as stack:
        stack.callback(config.closing)
        yield Plain(name)


@pytest.fixture(autouse=True)
def kind(monkeypatch: pytest.MonkeyPatch) -> None:
    class Systems:
        @staticmethod
        def load(name: str) -> Kind:
            return Kind(Config, open_plain)

    monkeypatch.setattr("searchmark.systems.pool.SYSTEMS", Systems)


def pool_of(folder: Path, *, calls: CallPolicy | None = None, **configs: Config) -> Pool:
    entries = {n: Entry(n, "plain", c, calls or CallPolicy()) for n, c in configs.items()}
    place = Place(Path("p.toml"), 7)
    return Pool(entries, CORPUS, folder=folder, cache=folder, locate=lambda name: place)


def raising(error: BaseException) -> Callable[..., Any]:
    def call(*_: object) -> None:
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "becomes", "told"),
    [
        (
            InputError("no field 'x'", fix="f"),
            InputError,
            "p.toml:7: system 'one': no field 'x'; f",
        ),
        (
            InputError("systems.one.dsn needs A", path="p.toml"),
            InputError,
            "p.toml:7: systems.one.dsn needs A",
        ),
        (
            InputError("is empty", path="sql/a.sql", line=3, fix="f"),
            InputError,
            "sql/a.sql:3: is empty (system 'one', p.toml:7); f",
        ),
        (OutsideError("no room"), OutsideError, "p.toml:7: system 'one' cannot be opened: no room"),
        (
            SystemTimeoutError("no answer", retry=True),
            SystemTimeoutError,
            "p.toml:7: system 'one' cannot be opened: no answer",
        ),
        (
            OSError(13, "Denied", "/m"),
            SystemFailedError,
            "p.toml:7: system 'one' cannot be opened: PermissionError: [Errno 13] Denied: '/m'",
        ),
        (
            KeyError("x"),
            SystemFailedError,
            "p.toml:7: system 'one' cannot be opened: KeyError: 'x'",
        ),
        (
            SystemExit(0),
            SystemFailedError,
            "p.toml:7: system 'one' cannot be opened: SystemExit: 0",
        ),
    ],
)
def test_what_cannot_be_opened_is_told_with_name_and_place(
    tmp_path: Path, error: BaseException, becomes: type[SearchmarkError], told: str
) -> None:
    with pool_of(tmp_path, one=Config(raising(error)), two=Config()) as pool:
        for _ in range(2):
            with pytest.raises(SearchmarkError) as raised:
                pool.open("one")
            assert (type(raised.value), str(raised.value)) == (becomes, told)
        assert pool.open("two").name == "two"


def test_what_cannot_be_opened_is_tried_once_also_as_a_part(tmp_path: Path) -> None:
    tried = list[Context]()

    def fail(context: Context) -> None:
        tried.append(context)
        raise OutsideError("down")

    with pool_of(tmp_path, part=Config(fail), whole=Config(of=["part"])) as pool:
        found = []
        for name in ("part", "whole", "part", "whole"):
            with pytest.raises(OutsideError) as raised:
                pool.open(name)
            found.append(raised.value)
    assert len(tried) == 1
    assert len(set(map(id, found))) == 1
    assert str(found[0]) == "p.toml:7: system 'part' cannot be opened: down"


def test_ctrl_c_while_a_system_opens_is_no_failure_of_it(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        pool_of(tmp_path, one=Config(raising(KeyboardInterrupt()))) as pool,
    ):
        pool.open("one")


def test_one_that_cannot_be_closed_keeps_no_other_open(tmp_path: Path) -> None:
    closed = list[str]()

    def close(name: str, error: BaseException | None = None) -> Config:
        def end() -> None:
            closed.append(name)
            if error is not None:
                raise error

        return Config(closing=end)

    configs = {
        "one": close("one"),
        "two": close("two", RuntimeError("stuck")),
        "three": close("three", SystemExit(1)),
        "four": close("four"),
    }
    with pool_of(tmp_path, **configs) as pool:
        for name in configs:
            pool.open(name)
        unclosed = pool.close()
    assert closed == ["four", "three", "two", "one"]
    assert [f.system for f in unclosed] == ["three", "two"]
    assert [str(f.error) for f in unclosed] == [
        "p.toml:7: system 'three' could not be closed: SystemExit: 1",
        "p.toml:7: system 'two' could not be closed: RuntimeError: stuck",
    ]
    assert unclosed[1].why == "system 'two' could not be closed: RuntimeError: stuck"


def test_leaving_tells_of_what_cannot_be_closed_unless_something_else_is_wrong(
    tmp_path: Path,
) -> None:
    broken = Config(closing=raising(RuntimeError("stuck")))
    with (
        pytest.raises(SystemFailedError, match="system 'one' could not be closed"),
        pool_of(tmp_path, one=broken) as pool,
    ):
        pool.open("one")
    with pytest.raises(ValueError, match="first"), pool_of(tmp_path, one=broken) as pool:
        pool.open("one")
        raise ValueError("first")


def test_no_error_at_opening_or_closing_tells_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_TOKEN", "planted-9f3")

    def leak(*_: object) -> None:
        raise RuntimeError("no access with planted-9f3")

    with pool_of(tmp_path, one=Config(leak), two=Config(closing=leak)) as pool:
        with pytest.raises(SystemFailedError, match=r"no access with \$\{ENGINE_TOKEN\}") as raised:
            pool.open("one")
        pool.open("two")
        (unclosed,) = pool.close()
    assert raised.value.__cause__ is None
    assert "no access with ${ENGINE_TOKEN}" in str(unclosed.error)


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOST_A", "HOST_B", "TOKEN_C"):
        monkeypatch.setenv(name, f"value of {name}")


def using(*names: str, of: list[str] | None = None) -> Config:
    def opening(context: Context) -> None:
        for name in names:
            context.secrets.expand("${" + name + "}", key="url")

    return Config(opening, of=of or [])


@pytest.mark.usefixtures("variables")
def test_a_system_uses_its_own_variables_and_those_of_its_parts(tmp_path: Path) -> None:
    configs = {
        "a": using("HOST_A"),
        "b": using("HOST_B"),
        "both": using(of=["a", "b"]),
        "plain": using(),
    }
    for order in (["a", "b", "both", "plain"], ["both", "plain", "b", "a"]):
        with pool_of(tmp_path, **configs) as pool:
            for name in order:
                pool.open(name)
            found = {name: dict(pool.variables(name)) for name in configs}
        assert found == {
            "a": {"HOST_A": "value of HOST_A"},
            "b": {"HOST_B": "value of HOST_B"},
            "both": {"HOST_A": "value of HOST_A", "HOST_B": "value of HOST_B"},
            "plain": {},
        }


@pytest.mark.usefixtures("variables")
def test_a_variable_that_is_renewed_belongs_to_no_answer(tmp_path: Path) -> None:
    calls = CallPolicy(renewed=["TOKEN_C"])
    with pool_of(tmp_path, calls=calls, one=using("HOST_A", "TOKEN_C")) as pool:
        pool.open("one")
        assert set(pool.variables("one")) == {"HOST_A"}
    with (
        pool_of(tmp_path, calls=calls, one=using("HOST_A")) as pool,
        pytest.raises(InputError, match=r"p.toml:7: systems.one.renewed names .* TOKEN_C, which"),
    ):
        pool.open("one")
