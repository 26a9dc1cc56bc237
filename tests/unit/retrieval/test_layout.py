"""Which texts a document has, and what stored documents depend on."""

import pytest

from searchmark.errors import InputError
from searchmark.retrieval.layout import Layout, text_of

DOCUMENT = {
    "doc_id": "a",
    "serviceName": "Rainy",
    "description": "Tells the weather",
    "tags": ["rain", "wind"],
}


def test_a_document_has_its_own_text_and_three_questions() -> None:
    assert [tuple(text) for text in Layout().texts(DOCUMENT)] == [
        ("own", 0, "Rainy Tells the weather rain wind"),
        ("synthetic", 0, "What does Rainy do?"),
        ("synthetic", 1, "I need something that can tells the weather"),
        ("synthetic", 2, "Looking for a service related to rain, wind"),
    ]


def test_what_is_missing_makes_no_text() -> None:
    assert Layout().texts({"doc_id": "a", "tags": [], "description": "  "}) == []
    one = Layout(description=None, tags=None).texts(DOCUMENT)
    assert [text.text for text in one] == ["Rainy", "What does Rainy do?"]
    tag = Layout(name=None, description=None).texts({"tags": "rain"})
    assert [text.text for text in tag] == ["rain", "Looking for a service related to rain"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("a b", "a b"),
        (True, "true"),
        (5, "5"),
        (0.5, "0.5"),
        (["a", "b"], "a b"),
        (("a", None, 1), "a  1"),
    ],
)
def test_values_as_searched_text(value: object, text: str) -> None:
    assert text_of(value) == text


def test_stored_documents_depend_on_fields_and_not_on_weights() -> None:
    stored = Layout().indexed
    same = Layout(weights=dict.fromkeys(Layout().weights, 7.0), ties=(), relax=True)
    assert same.indexed == stored
    for other in (Layout(weights={"serviceName": 1}), Layout(substring=("x",)), Layout(name="x")):
        assert other.indexed != stored


def test_ids_are_texts_or_whole_numbers() -> None:
    assert Layout().doc_id({"doc_id": 7}) == "7"
    assert Layout(id_field="resource").doc_id({"resource": "u"}) == "u"
    for wrong in ({}, {"doc_id": ""}, {"doc_id": False}, {"doc_id": 1.5}, {"doc_id": None}):
        with pytest.raises(InputError, match="a document has no id in the field 'doc_id'"):
            Layout().doc_id(wrong)


def test_every_field_that_must_exist_is_named_once() -> None:
    assert Layout(substring=("resource", "url")).fields == (
        "serviceName",
        "tags",
        "description",
        "resource",
        "url",
    )
