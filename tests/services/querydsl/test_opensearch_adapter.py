"""The OpenSearch adapter on a server that opensearch-py takes for OpenSearch."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import searchmark
from searchmark.cli.main import main
from searchmark.errors import InputError, SystemFailedError
from searchmark.experiments.experiment import run_experiment
from searchmark.project import read_project
from searchmark.systems.protocol import Answer, Query, System

from .conftest import Data, opened

opensearchpy = pytest.importorskip("opensearchpy")

MAPPING = {
    "properties": {
        "title": {"type": "text", "analyzer": "english"},
        "text": {"type": "text", "analyzer": "english"},
        "tags": {"type": "keyword"},
    }
}
FIELDS = ["title^2", "text"]


@pytest.fixture(scope="module")
def client(opensearch_url: str, data: Data) -> Iterator[Any]:
    client = opensearchpy.OpenSearch(opensearch_url)
    client.indices.create(index="cranfield", body={"mappings": MAPPING})
    client.indices.put_alias(index="cranfield", name="current")
    rows = [
        {
            "_index": "cranfield",
            "_id": d["_id"],
            "title": d["title"],
            "text": d["text"],
            "number": int(d["_id"]),
            "catalog": {"sku": f"S-{d['_id']}"},
            "dotted.key": f"D-{d['_id']}",
        }
        for d in data.documents
    ]
    opensearchpy.helpers.bulk(client, rows, refresh=True)
    yield client
    client.close()


@pytest.fixture
def keys(client: Any, opensearch_url: str) -> dict[str, Any]:
    return {"hosts": opensearch_url, "index": "cranfield", "fields": FIELDS}


def raw(client: Any, text: str, k: int, **more: Any) -> list[tuple[str, float]]:
    """Ask as a person would, with the plain client and the DSL written by hand."""
    body = {"size": k, "query": {"multi_match": {"query": text, "fields": FIELDS}}, **more}
    found = client.search(index="cranfield", body=body)
    return [(h["_id"], h["_score"]) for h in found["hits"]["hits"]]


def hits(answer: Answer | SystemFailedError) -> list[tuple[str, float | None]]:
    assert isinstance(answer, Answer), answer
    return [(h.doc_id, h.score) for h in answer.hits]


def ids(system: System, text: str, k: int = 10) -> list[str]:
    return [h.doc_id for h in system.search(Query("q", text), k).hits]


def failure(system: System) -> SystemFailedError:
    with pytest.raises(SystemFailedError) as caught:
        system.search(Query("q", "wing"), 5)
    return caught.value


def test_rankings_and_scores_are_what_the_plain_client_gives(
    client: Any, keys: dict[str, Any], data: Data
) -> None:
    with opened("opensearch", **keys) as system:
        for query in data.queries:
            answer = system.search(Query(query["_id"], query["text"]), 20)
            assert hits(answer) == raw(client, query["text"], 20)
            assert not answer.partial


def test_the_total_is_what_a_count_gives(client: Any, keys: dict[str, Any]) -> None:
    query = {"multi_match": {"query": "heated wing", "fields": FIELDS}}
    expected = client.count(index="cranfield", body={"query": query})["count"]
    with opened("opensearch", **keys) as system:
        answer = system.search(Query("q", "heated wing"), 3)
    assert answer.total == expected > 3
    assert len(answer.hits) == 3


def test_a_batch_gives_what_single_calls_give(keys: dict[str, Any], data: Data) -> None:
    queries = [Query(q["_id"], q["text"]) for q in data.queries]
    with opened("opensearch", **keys) as system:
        together = system.search_many(queries, 10)
        singly = [system.search(q, 10) for q in queries]
    assert [hits(a) for a in together] == [hits(a) for a in singly]
    assert [a.total for a in together] == [a.total for a in singly]


def test_a_batch_holds_failures_apart(keys: dict[str, Any]) -> None:
    del keys["fields"]
    keys["template"] = {"query": {"range": {"number": {"gte": "{query}"}}}, "sort": ["number"]}
    with opened("opensearch", **keys) as system:
        first, bad, last = system.search_many(
            [Query("1", "299"), Query("2", "x"), Query("3", "5")], 2
        )
    assert hits(first) == [("299", None), ("300", None)]
    assert isinstance(bad, SystemFailedError)
    assert not bad.retry
    assert "_msearch answered 400" in str(bad)
    assert hits(last) == [("5", None), ("6", None)]


def test_an_alias_is_searched_as_an_index_is(keys: dict[str, Any]) -> None:
    with (
        opened("opensearch", **keys) as one,
        opened("opensearch", **{**keys, "index": "current"}) as two,
    ):
        assert ids(one, "wing") == ids(two, "wing") != []


def test_a_template_file_is_filled_by_structure(
    client: Any, keys: dict[str, Any], tmp_path: Path, data: Data
) -> None:
    template = {
        "query": {
            "bool": {
                "must": {"match": {"text": {"query": "{query}", "operator": "or"}}},
                "filter": {"range": {"number": {"lte": 100}}},
            }
        },
        "_source": False,
    }
    (tmp_path / "query.json").write_text(json.dumps(template))
    del keys["fields"]
    text = data.queries[0]["text"]
    template["query"]["bool"]["must"]["match"]["text"]["query"] = text
    expected = client.search(index="cranfield", body={**template, "size": 7})["hits"]["hits"]
    with opened("opensearch", tmp_path, template="query.json", **keys) as system:
        found = system.search(Query("q", text), 7)
        assert set(system.identity) == {"template"}
    assert hits(found) == [(h["_id"], h["_score"]) for h in expected]
    assert len(found.hits) == 7


NASTY = [
    'wing "quoted" slipstream',
    "wing {query} {k} {{x}} }",
    "wing\nslipstream\r\n\ttab",
    "wing\u2028line\u2029paragraph",
    "-wing +slipstream AND (OR NOT",
    "wing'; DROP TABLE x; --",
    "$wing ${HOME} `id`",
    "wing \\ backslash \\u0041",
    "wing ünïcödé 漢字 \U0001f6e9",
    "wing */regex/ fuzzy~ boost^2 field:value [1 TO 2]",
]


@pytest.mark.parametrize("text", NASTY)
def test_nasty_queries_are_texts_like_any_other(
    client: Any, keys: dict[str, Any], text: str
) -> None:
    with opened("opensearch", **keys) as system:
        single, (batched,) = (
            system.search(Query("q", text), 5),
            system.search_many([Query("q", text)], 5),
        )
    assert hits(single) == hits(batched) == raw(client, text, 5) != []


def test_an_empty_answer_is_an_answer(keys: dict[str, Any]) -> None:
    with opened("opensearch", **keys) as system:
        for text in ("qwertzuiop", "", "   ", "the"):
            answer = system.search(Query("q", text), 5)
            assert (answer.hits, answer.total, answer.partial) == ((), 0, False)


def test_half_a_surrogate_pair_is_an_error_of_its_query(keys: dict[str, Any]) -> None:
    with opened("opensearch", **keys) as system:
        with pytest.raises(SystemFailedError, match="half a surrogate pair"):
            system.search(Query("q", "wing \ud800"), 5)
        bad, good = system.search_many([Query("1", "\ud800"), Query("2", "wing")], 5)
    assert isinstance(bad, SystemFailedError)
    assert hits(good)


@pytest.mark.parametrize(
    ("field", "first"), [("catalog.sku", "S-"), ("dotted.key", "D-"), ("number", "")]
)
def test_ids_may_be_a_field(keys: dict[str, Any], field: str, first: str) -> None:
    with (
        opened("opensearch", **keys) as plain,
        opened("opensearch", id_field=field, **keys) as named,
    ):
        assert ids(named, "wing") == [first + i for i in ids(plain, "wing")] != []


def test_a_hit_without_the_field_is_an_error(keys: dict[str, Any]) -> None:
    with opened("opensearch", id_field="catalog.isbn", **keys) as system:
        told = str(failure(system))
    assert "/cranfield/_search: result 1 has no id at id_field = 'catalog.isbn'" in told


def test_tokens_are_a_number_or_reckoned_from_a_hit(keys: dict[str, Any], data: Data) -> None:
    lengths = {d["_id"]: float(len(d["text"])) for d in data.documents}
    with opened("opensearch", tokens="length(_source.text)", **keys) as system:
        found = system.search(Query("q", "wing"), 5).hits
    assert found
    assert [h.tokens for h in found] == [lengths[h.doc_id] for h in found]
    with opened("opensearch", tokens=12, **keys) as system:
        assert {h.tokens for h in system.search(Query("q", "wing"), 5).hits} == {12.0}


def test_parameters_reach_the_engine_in_both_forms(keys: dict[str, Any]) -> None:
    keys |= {
        "params": {"search_type": "dfs_query_then_fetch"},
        "preference": "_local",
        "routing": "a",
    }
    with opened("opensearch", **keys) as system:
        assert hits(system.search(Query("q", "wing"), 5)) == hits(
            system.search_many([Query("q", "wing")], 5)[0]
        )


def test_an_index_that_is_not_there_is_no_empty_answer(keys: dict[str, Any]) -> None:
    with opened("opensearch", **{**keys, "index": "cranfeild"}) as system:
        with pytest.raises(SystemFailedError) as caught:
            system.search(Query("q", "wing"), 5)
        (batched,) = system.search_many([Query("q", "wing")], 5)
    for error in (caught.value, batched):
        assert isinstance(error, SystemFailedError)
        assert not error.retry
        assert "404 Not Found: index_not_found_exception: no such index [cranfeild]" in str(error)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            {"hybrid": {"queries": [{"match": {"text": "{query}"}}]}},
            "[hybrid] query is not supported",
        ),
        ({"knn": {"vector": {"query_vector": "{query}", "k": "{k}"}}}, "knn"),
        ({"mtach": {"text": "{query}"}}, "unknown query [mtach]"),
    ],
)
def test_what_the_engine_refuses_is_told_in_its_words(
    keys: dict[str, Any], query: dict[str, Any], told: str
) -> None:
    del keys["fields"]
    with opened("opensearch", template={"query": query}, **keys) as system:
        caught = failure(system)
    assert "/cranfield/_search answered 400 Bad Request: " in str(caught)
    assert told in str(caught)
    assert "\n" not in str(caught)
    assert not caught.retry


def test_a_pipeline_that_is_not_there_is_told(keys: dict[str, Any]) -> None:
    with opened("opensearch", search_pipeline="nlp", **keys) as system:
        with pytest.raises(SystemFailedError, match="Pipeline nlp is not defined"):
            system.search(Query("q", "wing"), 5)
        (batched,) = system.search_many([Query("q", "wing")], 5)
    assert "Pipeline nlp is not defined" in str(batched)


# explanations


def test_a_hit_is_explained_with_its_rank_and_score(client: Any, keys: dict[str, Any]) -> None:
    expected = raw(client, "heated wing", 20)
    with opened("opensearch", **keys) as system:
        found = system.explain(Query("q", "heated wing"), expected[2][0], 20)
    assert (found.rank, found.score) == (3, expected[2][1])
    assert found.reason is not None
    assert found.reason.value == expected[2][1]
    assert "wing" in found.reason.description


def test_documents_beyond_the_depth_and_others_are_told_apart(
    client: Any, keys: dict[str, Any]
) -> None:
    every = raw(client, "heated wing", 300)
    matched = {doc_id for doc_id, _ in every}
    other = next(str(i) for i in range(1, 300) if str(i) not in matched)
    with opened("opensearch", **keys) as system:
        beyond = system.explain(Query("q", "heated wing"), every[7][0], 3)
        unmatched = system.explain(Query("q", "heated wing"), other, 3)
        absent = system.explain(Query("q", "heated wing"), "no such document", 3)
    assert (beyond.rank, beyond.score) == (None, pytest.approx(every[7][1]))
    assert beyond.note == "the document matches, and is not among the 3 first"
    assert (unmatched.rank, unmatched.score, absent.rank) == (None, None, None)
    assert "does not match" in unmatched.note
    assert "does not match this document, or does not have it" in absent.note


# a whole project


@pytest.fixture
def project(keys: dict[str, Any], data: Data, tmp_path: Path) -> Path:
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        shutil.copy(data.folder / name, tmp_path / name)
    table = (
        f'use = "opensearch"\nhosts = "{keys["hosts"]}"\nindex = "cranfield"\nfields = {FIELDS}\n'
    )
    (tmp_path / "searchmark.toml").write_text(
        'corpus = "corpus.jsonl"\nqueries = "queries.jsonl"\nqrels = "qrels.tsv"\n'
        f'profile = "graded"\nmeasures = ["nDCG@10", "AP"]\ndepth = 50\n[systems.single]\n{table}'
        f"[systems.batched]\nbatch = 8\nconcurrency = 2\n{table}"
        '[systems.words]\nuse = "bm25"\nfields = ["text"]\n'
    )
    return tmp_path


def test_scores_are_those_of_the_plain_clients_rankings(
    client: Any, project: Path, data: Data
) -> None:
    ran = run_experiment(read_project(project), ["single", "batched"], sensitivity=False)
    run = {q["_id"]: dict(raw(client, q["text"], 50)) for q in data.queries}
    given = {"raw": run}
    expected = searchmark.evaluate(
        project / "qrels.tsv", given, ["nDCG@10", "AP"], profile="graded", order="rank"
    )
    values = [m.value for m in expected.scores[0].means]
    for scores in ran.evaluation.systems:
        assert [m.value for m in scores.means] == pytest.approx(values, abs=1e-12)
    assert values[0] is not None
    assert values[0] > 0.3


def test_the_command_explains(
    client: Any, project: Path, data: Data, capsys: pytest.CaptureFixture[str]
) -> None:
    query = data.queries[0]
    (first, score), *_ = raw(client, query["text"], 1)
    arguments = ["explain", str(project), "--system", "single", "--query", query["_id"]]
    with pytest.raises(SystemExit) as done:
        main([*arguments, "--doc", first, "--format", "json"])
    assert done.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rank"], found["score"], found["query"]) == (1, score, query["text"])
    assert found["reason"]["value"] == score
    with pytest.raises(SystemExit) as done:
        main([*arguments, "--doc", first])
    assert done.value.code == 0
    assert f"{first} for '" in (out := capsys.readouterr().out)
    assert f"rank 1, score {score:g}" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--system", "words", "--query", "1"], "the system 'words' cannot explain a result"),
        (["--system", "sngle", "--query", "1"], "did you mean 'single'?"),
        (["--system", "single", "--query", "q1"], "no query has the id 'q1'"),
        (["--system", "single"], "give one of --query and --text"),
        (["--system", "single", "--query", "1", "--text", "x"], "give one of --query and --text"),
    ],
)
def test_the_command_says_what_it_cannot_explain(
    project: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as done:
        main(["explain", str(project), "--doc", "1", *arguments])
    assert done.value.code == 2
    assert told in capsys.readouterr().err


def test_a_server_that_is_away_ends_the_command_with_3(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project / "searchmark.toml"
    away = "\n".join(
        'hosts = "http://127.0.0.1:9"' if line.startswith("hosts") else line
        for line in path.read_text().splitlines()
    )
    path.write_text(away.replace("[systems.single]", "[systems.single]\nretries = 0"))
    with pytest.raises(SystemExit) as done:
        main(["explain", str(project), "--system", "single", "--query", "1", "--doc", "1"])
    assert done.value.code == 3
    assert "no connection (Connection refused)" in capsys.readouterr().err
    with pytest.raises(SystemExit) as done:
        main(["run", str(project), "--system", "single"])
    assert done.value.code == 3
    assert "Traceback" not in capsys.readouterr().err


def test_a_template_with_faults_is_told_with_its_file(keys: dict[str, Any], tmp_path: Path) -> None:
    del keys["fields"]
    faults = {
        "{": "is no JSON",
        "[1]": "must be a JSON object",
        '{"query": {"match_all": {}}}': "no part of it holds {query}",
        '{"query": {"match": {"a": "{qurey} {query}"}}}': "unknown placeholder {qurey}",
        '{"query": {"knn": {"v": "{embedding}"}}}': "model: is missing",
    }
    path = tmp_path / "query.json"
    for content, told in faults.items():
        path.write_text(content)
        with (
            pytest.raises(InputError, match=r"query\.json") as caught,
            opened("opensearch", tmp_path, template="query.json", **keys),
        ):
            pass
        assert told in str(caught.value)
