from searchmark.retrieval.synthetic import synthetic_queries


def test_all_parts() -> None:
    assert synthetic_queries("WeatherCo", "Real-time forecasts", ["weather", "rain"]) == [
        "What does WeatherCo do?",
        "I need something that can real-time forecasts",
        "Looking for a service related to weather, rain",
    ]


def test_a_missing_part_leaves_its_query_out() -> None:
    assert synthetic_queries(None, "Sells maps", []) == ["I need something that can sells maps"]
    assert synthetic_queries("", "  ", ["maps"]) == ["Looking for a service related to maps"]
    assert synthetic_queries(None, None, []) == []


def test_only_the_first_letter_becomes_small() -> None:
    assert synthetic_queries(None, "GPS Tracks", []) == ["I need something that can gPS Tracks"]
    assert synthetic_queries(None, "Éclairs", []) == ["I need something that can éclairs"]


def test_braces_in_a_document_are_only_text() -> None:
    assert synthetic_queries("{tags}{name", None, []) == ["What does {tags}{name do?"]


def test_templates_are_data() -> None:
    templates = ("{name}: {description}", "always", "{name}?")
    assert synthetic_queries("A", None, [], templates=templates) == ["always", "A?"]
    assert synthetic_queries("A", "B", [], templates=templates) == ["A: b", "always", "A?"]
