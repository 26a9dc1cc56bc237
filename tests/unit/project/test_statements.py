"""Places in TOML text, checked against what tomllib reads there."""

import tomllib
from typing import Any

import pytest

from searchmark.project.statements import Span, last_item, statements, strings

TEXT = """\
# a comment = 1
corpus = "c.jsonl"  # with a comment
measures = [
  "nDCG@10", # one
  "RR]",     # a bracket in a string
]
"quoted key" = 'it'

[systems.'strict.one']
use = "bm25"
fields = { title = 2, "text" = 1 } # inline
  fallback=false
long = QQQ
[not.a.header]
x = 1 # no comment \\QQQ " "
QQQ
literal = AAA
[neither]AAA

[[systems.fused . constraints]]
pattern = '[a-z]#"'
systems.dotted."a b" = 3
[empty]
""".replace("QQQ", '"' * 3).replace("AAA", "'" * 3)


def value_at(decoded: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        decoded = decoded[-1] if isinstance(decoded, list) else decoded
        decoded = decoded[key]
    return decoded


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_value_stands_where_it_is_said_to(newline: str) -> None:
    text = TEXT.replace("\n", newline)
    decoded = tomllib.loads(text)
    keys = [s for s in statements(text) if s.kind == "key"]
    for statement in keys:
        read = tomllib.loads(f"x = {statement.value.of(text)}")["x"]
        assert read == value_at(decoded, statement.path), statement
    assert [s.path for s in keys] == [
        ("corpus",),
        ("measures",),
        ("quoted key",),
        ("systems", "strict.one", "use"),
        ("systems", "strict.one", "fields"),
        ("systems", "strict.one", "fallback"),
        ("systems", "strict.one", "long"),
        ("systems", "strict.one", "literal"),
        ("systems", "fused", "constraints", "pattern"),
        ("systems", "fused", "constraints", "systems", "dotted", "a b"),
    ]


def test_headers_are_told_from_arrays_of_tables() -> None:
    found = [(s.kind, s.path) for s in statements(TEXT) if s.kind != "key"]
    assert found == [
        ("table", ("systems", "strict.one")),
        ("array", ("systems", "fused", "constraints")),
        ("table", ("empty",)),
    ]


def test_keys_and_lines_have_their_places() -> None:
    header = next(s for s in statements(TEXT) if s.kind == "array")
    assert [p.of(TEXT) for p in header.parts] == ["systems", "fused", "constraints"]
    assert header.line.of(TEXT) == "[[systems.fused . constraints]]\n"
    several = next(s for s in statements(TEXT) if s.path == ("measures",))
    assert several.line.of(TEXT) == TEXT[TEXT.index("measures") : TEXT.index('"quoted key"')]


def test_strings_inside_a_value_have_their_places() -> None:
    several = next(s for s in statements(TEXT) if s.path == ("measures",))
    found = [(word, span.of(TEXT)) for word, span in strings(TEXT, several.value)]
    assert found == [("nDCG@10", '"nDCG@10"'), ("RR]", '"RR]"')]


def test_a_text_without_a_last_newline_ends_well() -> None:
    (statement,) = statements("a = 1")
    assert (statement.value.of("a = 1"), statement.line) == ("1", (0, 5))


@pytest.mark.parametrize(
    ("value", "end", "has_comma"),
    [
        ('["a", "b"]', 9, False),
        ('["a", "b" , ]', 11, True),
        ('[\n  "a", # ] not here\n  "b" # nor, here\n]', 27, False),
        ("{ a = 1, b = [2] }", 16, False),
        ("{ a = 1 }", 7, False),
    ],
)
def test_the_last_item_of_a_list_or_table_is_found(value: str, end: int, has_comma: bool) -> None:
    assert last_item(f"x = {value}\n", Span(4, 4 + len(value))) == (4 + end, has_comma)
