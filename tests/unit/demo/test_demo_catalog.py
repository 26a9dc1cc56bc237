"""The demo's files keep the promises that its README makes."""

import csv
import json
import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import searchmark.demo
from searchmark.retrieval.analysis import analyze

FOLDER = Path(searchmark.demo.__file__).parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")
LEAST = {"exact-name": 18, "paraphrase": 40, "filtered": 40, "no-result": 18, "adversarial": 18}
FIELDS = {
    "_id": str,
    "name": str,
    "description": str,
    "tags": list,
    "url": str,
    "network": str,
    "asset": str,
    "amount": float,
    "settlement_count": int,
    "last_updated": str,
}
Record = dict[str, Any]


def read_lines(name: str) -> list[Record]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def read_rows() -> list[Record]:
    with (FOLDER / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


CATALOG = read_lines("catalog.jsonl")
QUERIES = read_lines("queries.jsonl")
ROWS = read_rows()
SERVICES = {service["_id"]: service for service in CATALOG}
JUDGED: dict[str, dict[str, int]] = defaultdict(dict)
for row in ROWS:
    JUDGED[row["query-id"]][row["corpus-id"]] = int(row["score"])
PAIRS = {(query["pair"][0], query["pair"][1]) for query in QUERIES if "pair" in query}


def of_category(category: str) -> list[Record]:
    return [query for query in QUERIES if query["category"] == category]


def passes(service: Record, filters: Record) -> bool:
    return all(
        service[field] <= wanted["<="] if isinstance(wanted, dict) else service[field] == wanted
        for field, wanted in filters.items()
    )


def words_of(service: Record) -> set[str]:
    parts = [service["name"], service["description"], *service["tags"], service["url"]]
    return set(analyze(" ".join(parts)))


def shared_words(query: Record) -> dict[str, set[str]]:
    asked = set(analyze(query["text"]))
    good = [name for name, grade in JUDGED[query["_id"]].items() if grade >= 2]
    return {name: found for name in good if (found := asked & words_of(SERVICES[name]))}


def limits_and_names(filters: Record) -> list[str]:
    values = [v["<="] if isinstance(v, dict) else v for v in filters.values()]
    return [str(value).lower() for value in values]


def test_ids_and_texts_are_unique() -> None:
    for records, key in [(CATALOG, "_id"), (CATALOG, "name"), (CATALOG, "url"), (QUERIES, "_id")]:
        assert len({record[key] for record in records}) == len(records)
    assert len({query["text"].lower() for query in QUERIES}) == len(QUERIES)


def test_every_service_has_its_fields() -> None:
    for service in CATALOG:
        assert {field: type(value) for field, value in service.items()} == FIELDS, service["_id"]
        assert 2 <= len(service["tags"]) <= 5, service["_id"]
        assert re.fullmatch(r"https://[a-z0-9-]+\.example/[a-z0-9/-]+", service["url"])
        assert 0 < service["amount"] <= 2.5, service["_id"]
        assert service["settlement_count"] > 0, service["_id"]
        assert datetime.fromisoformat(service["last_updated"]).utcoffset() == timedelta(0)


def test_the_catalog_has_two_networks_and_three_assets() -> None:
    assert len(CATALOG) >= 64
    assert {service["network"] for service in CATALOG} == {"base", "solana"}
    assert {service["asset"] for service in CATALOG} == {"USDC", "EURC", "PYUSD"}


def test_queries_come_in_five_categories_large_enough() -> None:
    counts = Counter(query["category"] for query in QUERIES)
    assert len(QUERIES) >= 125
    assert counts.keys() == LEAST.keys()
    assert {category: counts[category] >= least for category, least in LEAST.items()} == (
        dict.fromkeys(LEAST, True)
    )


def test_extra_fields_stand_where_they_belong() -> None:
    extra = {"filtered": {"filters"}, "adversarial": {"pair"}}
    for query in QUERIES:
        wanted = {"_id", "text", "category"} | extra.get(query["category"], set())
        assert query.keys() == wanted, query["_id"]


def test_judgments_name_known_queries_and_services_once() -> None:
    assert {row["query-id"] for row in ROWS} <= {query["_id"] for query in QUERIES}
    assert {row["corpus-id"] for row in ROWS} <= SERVICES.keys()
    assert len({(row["query-id"], row["corpus-id"]) for row in ROWS}) == len(ROWS)
    assert {row["score"] for row in ROWS} == {"0", "1", "2", "3"}


def test_queries_without_answer_have_none_and_all_others_a_good_one() -> None:
    best = {query["_id"]: max(JUDGED[query["_id"]].values(), default=0) for query in QUERIES}
    without = {query["_id"] for query in of_category("no-result")}
    assert {name for name, grade in best.items() if grade == 0} == without
    assert {name for name, grade in best.items() if grade == 1} == set()


def test_only_filtered_queries_lack_an_exact_answer() -> None:
    lacking = [q["category"] for q in QUERIES if max(JUDGED[q["_id"]].values(), default=0) == 2]
    assert lacking == ["filtered"] * 3


def test_explicit_zeros_are_services_that_fail_the_constraint() -> None:
    filters = {query["_id"]: query.get("filters", {}) for query in QUERIES}
    zeros = [row for row in ROWS if row["score"] == "0"]
    assert zeros
    for row in zeros:
        assert not passes(SERVICES[row["corpus-id"]], filters[row["query-id"]]), row


@pytest.mark.parametrize("query", of_category("filtered"), ids=lambda query: query["_id"])
def test_whatever_is_relevant_passes_the_filters_the_text_names(query: Record) -> None:
    relevant = [name for name, grade in JUDGED[query["_id"]].items() if grade > 0]
    assert all(passes(SERVICES[name], query["filters"]) for name in relevant)
    assert query["filters"].keys() <= {"network", "asset", "amount"}


def test_what_a_text_names_is_what_its_filters_say() -> None:
    for query in QUERIES:
        named = re.findall(r"\b(?:base|solana|usdc|eurc|pyusd|0\.\d+)\b", query["text"].lower())
        assert sorted(named) == sorted(limits_and_names(query.get("filters", {}))), query["_id"]


def test_no_judged_service_costs_exactly_the_limit() -> None:
    for query in of_category("filtered"):
        limit = query["filters"].get("amount", {}).get("<=")
        assert limit not in {SERVICES[name]["amount"] for name in JUDGED[query["_id"]]}


@pytest.mark.parametrize("query", of_category("paraphrase"), ids=lambda query: query["_id"])
def test_a_paraphrase_shares_no_word_with_its_answers(query: Record) -> None:
    assert analyze(query["text"])
    assert shared_words(query) == {}


def test_shared_words_are_found_where_there_are_some() -> None:
    """The check above can fail: every exact name shares a word with its answer."""
    assert all(shared_words(query) for query in of_category("exact-name"))


def test_thirteen_pairs_are_asked_about_at_least_twice() -> None:
    asked = Counter(tuple(query["pair"]) for query in of_category("adversarial"))
    assert len(asked) == 13
    assert len({name for pair in asked for name in pair}) == 26
    assert min(asked.values()) >= 2


@pytest.mark.parametrize("query", of_category("adversarial"), ids=lambda query: query["_id"])
def test_the_genuine_listing_is_a_3_and_the_stuffed_one_a_1(query: Record) -> None:
    genuine, stuffed = query["pair"]
    assert JUDGED[query["_id"]][genuine] == 3
    assert JUDGED[query["_id"]][stuffed] == 1


@pytest.mark.parametrize("pair", sorted(PAIRS), ids=lambda pair: pair[1])
def test_a_stuffed_listing_repeats_words_and_is_hardly_used(pair: tuple[str, str]) -> None:
    genuine, stuffed = (SERVICES[name] for name in pair)
    repeated = Counter(analyze(stuffed["description"])).most_common(1)[0][1]
    assert repeated >= 5 > max(Counter(analyze(genuine["description"])).values())
    assert stuffed["settlement_count"] < 10 < genuine["settlement_count"]
    assert stuffed["network"] == genuine["network"]


def test_all_stuffed_listings_but_one_are_newer_than_the_genuine() -> None:
    newer = [SERVICES[b]["last_updated"] > SERVICES[a]["last_updated"] for a, b in PAIRS]
    assert newer.count(False) == 1


def test_a_stuffed_listing_is_judged_by_its_genuine_one_everywhere() -> None:
    for query in QUERIES:
        grades = JUDGED[query["_id"]]
        for genuine, stuffed in sorted(PAIRS):
            right = grades.get(genuine, 0) >= 2
            allowed = passes(SERVICES[stuffed], query.get("filters", {}))
            assert grades.get(stuffed, 0) == int(right and allowed), (query["_id"], stuffed)


def test_an_exact_name_has_one_best_service_and_contains_part_of_its_name() -> None:
    for query in of_category("exact-name"):
        best = [name for name, grade in JUDGED[query["_id"]].items() if grade >= 2]
        assert len(best) == 1
        assert SERVICES[best[0]]["name"].split()[0].lower() in query["text"].lower()


def test_the_readme_counts_what_is_there() -> None:
    for category, count in Counter(query["category"] for query in QUERIES).items():
        assert f"| {category} | {count} |" in README
    for part in [
        f"| {len(CATALOG)} services",
        f"| {len(QUERIES)} queries",
        f"| {len(ROWS)} judgments",
        f"over all {len(QUERIES)} queries",
        f"{len(CATALOG) - len(PAIRS)} services are genuine. The other {len(PAIRS)} ",
        f"All {len(PAIRS)} pairs",
    ]:
        assert part in README
