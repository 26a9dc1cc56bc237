"""Placeholders are replaced once, by structure; what a query holds is never looked at again."""

from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from searchmark.errors import InputError, SystemFailedError
from searchmark.systems.secrets import Secrets
from searchmark.systems.template import (
    encoded,
    expand_json,
    expand_text,
    fill_json,
    fill_text,
    fill_url,
    placeholders,
    placeholders_in,
    template_problem,
    texts_in,
)

NASTY = [
    '"; DROP TABLE x; --',
    "{query} {k} {{k}} }{",
    "line\nline\r\n\ttab",
    "-rf $HOME `id` $(id)",
    "%20 & ? # / + %",
    "Größe 東京 🧪 e\u0301",
    "\\\\ \\u0041 \\",
    "a\0b",
    "..",
    "",
]


@pytest.mark.parametrize("query", NASTY)
def test_a_query_stays_what_it_is(query: str) -> None:
    values = {"query": query, "k": 5}
    assert fill_text("-- {query} ({k})", values) == f"-- {query} (5)"
    body = {"q": "{query}", "n": ["{k}", {"both": "{query}/{k}"}], "x": None, "y": 1.5, "z": True}
    expected = {"q": query, "n": [5, {"both": f"{query}/5"}], "x": None, "y": 1.5, "z": True}
    assert fill_json(body, values) == expected
    url = fill_url("http://h/a/{query}/b?q={query}&k={k}", values)
    parts = urlsplit(url)
    assert parse_qs(parts.query, keep_blank_values=True, strict_parsing=True) == {
        "q": [query],
        "k": ["5"],
    }
    assert unquote(parts.path) == f"/a/{query}/b"
    assert "/../" not in parts.path
    assert parts.fragment == ""


def test_a_text_that_is_one_placeholder_becomes_the_value() -> None:
    values = {"k": 3, "embedding": [0.5, -1.0], "query": "7"}
    assert fill_json(["{k}", " {k}", "{query}", "{embedding}"], values) == [
        3,
        " 3",
        "7",
        [0.5, -1.0],
    ]
    assert fill_text("{{!knn}}{embedding}", values) == "{!knn}[0.5,-1.0]"


def test_doubled_braces_are_braces() -> None:
    assert fill_text("{{query}} {{{query}}} {{}}", {"query": "x"}) == "{query} {x} {}"
    assert placeholders("{{query}} {k} {{{page}}}") == {"k", "page"}
    assert placeholders_in({"a": ["{k}", {"b": "x{query}"}], "{page}": 1}) == {"k", "query"}


def test_names_of_a_template_stay() -> None:
    assert fill_json({"{k}": "{k}"}, {"k": 1}) == {"{k}": 1}
    assert list(texts_in({"a": [{"b": "t"}, 1]}, "body")) == [("body.a[0].b", "t")]


def test_what_is_wrong_with_a_template_is_said() -> None:
    known = ("query", "k")
    assert template_problem("{query}{k}{{}}", known) is None
    assert template_problem("{querry}", known) == (
        "unknown placeholder {querry}; did you mean 'query'?"
    )
    told = "a single '{' is no placeholder; write '{{' for a brace"
    assert template_problem("{!edismax}", known) == told
    assert "single '}'" in (template_problem('{{"a": "{query}"}', known) or "")


def test_values_of_the_environment_are_no_templates() -> None:
    secrets = Secrets({"TOKEN": "a{query}}b", "USER": "u"})
    assert template_problem("${TOKEN} {k} $${k}", ("k",)) is None
    assert placeholders("${query}") == set()
    text = expand_text("${TOKEN}/{k}/$${k}", secrets, "headers.X")
    assert fill_text(text, {"query": "NO", "k": 3}) == "a{query}}b/3/${k}"
    body = expand_json({"a": ["${USER}", 1], "b": "{k}"}, secrets, "body")
    assert fill_json(body, {"k": 3}) == {"a": ["u", 1], "b": 3}
    with pytest.raises(InputError, match=r"body\.a\[0\] needs the environment variable NONE"):
        expand_json({"a": ["${NONE}"]}, secrets, "body")


def test_half_a_surrogate_pair_is_an_error() -> None:
    assert encoded("é") == b"\xc3\xa9"
    with pytest.raises(SystemFailedError, match="character 2 is half a surrogate pair"):
        fill_url("http://h/{query}", {"query": "a\ud800"})
