"""What programs print, read as an answer: three outcomes that are never taken for each other."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from searchmark.errors import SystemFailedError
from searchmark.systems.command.matching import Matching
from searchmark.systems.command.printed import JsonOutput, TextOutput, items_of
from searchmark.systems.protocol import Hit
from searchmark.systems.selection import compile_path, selection


def json_output(ids: str = "[].id", *, measured: bool = False, lines: bool = False) -> JsonOutput:
    paths = selection(ids)
    return JsonOutput(paths, items_of(paths.ids) if measured else None, lines)


TextOf = Callable[..., TextOutput]


@pytest.fixture
def text_output() -> Iterator[TextOf]:
    with ExitStack() as stack:

        def opened(pattern: str, tokens: float | None = None) -> TextOutput:
            matching = Matching(pattern, "ids_regex", re.MULTILINE)
            return TextOutput(stack.enter_context(matching), tokens)

        yield opened


def test_the_printed_order_is_the_ranking_though_scores_tie_or_disagree() -> None:
    output = JsonOutput(selection("[].id", "[].score"))
    printed = b'[{"id":"b","score":1},{"id":"a","score":1},{"id":"c","score":9}]'
    assert output.read(printed, 10).answer.hits == (Hit("b", 1.0), Hit("a", 1.0), Hit("c", 9.0))


def test_an_empty_list_is_an_answer_and_more_than_asked_for_is_cut() -> None:
    assert json_output().read(b" [] \n", 3).answer.hits == ()
    answer = json_output().read(b'[{"id":"a"},{"id":12},{"id":"c"}]', 2).answer
    assert [hit.doc_id for hit in answer.hits] == ["a", "12"]
    assert answer.size == 33


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (b"", r"printed nothing, which is no answer; \[\] stands for none"),
        (b" \n\t\n", "printed nothing"),
        (b'[{"id":"a"},', "printed no JSON"),
        (b'[{"id":"a"}] done', "printed no JSON"),
        (b"Error: index missing", "printed no JSON"),
        (b"[" * 100_000, "printed no JSON"),
        (b"null", "nothing at ids"),
        (b'{"error":"down"}', "ids"),
        (b'[{"name":"a"}]', "ids"),
        (b'[{"id":"a"},{"id":null}]', "result 2 has no id"),
        (b'["\xff"]', "no UTF-8"),
    ],
)
def test_what_is_no_answer_is_an_error(printed: bytes, told: str) -> None:
    with pytest.raises(SystemFailedError, match=told):
        json_output().read(printed, 10)


def test_lines_of_json_are_one_list_and_none_is_no_answer() -> None:
    output = json_output(lines=True)
    hits = output.read(b'{"id":"a"}\r\n\n{"id":"b"}\n', 10).answer.hits
    assert [hit.doc_id for hit in hits] == ["a", "b"]
    with pytest.raises(SystemFailedError, match=r"printed nothing.*empty_regex"):
        output.read(b"\n", 10)
    with pytest.raises(SystemFailedError, match="no JSON on line 2"):
        output.read(b'{"id":"a"}\nwarning: slow\n', 10)


@pytest.mark.parametrize(
    ("ids", "items"),
    [
        ("[].id", ['{"id":"a","n":[1]}', '{"id":"é","n":null}']),
        ("[*].id", ['{"id":"a","n":[1]}', '{"id":"é","n":null}']),
        ("[?id=='é'].id", ['{"id":"é","n":null}']),
        ("@ | [].id", ['{"id":"a","n":[1]}', '{"id":"é","n":null}']),
        ("[0:1].id", ['{"id":"a","n":[1]}']),
    ],
)
def test_results_are_measured_as_the_json_that_was_printed(ids: str, items: list[str]) -> None:
    document = '[ {"id": "a", "n": [1]}, {"id": "é", "n": null} ]'.encode()
    assert json_output(ids, measured=True).read(document, 10).items == tuple(items)
    assert json_output(ids, measured=True).read(document, 1).items == tuple(items[:1])


def test_results_that_are_texts_are_measured_as_they_stand() -> None:
    assert json_output("[]", measured=True).read(b'["a \\"b\\""]', 5).items == ('a "b"',)
    assert items_of(compile_path("map(&id, @)", "ids")) is None


def test_results_that_are_not_as_many_as_the_ids_are_an_error() -> None:
    output = JsonOutput(selection("a[].id"), compile_path("b", "items"))
    with pytest.raises(SystemFailedError, match="not as many as the ids"):
        output.read(b'{"a":[{"id":"x"}],"b":[]}', 5)


def test_groups_of_a_pattern_are_id_score_and_tokens(text_output: TextOf) -> None:
    output = text_output(r"^(?P<score>[\d.eE+-]+) (?P<id>\S+)(?: \((?P<tokens>\d+)\))?$")
    hits = output.read(b"top\n1.5 a (30)\n1.5 b\n9e1 c (4)\n", 10).answer.hits
    assert hits == (Hit("a", 1.5, 30.0), Hit("b", 1.5, None), Hit("c", 90.0, 4.0))
    plain = text_output(r"^(\S+)", tokens=7).read(b"b\na\n", 1)
    assert plain.answer.hits == (Hit("b", None, 7),)


@pytest.mark.parametrize(
    ("pattern", "printed", "told"),
    [
        (r"^(\d+)$", b"", "printed nothing, which is no answer"),
        (r"^(\d+)$", b"none", "nothing that ids_regex matches"),
        (r"^(\d*)x", b"1x\nx", "result 2 has no id"),
        (r"^(?P<id>\w) (?P<score>\S+)", b"a 1\nb nan", "result 2 has 'nan' as its score"),
        (r"^(?P<id>\w) (?P<score>\S+)", b"a one", "'one' as its score"),
        (r"^(?P<id>\w) (?P<score>\S+)", b"a 1_0", "'1_0' as its score"),
        (r"^(?P<id>\w) (?P<score>\S+)", "a \u0661".encode(), "'\u0661' as its score"),
        (r"^(?P<id>\w) (?P<tokens>\S+)", b"a inf", "'inf' as its tokens"),
    ],
)
def test_text_that_is_no_answer_is_an_error(
    pattern: str, printed: bytes, told: str, text_output: TextOf
) -> None:
    with pytest.raises(SystemFailedError, match=told):
        text_output(pattern).read(printed, 10)


def test_a_printed_result_goes_on_to_the_line_of_the_next(text_output: TextOf) -> None:
    text = b"2 found\n1. id=a first\n   more of it\n2. id=b second id=c third\n\n"
    found = text_output(r"id=(\w)").read(text, 10)
    assert found.items == ("1. id=a first\n   more of it", "2. id=b", "second id=c third")


def test_a_mark_of_byte_order_is_not_part_of_the_output() -> None:
    assert json_output().read(b'\xef\xbb\xbf[{"id":"a"}]', 5).answer.hits == (Hit("a"),)
