"""Modules of the user's own: whose they are, what they hide, and what is told where they fail."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from searchmark.errors import InputError, SystemTimeoutError
from searchmark.systems.imported import import_library, import_object


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Forget the modules of a test, and no other."""
    before = dict(sys.modules)
    yield
    for name in set(sys.modules) - set(before):
        if name.startswith("smimp_"):
            del sys.modules[name]


def found(folder: Path, reference: str, makes: str | None = None) -> object:
    return import_object(reference, key="callable", system="s", folder=folder, makes=makes)


def project(folder: Path, **modules: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_each_project_has_its_own_modules(tmp_path: Path) -> None:
    text = "from smimp_helper import value\ndef search(text, k): return value"
    one = project(tmp_path / "one", smimp_search=text, smimp_helper="value = 1")
    two = project(tmp_path / "two", smimp_search=text, smimp_helper="value = 2")
    values = []
    for folder in (one, two, one):
        imported = import_object("smimp_search:search", key="callable", system="s", folder=folder)
        values.append(imported.value("red", 1))
    assert values == [1, 2, 1]


def test_a_module_is_imported_once_a_project(tmp_path: Path) -> None:
    folder = project(tmp_path, smimp_once="search = object()")
    assert found(folder, "smimp_once:search") == found(folder, "smimp_once:search")
    assert "smimp_once" in sys.modules


def test_a_file_that_hides_a_module_of_python_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "chunk", raising=False)
    folder = project(tmp_path, chunk="value = 1", smimp_hides="import chunk\nsearch = chunk.value")
    with pytest.raises(InputError, match=r"chunk\.py: hides Python's own module 'chunk'.*rename"):
        found(folder, "smimp_hides:search")
    assert "chunk" not in sys.modules
    folder = project(tmp_path / "b", chunk="value = 1", smimp_fails="import chunk\nchunk.nothing")
    with pytest.raises(InputError, match=r"chunk\.py: hides Python's own module"):
        found(folder, "smimp_fails:search")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "import nowhere_to_be_found.client\nsearch = 1",
            "install the package that has 'nowhere_to_be_found' beside searchmark",
        ),
        ("import smimp_two.part\nsearch = 1", "has 'smimp_two' beside"),
        ("def find(): pass", r"no attribute 'search'.*write module:function"),
        ("def search(:", "SyntaxError"),
    ],
)
def test_what_is_to_be_done_is_told(tmp_path: Path, text: str, told: str) -> None:
    folder = project(tmp_path, smimp_told=text)
    with pytest.raises(InputError, match=told):
        found(folder, "smimp_told:search")


def test_a_file_with_the_name_of_a_loaded_module_is_told(tmp_path: Path) -> None:
    folder = project(tmp_path, json="def search(text, k): return []")
    with pytest.raises(InputError, match=r"json\.py has the name of a module of .*rename it"):
        found(folder, "json:search")
    with pytest.raises(InputError, match="write module:function; the module may lie beside"):
        found(folder, "smimp_nowhere:search")


def test_a_factory_that_fails_or_hangs_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("searchmark.systems.imported.OPEN_S", 0.1)
    folder = project(
        tmp_path,
        smimp_made="import time\n"
        "def fails(): 1 / 0\n"
        "def hangs(): time.sleep(60)\n"
        "def wants(text): return text\n",
    )
    with pytest.raises(InputError, match=r"'smimp_made:fails'.*made nothing \(ZeroDivisionError"):
        found(folder, "smimp_made:fails", makes="invoke")
    with pytest.raises(InputError, match="called once, without arguments"):
        found(folder, "smimp_made:wants", makes="invoke")
    with pytest.raises(SystemTimeoutError, match=r"'smimp_made:hangs'.*within 0\.1 s"):
        found(folder, "smimp_made:hangs", makes="invoke")


def test_what_a_library_prints_when_it_is_imported_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(project(tmp_path, smimp_loud="print('welcome')"))
    import_library("smimp_loud", "loud")
    assert capfd.readouterr() == ("", "welcome\n")
    with pytest.raises(InputError, match=r"this needs smimp_none.*pip install none"):
        import_library("smimp_none", "none")
