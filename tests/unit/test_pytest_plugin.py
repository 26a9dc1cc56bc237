"""The pytest plugin, by tests that run pytest inside pytest on a small project."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

# loaded here, so that the runs inside this process do not load NumPy and Polars anew each time
import searchmark.experiments.session
import searchmark.reports.render
import searchmark.systems.bm25
import searchmark.systems.python  # noqa: F401
from searchmark.experiments.gating import accept_baseline
from searchmark.measures.summary import Mean
from searchmark.project import read_project
from searchmark.pytest_fixture import Measured

CORPUS = [
    {"_id": "d1", "title": "red apple", "text": "a sweet fruit"},
    {"_id": "d2", "title": "green pear", "text": "another fruit"},
    {"_id": "d3", "title": "grey stone", "text": "not for eating"},
]
QUERIES = [
    {"_id": "q1", "text": "apple", "category": "name"},
    {"_id": "q2", "text": "fruit", "category": "word"},
    {"_id": "q3", "text": "rock", "category": "word"},
]
QRELS = "q1 0 d1 1\nq2 0 d1 1\nq3 0 d3 1\n"
PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"
complete = true
measures = ["RR"]
depth = 10

[systems.words]
use = "bm25"

[systems.mine]
use = "python"
callable = "mine_{unique}:search"
"""
GATE = '\n[gate]\nsystem = "{system}"\n'
MINE = """
from pathlib import Path

def search(text, k):
    with (Path(__file__).parent / "asked.txt").open("a") as log:
        log.write(text + "\\n")
    return ["d1", "d3", "d2"][:k]
"""
# words: q1 finds d1; q2 finds d2, whose text is shorter, then d1; q3 finds nothing: RR 1, 1/2, 0.
# mine: d1, d3, d2 whatever is asked: RR 1, 1, 1/2.


def make_project(folder: Path, gate: str = "words", *, accept: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "qrels.txt").write_text(QRELS)
    unique = abs(hash(folder))
    text = PROJECT.format(unique=unique) + (GATE.format(system=gate) if gate else "")
    (folder / "searchmark.toml").write_text(text)
    (folder / f"mine_{unique}.py").write_text(MINE)
    if accept:
        accept_baseline(read_project(folder))
    return folder


def alter(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def asked(folder: Path) -> list[str]:
    return (folder / "asked.txt").read_text().splitlines()


Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Iterator[Run]:
    """Run a test file's text in the folder of `pytester`, which holds a project."""

    def called(text: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(text)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)

    yield called


def body(*lines: str) -> str:
    return "\n    ".join(["def test_it(searchmark):", *lines])


def test_a_gate_that_passes(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path, accept=True)
    run(
        body(
            "assert searchmark.gate()",
            "assert searchmark.gate().passed",
            "assert searchmark.gate().measures[0].measure == 'RR'",
        )
    ).assert_outcomes(passed=1)


@pytest.mark.parametrize("asserted", ["searchmark.gate()", "searchmark.gate().passed"])
def test_a_gate_that_fails_says_why(pytester: pytest.Pytester, run: Run, asserted: str) -> None:
    make_project(pytester.path, accept=True)
    alter(pytester.path / "searchmark.toml", '"bm25"', '"bm25"\nfields = ["title"]')
    done = run(body(f"assert {asserted}"))
    done.assert_outcomes(failed=1)
    # titles have no 'fruit', so q2 falls from 1/2 to nothing: (1 + 1/2)/3 = 0.5 to 0.3333
    done.stdout.fnmatch_lines(
        [
            "E * <Gate failed: words breaks 1 limit. RR *>*",
            "*Captured searchmark gate call*",
            "*RR * 0.5000 * 0.3333 * -0.1667 *FAILED*",
            "*The query that lost most*",
            "*q2*fruit*RR*0.5000*0.0000*",
            "*Gate failed: words breaks 1 limit.*",
        ]
    )
    done.stdout.no_fnmatch_line("*Traceback*")


def test_the_verdict_is_shown_once(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path, accept=True)
    alter(pytester.path / "searchmark.toml", '"bm25"', '"bm25"\nfields = ["title"]')
    done = run(body("first = searchmark.gate()", "assert not first", "assert searchmark.gate()"))
    assert done.stdout.str().count("Captured searchmark gate") == 1


def test_a_mean_is_a_number(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path)
    run(
        body(
            "words = searchmark.mean('RR')",
            "assert words == 0.5",
            "assert words.n_queries == 3",
            "assert words.low < 0.5 < words.high",
            "assert searchmark.mean('RR', system='mine') == (1 + 1 + 0.5) / 3",
            "assert searchmark.mean('RR', category='word') == 0.25",
            "assert searchmark.mean('RR', category='name').low is None",
            "assert searchmark.values('RR') == {'q1': 1.0, 'q2': 0.5, 'q3': 0.0}",
        )
    ).assert_outcomes(passed=1)


def test_a_measure_that_the_project_does_not_name(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path)
    run(
        body(
            # of the single best results only that of q1 is right
            "assert searchmark.mean('P@1') == 1 / 3",
            "assert searchmark.values('Success@2', system='mine') == dict(q1=1, q2=1, q3=1)",
            "assert searchmark.mean('NumRet') == 3",  # a sum: 1 + 2 + 0
            "assert searchmark.mean('NumRet').low is None",
        )
    ).assert_outcomes(passed=1)


def test_a_mean_that_is_too_low_shows_its_interval(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path)
    done = run(body("assert searchmark.mean('RR') >= 0.7"))
    done.assert_outcomes(failed=1)
    # of the 27 ways to draw three of 1, 1/2, 0 one gives 0 and one gives 1, each 1/27 > 0.025
    done.stdout.fnmatch_lines(["E * assert 0.5000 [[]0.0000, 1.0000] over 3 queries >= 0.7"])


@pytest.mark.parametrize(
    ("value", "n", "shown"),
    [
        (0.71316, 120, "0.7132 [0.6800, 0.7400] over 120 queries"),
        (0.5, 1, "0.5000 [0.6800, 0.7400] over 1 query"),
        # 0.7000 would say that it holds a floor of 0.7, which it does not
        (0.69996, 1200, "0.69996 [0.6800, 0.7400] over 1,200 queries"),
        (0.1 + 0.2, 2, "0.30000000000000004 [0.6800, 0.7400] over 2 queries"),
    ],
)
def test_how_a_mean_is_written(value: float, n: int, shown: str) -> None:
    mean = Mean("RR", value, 1.0, n, 0, 0, 0.0, low=0.68, high=0.74)
    assert repr(Measured.of(mean)) == str(Measured.of(mean)) == shown


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("mean('nDGC@10')", "*unknown measure 'nDGC@10'; did you mean 'nDCG'*"),
        ("mean('RR', system='wrods')", "*searchmark.toml: no system is called 'wrods'; did you*"),
        ("values('RR', system='wrods')", "*no system is called 'wrods'; did you mean 'words'?"),
        (
            "mean('RR', category='nmae')",
            "*queries.jsonl: no judged query is of category 'nmae'; did you mean 'name'?",
        ),
        ("mean('P@20')", "*searchmark.toml: 'P@20' looks deeper than depth = 10; ask for less,*"),
        ("gate()", "*baseline.json: there is no baseline yet; look at the scores and accept*"),
    ],
)
def test_what_cannot_be_told_is_one_sentence(
    pytester: pytest.Pytester, run: Run, call: str, sentence: str
) -> None:
    make_project(pytester.path)
    done = run(body(f"searchmark.{call}"))
    done.assert_outcomes(failed=1)
    lines = done.stdout.lines
    first = next(i for i, line in enumerate(lines) if "test_it" in line and line.startswith("_"))
    last = next(i for i, line in enumerate(lines) if "short test summary" in line)
    done.stdout.fnmatch_lines(["searchmark: " + sentence])
    assert last - first == 2, "the sentence alone stands between the two headings"


def test_a_baseline_of_other_judgments_is_no_verdict(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path, accept=True)
    alter(pytester.path / "qrels.txt", "q2 0 d1 1", "q2 0 d1 2")
    done = run(body("assert searchmark.gate()"))
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["searchmark: *not comparable with the baseline: the qrels changed*"])
    done.stdout.no_fnmatch_line("*Traceback*")


def test_a_system_that_fails_is_run_once_and_fails_each_test_that_asks_it(
    pytester: pytest.Pytester, run: Run
) -> None:
    make_project(pytester.path, "mine", accept=True)
    (pytester.path / "asked.txt").unlink()
    module = next(pytester.path.glob("mine_*.py"))
    module.write_text(MINE.replace("    return [", "    raise RuntimeError('on\\x1b fire')\n    ["))
    sys.modules.pop(module.stem)  # accepting the baseline loaded it
    done = run(
        """
        def test_gate(searchmark):
            assert searchmark.gate()

        def test_mean(searchmark):
            assert searchmark.mean("RR") >= 0

        def test_words(searchmark):
            assert searchmark.mean("RR", system="words") == 0.5
        """
    )
    done.assert_outcomes(failed=2, passed=1)
    why = "system 'mine' failed on query 'q1', and on 2 more: RuntimeError: on\\x1b fire"
    assert done.stdout.str().count(f"\nsearchmark: {why}") == 2
    assert asked(pytester.path) == ["apple", "fruit", "rock"]


FAILS_ON_ROCK = """
def search(text, k):
    if text == "rock":
        raise OSError("engine down")
    return ["d1", "d3", "d2"][:k]
"""

AS_WARNINGS = ("-W", "default")
"""They are errors in the tests around."""

HALF_UP = {
    # two answers with d1 first, and one query that counts as missing: (1 + 1 + 0) / 3
    "mine": ("mine: 1 of 3 queries failed, within its max_error_share = 0.5; they count", "0.6667"),
    # q1: d1 is first in both; q2: d1 is second and first, 1/62 + 1/61, d2 first and third, 1/61 +
    # 1/63; q3: words finds nothing and mine is down
    "both": ("both: 1 of 3 answers are partial, within its max_partial_share = 0.5: a", "0.6667"),
}


@pytest.mark.parametrize("system", HALF_UP)
def test_a_mean_of_less_than_whole_answers_says_so(
    pytester: pytest.Pytester, run: Run, system: str
) -> None:
    make_project(pytester.path)
    project = pytester.path / "searchmark.toml"
    both = '[systems.both]\nuse = "hybrid"\nof = ["words", "mine"]\nmax_partial_share = 0.5\n'
    alter(project, "[gate]", f"max_error_share = 0.5\n\n{both}\n[gate]")
    next(pytester.path.glob("mine_*.py")).write_text(FAILS_ON_ROCK)
    caveat, mean = HALF_UP[system]
    done = run(
        f"""
        def test_holds(searchmark):
            assert searchmark.mean("RR", system="{system}") > 0.6
            assert searchmark.mean("RR", system="{system}").caveats[0].startswith("{caveat}")

        def test_falls(searchmark):
            assert searchmark.mean("RR", system="{system}") > 0.7

        def test_values(searchmark):
            assert searchmark.values("RR", system="{system}")["q1"] == 1.0

        def test_whole(searchmark):
            assert searchmark.mean("RR", system="words").caveats == ()
        """,
        *AS_WARNINGS,
    )
    done.assert_outcomes(passed=3, failed=1, warnings=4)
    done.stdout.fnmatch_lines([f"E * assert {mean} * over 3 queries; mind: {caveat} * > 0.7"])
    done.stdout.fnmatch_lines([f"*CaveatWarning: {caveat}*"])


def test_a_gate_of_less_than_whole_answers_says_so(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path, "mine")
    project = pytester.path / "searchmark.toml"
    alter(project, ':search"\n', ':search"\nmax_error_share = 0.5\n')
    next(pytester.path.glob("mine_*.py")).write_text(FAILS_ON_ROCK)
    accept_baseline(read_project(pytester.path))
    done = run(body("assert searchmark.gate()"), *AS_WARNINGS)
    done.assert_outcomes(passed=1, warnings=1)
    done.stdout.fnmatch_lines(
        ["*CaveatWarning: mine: 1 of 3 queries failed, within its max_error*"]
    )


def test_code_under_test_that_ends_the_program(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path, "mine")
    next(pytester.path.glob("mine_*.py")).write_text("raise SystemExit(0)\n")
    done = run(body("searchmark.mean('RR')"))
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["searchmark: *exit(0)*"])


def test_all_tests_share_one_run(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path, "mine", accept=True)
    (pytester.path / "asked.txt").unlink()
    run(
        """
        import pytest

        @pytest.mark.parametrize("i", range(3))
        def test_gate(searchmark, i):
            assert searchmark.gate()

        def test_mean(searchmark):
            assert searchmark.mean("RR") > 0 and searchmark.values("P@1")
        """
    ).assert_outcomes(passed=4)
    assert asked(pytester.path) == ["apple", "fruit", "rock"]


def test_without_a_gate_the_system_has_to_be_named(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path, "")
    done = run(body("assert searchmark.mean('RR', system='words')", "searchmark.mean('RR')"))
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["searchmark: *has 2 systems and no gate to choose one; name the system: words or mine"]
    )
    done = run(body("searchmark.gate()"))
    done.stdout.fnmatch_lines(["searchmark: *the project has no gate; add a section: [[]gate] *"])


# where the project is

NAMES = body("assert searchmark.path.resolve().name == 'it'")


def test_no_project_names_both_ways(pytester: pytest.Pytester, run: Run) -> None:
    done = run(NAMES)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(
        [
            "searchmark: *: no searchmark.toml here, and nothing says where the project is; set "
            "searchmark_project in pytest's ini file, or give --searchmark-project PATH"
        ]
    )
    done.stdout.no_fnmatch_line("*Traceback*")


def test_a_project_that_is_wrong_tells_all_its_problems(
    pytester: pytest.Pytester, run: Run
) -> None:
    make_project(pytester.path)
    alter(pytester.path / "searchmark.toml", "depth = 10", "depth = 0\ndepht = 1")
    done = run(NAMES)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["searchmark: *2 problems in the project file:", "*depht*"])


def test_the_ini_file_names_a_project_beside_it(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path / "conf" / "it")
    (pytester.path / "conf" / "pytest.ini").write_text("[pytest]\nsearchmark_project = it\n")
    run(NAMES, "-c", "conf/pytest.ini", "--rootdir", ".").assert_outcomes(passed=1)


def test_the_command_line_is_seen_from_where_pytest_is_called(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    make_project(pytester.path / "sub" / "it")
    pytester.makeini("[pytest]\nsearchmark_project = nowhere\n")
    monkeypatch.chdir(pytester.path / "sub")
    run(NAMES, "--searchmark-project", "it", "..").assert_outcomes(passed=1)
    run(NAMES, "--searchmark-project=it/searchmark.toml", "..", "-k", "nothing").assert_outcomes(
        deselected=1
    )


def test_a_mark_goes_before_all_else(pytester: pytest.Pytester, run: Run) -> None:
    make_project(pytester.path / "it")
    make_project(pytester.path / "other")
    done = run(
        """
        import pytest

        @pytest.mark.searchmark(project="it")
        def test_marked(searchmark):
            assert searchmark.path.name == "it"

        def test_unmarked(searchmark):
            assert searchmark.path.name == "other"

        @pytest.mark.searchmark("it")
        def test_misspelt(searchmark):
            pass
        """,
        "--searchmark-project=other",
        "--strict-markers",
    )
    done.assert_outcomes(passed=2, errors=1)
    done.stdout.fnmatch_lines(
        ["searchmark: the mark 'searchmark' takes one path; write project=*PATH*"]
    )


# beside other things


def test_a_run_without_the_fixture_loads_nothing_and_says_nothing(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_of_ours_is_loaded():
            ours = sorted(m for m in sys.modules if m.startswith("searchmark"))
            assert ours == ["searchmark", "searchmark.pytest_plugin", "searchmark.version"]
            assert not {"numpy", "polars", "msgspec", "click"} & set(sys.modules)
        """
    )
    done = pytester.runpytest_subprocess("-W", "error")
    done.assert_outcomes(passed=1)
    done.stdout.no_re_match_line("(?!plugins:).*[sS]earchmark")
    assert not (pytester.path / ".searchmark").exists()


def test_importing_the_plugin_loads_nothing_heavy() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import searchmark.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["searchmark", "searchmark.pytest_plugin", "searchmark.version"]


def test_without_the_plugin_there_is_no_fixture(pytester: pytest.Pytester) -> None:
    make_project(pytester.path)
    pytester.makepyfile(body("pass"))
    done = pytester.runpytest_subprocess("-p", "no:searchmark")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*fixture 'searchmark' not found"])


def test_workers_side_by_side_share_a_store(pytester: pytest.Pytester) -> None:
    """Both workers start at once; without waiting one would be refused the other's journal."""
    make_project(pytester.path, "mine", accept=True)
    (pytester.path / "asked.txt").unlink()
    alter(
        next(pytester.path.glob("mine_*.py")),
        "def search(text, k):",
        "import time\n\ndef search(text, k):\n    time.sleep(0.3)",
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("i", range(4))
        def test_gate(searchmark, i):
            assert searchmark.gate()
            assert searchmark.mean("RR") > 0.8
        """
    )
    done = pytester.runpytest_subprocess("-n", "2")
    done.assert_outcomes(passed=4)
    assert asked(pytester.path) == ["apple", "fruit", "rock"] * 2, "each worker asks by itself"
    folders = list((pytester.path / ".searchmark" / "runs").iterdir())
    for folder in folders:
        json.loads((folder / "manifest.json").read_text())
        assert pl.read_parquet(folder / "scores.parquet").height == 3
    assert not list((pytester.path / ".searchmark" / "journal").iterdir())
