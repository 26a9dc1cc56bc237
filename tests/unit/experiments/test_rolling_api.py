"""The command against a small server that lists and searches, and misbehaves when asked to."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest

from searchmark.cli.main import main
from searchmark.reports.rollingrecord import LABEL


class Catalog:
    """What the server has, and how it behaves; entry `e3` is never found, `e4` at rank 2."""

    def __init__(self) -> None:
        names = [f"service number{i} alpha" for i in range(12)]
        self.entries = [{"id": f"e{i}", "title": name} for i, name in enumerate(names)]
        self.page = 5
        self.partial: Callable[[str], bool] = lambda _: False
        self.failing: Callable[[str], bool] = lambda _: False
        self.listing_status = 200
        self.stuck = False
        self.asked: list[str] = []
        self.headers: list[str | None] = []

    def list(self, cursor: str) -> tuple[int, Any]:
        start = 0 if self.stuck else int(cursor or 0)
        shown = self.entries[start : start + self.page]
        more = start + self.page < len(self.entries)
        answer = {
            "resources": [{"resource": e["id"], "title": e["title"]} for e in shown],
            "total": len(self.entries),
            "nextCursor": str(start + self.page) if more else None,
        }
        return self.listing_status, answer

    def search(self, text: str) -> tuple[int, Any]:
        self.asked.append(text)
        if self.failing(text):
            return 500, {"error": "on fire"}
        found = [e["id"] for e in self.entries if e["title"] == text]
        found = [] if found == ["e3"] else ["other", *found] if found == ["e4"] else found
        return 200, {
            "resources": [{"resource": i} for i in found],
            "partialResults": self.partial(text),
        }


class Server(ThreadingHTTPServer):
    catalog: Catalog


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        parts, catalog = urlsplit(self.path), self.server.catalog
        given = {n: v[0] for n, v in parse_qs(parts.query).items()}
        catalog.headers.append(self.headers.get("Authorization"))
        if parts.path == "/discovery/resources":
            status, answer = catalog.list(given.get("cursor", ""))
        elif parts.path == "/numbered":
            status, answer = catalog.list(given["from"])
            answer = {"items": answer["resources"], "n": answer["total"]}
        else:
            status, answer = catalog.search(given["query"])
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Print nothing for each request."""


@pytest.fixture
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture
def address(catalog: Catalog) -> Iterator[str]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.catalog = catalog
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["rolling", *map(str, arguments)])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def history() -> list[dict[str, Any]]:
    path = Path("rolling.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_catalog_is_listed_whole_and_asked_for(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str], repository: Path
) -> None:
    assert call(address, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found == history()[0]
    schema = json.loads((repository / "docs/reference/rolling.schema.json").read_text())
    jsonschema.validate(found, schema)
    assert set(found) == set(schema["properties"]) == set(schema["required"])

    assert found["label"] == "known-item upper bound"
    assert (found["catalog"]["n_entries"], found["sample"]["n_entries"]) == (12, 12)
    assert found["sample"]["n_without_text"] == {"name": 0, "description": 12, "words": 12}
    assert sorted(catalog.asked) == sorted(e["title"] for e in catalog.entries)
    # 12 queries: one not found, one at rank 2, ten at rank 1
    means = {name: m["mean"] for name, m in found["whole"]["measures"].items()}
    assert means["RR"] == pytest.approx(10.5 / 12)
    assert means["R@20"] == pytest.approx(11 / 12)
    assert means["Success@1"] == pytest.approx(10 / 12)
    assert means["nDCG@10"] == pytest.approx((10 + 0.6309297535714575) / 12)  # 1 / log2(3)
    ranks = {i["doc_id"]: i.get("rank") for i in found["items"]}
    assert (ranks["e3"], ranks["e4"], ranks["e5"]) == (None, 2, 1)
    assert (found["partial"], found["n_failed"], found["errors"]) == (None, 0, [])
    assert found["calls"]["n_counted"] == 11  # one of the twelve was the warm-up


def test_the_same_seed_asks_for_the_same_whatever_the_order(address: str, catalog: Catalog) -> None:
    assert call(address, "--sample", 4) == 0
    catalog.entries.reverse()
    catalog.page = 3
    assert call(address, "--sample", 4) == 0
    assert call(address, "--sample", 4, "--seed", 1) == 0
    first, second, other = history()
    assert [i["doc_id"] for i in first["items"]] == [i["doc_id"] for i in second["items"]]
    assert first["sample"]["sha256"] == second["sample"]["sha256"]
    assert first["sample"]["sha256"] != other["sample"]["sha256"]
    catalog.entries.append({"id": "new", "title": "a new one"})
    assert call(address, "--sample", 4) == 0
    assert history()[-1]["catalog"]["sha256"] != first["catalog"]["sha256"]


def test_failures_and_partial_answers_are_apart(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog.failing = lambda text: "number7 " in text
    catalog.partial = lambda text: "number8 " in text or "number3 " in text
    assert call(address, "--retries", 0) == 0
    found = history()[0]
    assert (found["whole"]["n_queries"], found["partial"]["n_queries"], found["n_failed"]) == (
        *(9, 2),
        1,
    )
    # whole: e4 at rank 2, eight at rank 1; partial: e8 at rank 1 and e3 not found
    assert found["whole"]["measures"]["RR"]["mean"] == pytest.approx(8.5 / 9)
    assert found["partial"]["measures"]["RR"]["mean"] == pytest.approx(0.5)
    assert "500 Internal Server Error" in found["errors"][0]
    shown = capsys.readouterr().out
    assert "searches that failed, and are in none of the means: 1; " in shown
    assert "answers that were partial, and are measured apart: 2; a" in shown


def test_too_many_failures_are_no_measurement(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog.failing = lambda text: "number1" in text  # three of twelve, more than a tenth
    assert call(address, "--retries", 0) == 3
    assert "3 of 12 queries failed" in capsys.readouterr().err
    assert history() == []


def test_a_file_may_limit_what_is_partial(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog.partial = lambda text: "number8 " in text or "number3 " in text
    for share, code in ((0.1, 3), (0.2, 0)):  # two of twelve are 0.167
        Path("api.toml").write_text(
            f'[search]\npreset = "searchmark"\nbase = "{address}"\nmax_partial_share = {share}\n'
        )
        assert call("api.toml") == code
    told = (
        "2 of 12 answers are partial, more than max_partial_share = 0.1 allows; nothing is recorded"
    )
    assert f"{told}\n" in capsys.readouterr().err
    assert len(history()) == 1


@pytest.mark.parametrize("status", [500, 404])
def test_a_listing_that_fails_records_nothing(
    address: str, catalog: Catalog, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog.listing_status = status
    assert call(address, "--retries", 0) == 3
    assert f"answered {status}" in capsys.readouterr().err
    assert history() == []


def test_a_page_that_fails_once_is_asked_for_again(address: str, catalog: Catalog) -> None:
    pages = catalog.list
    statuses = [503, 200, 503, 503]

    def list_later(cursor: str) -> tuple[int, Any]:
        status, answer = pages(cursor)
        return (statuses.pop(0) if statuses else status), answer

    catalog.list = list_later  # type: ignore[method-assign]
    assert call(address, "--retries", 2) == 0
    assert statuses == []
    assert history()[0]["catalog"] == {**history()[0]["catalog"], "n_entries": 12, "n_repeated": 0}


def test_a_server_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("http://127.0.0.1:1", "--retries", 0) == 3
    assert "is the server running there?" in capsys.readouterr().err
    assert history() == []


def test_pages_in_a_circle_end(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog.stuck = True
    assert call(address) == 3
    assert "page 2 of the listing leads back" in capsys.readouterr().err


def pages_of(*pages: tuple[list[str], str | None]) -> Callable[[str], tuple[int, Any]]:
    """Return a listing: the first page, then the one that the cursor `c1`, `c2`... names."""

    def listing(cursor: str) -> tuple[int, Any]:
        ids, following = pages[int(cursor.removeprefix("c") or 0)]
        shown = [{"resource": i, "title": i} for i in ids]
        return 200, {"resources": shown, "nextCursor": following}

    return listing


def test_an_empty_page_that_names_a_cursor_is_not_the_last(address: str, catalog: Catalog) -> None:
    catalog.list = pages_of((["a"], "c1"), ([], "c2"), (["b"], None))  # type: ignore[method-assign]
    assert call(address) == 0
    assert history()[0]["catalog"]["n_entries"] == 2


def test_two_pages_that_name_each_other_end(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = pages_of((["a"], "c1"), (["b"], "c2"), (["c"], "c1"))
    catalog.list = pages  # type: ignore[method-assign]
    assert call(address) == 3
    assert "page 3 of the listing leads back to one before it; " in capsys.readouterr().err
    assert history() == []


@pytest.mark.parametrize("behaves", ["empty", "repeated", "by turns"])
def test_pages_that_bring_nothing_new_end_under_ever_new_cursors(
    address: str, catalog: Catalog, behaves: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def endless(cursor: str) -> tuple[int, Any]:
        asked.append(cursor)
        n = len(asked)  # e1, then e2 for ever, or e1 and e2 by turns
        last = 2 - n % 2 if behaves == "by turns" else min(n, 2)
        entries = [{"resource": f"e{last}", "title": "a"}]
        shown = [] if behaves == "empty" and n > 2 else entries
        # bounded here, so that a program that goes on fails the test and does not hang it
        return 200, {"resources": shown, "nextCursor": f"c{n}" if n < 50 else None}

    catalog.list = endless  # type: ignore[method-assign]
    assert call(address) == 3
    found = capsys.readouterr().err
    assert "pages 3 to 12 of the listing bring no new entry, and name another page to" in found
    assert found.count("\n") == 1
    assert len(asked) == 12
    assert history() == []


def test_a_server_that_does_not_know_the_offset_is_refused_at_its_second_page(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog.stuck, catalog.page = True, 4
    Path("api.toml").write_text(
        f"""
        [search]
        preset = "searchmark"
        base = "{address}"
        [listing]
        url = "{address}/numbered"
        params = {{ from = "{{offset}}" }}
        entries = "items"
        id = "resource"
        total = "n"
        """
    )
    # three pages of four would be the total of 12, and hold four entries
    assert call("api.toml") == 3
    assert "page 2 of the listing leads back to one before it; " in capsys.readouterr().err


def test_only_pages_in_a_row_count(address: str, catalog: Catalog) -> None:
    empty: list[tuple[list[str], str | None]] = [([], f"c{n}") for n in range(2, 22)]
    pages = [(["a"], "c1"), *empty[:9], (["b"], "c11"), *empty[10:19], (["c"], None)]
    catalog.list = pages_of(*pages)  # type: ignore[method-assign]
    assert call(address) == 0
    assert history()[0]["catalog"]["n_entries"] == 3


def test_a_last_page_may_be_empty_or_repeated(address: str, catalog: Catalog) -> None:
    pages = [["a", "b"], ["b", "c"], ["c"]]

    def three(cursor: str) -> tuple[int, Any]:
        number = int(cursor or 0)
        shown = [{"resource": i, "title": i} for i in pages[number]]
        return 200, {"resources": shown, "nextCursor": str(number + 1) if number < 2 else None}

    catalog.list = three  # type: ignore[method-assign]
    assert call(address) == 0
    pages[2] = []
    assert call(address) == 0
    assert [h["catalog"]["n_entries"] for h in history()] == [3, 3]
    assert [h["catalog"]["n_repeated"] for h in history()] == [2, 1]


def test_pages_are_no_more_than_a_limit(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    for most, code in ((2, 3), (3, 0)):  # twelve entries, five a page
        Path("api.toml").write_text(
            f"""
            [search]
            preset = "searchmark"
            base = "{address}"
            [listing]
            url = "{address}/discovery/resources"
            params = {{ cursor = "{{cursor}}" }}
            entries = "resources"
            id = "resource"
            cursor = "nextCursor"
            max_pages = {most}
            """
        )
        assert call("api.toml") == code
    told = "the listing goes on after 2 pages (max_pages) with 10 entries; raise page_size or"
    assert told in capsys.readouterr().err
    assert len(history()) == 1


def test_a_catalog_that_is_too_large_or_empty(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(address, "--max-entries", 11) == 2
    assert "more than 11 entries; raise --max-entries" in capsys.readouterr().err
    assert call(address, "--max-entries", 12) == 0
    catalog.entries = []
    assert call(address) == 3
    assert "lists no entries" in capsys.readouterr().err
    assert len(history()) == 1


def test_entries_without_a_text(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(address, "--text", "name=label") == 2
    told = capsys.readouterr().err
    assert "(an entry has resource, title); say where texts are" in told


def test_a_floor_that_is_not_held_fails_and_is_recorded(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(address, "--fail-under", "RR=0.8", "--fail-under", "R@20=0.95") == 1
    found = capsys.readouterr()
    assert "not held: R@20 (known-item upper bound) is 0.916667, under 0.95" in found.err
    assert "Floors that are not held\n- R@20" in found.out
    assert call(address, "--fail-under", "RR=0.8") == 0
    assert len(history()) == 2


def test_a_fall_is_told_in_a_sentence(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(address) == 0
    first = capsys.readouterr().out
    assert "this is the first record of this API here" in first
    assert LABEL in first.splitlines()[0]
    # every entry behind another one from now on
    search = catalog.search
    catalog.search = lambda text: _second(search(text))  # type: ignore[method-assign]
    assert call(address) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the catalog holds the same 12 entries" in shown
    assert "compared over the 12 queries that both asked" in shown
    # RR falls by 1/2 on ten queries and by 1/2 - 1/3 on one; the mean by (5 + 1/6) / 12 = 0.4306
    assert "now is worse than before on" in shown
    assert "RR (-0.4306)" in shown
    # nDCG@10: (10 + 0.6309) / 12, then (10 * 0.6309 + 1 / log2(4)) / 12; the eighth and fifth bar
    assert "of the last 2 records: █▅ 0.567 to 0.886" in shown


def _second(answer: tuple[int, Any]) -> tuple[int, Any]:
    status, found = answer
    return status, {**found, "resources": [{"resource": "first"}, *found["resources"]]}


@pytest.mark.parametrize("form", ["terminal", "markdown", "csv"])
def test_every_format_says_what_the_numbers_are(
    address: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert call(address, "--format", form) == 0
    shown = capsys.readouterr().out
    if form == "csv":
        rows = shown.splitlines()
        assert rows[0].startswith("label,api,made")
        data = [r for r in rows if not r.startswith("label,")]
        assert data and all(r.startswith(f"{LABEL},") for r in data)
        return
    titles = [x for x in shown.splitlines() if "127.0.0.1" in x or "now beside" in x]
    assert len(titles) == 3
    assert all(LABEL in title for title in titles)
    assert shown.count("Every number is a known-item upper bound") == 2
    assert f"nDCG@10 ({LABEL}) of the last" in shown


def test_another_api_is_described_by_a_file(
    address: str,
    catalog: Catalog,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CATALOG_URL", address)
    monkeypatch.setenv("CATALOG_TOKEN", "very-secret-8")
    Path("api.toml").write_text(
        """
        [search]
        url = "${CATALOG_URL}/find"
        params = { query = "{query}" }
        ids = "resources[].resource"
        bearer = "${CATALOG_TOKEN}"
        retries = 0

        [listing]
        url = "${CATALOG_URL}/numbered"
        params = { from = "{offset}" }
        entries = "items"
        id = "resource"
        total = "n"

        [texts]
        title = "title"
        """
    )
    assert call("api.toml") == 0
    found = history()[0]
    assert found["api"] == "${CATALOG_URL}/find"
    assert found["catalog"]["n_entries"] == 12
    assert {i["kind"] for i in found["items"]} == {"title"}
    assert set(catalog.headers) == {"Bearer very-secret-8"}
    assert "very-secret-8" not in Path("rolling.jsonl").read_text()
    catalog.listing_status = 500
    assert call("api.toml") == 3
    told = capsys.readouterr().err
    assert "GET ${CATALOG_URL}/numbered answered 500" in told
    assert address not in told


def test_every_problem_of_a_file_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("api.toml").write_text(
        """
        [search]
        url = "https://x.org/find"
        ids = "a["
        retires = 1
        [listing]
        url = "https://x.org/all?after={cursor}"
        entries = "b["
        id = "id"
        page_size = 0
        max_pages = 0
        [texts]
        Name = "name"
        """
    )
    assert call("api.toml") == 2
    told = capsys.readouterr().err
    for key in (
        *("search.retires: unknown key", "search.ids: 'a['", "search.url: no part"),
        *("listing.entries: 'b['", "listing.cursor: the request", "listing.page_size: is"),
        "listing.max_pages: is not from 1 to 1,000,000",
        "texts.Name: 'Name' is no name",
    ):
        assert key in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing.toml"], "no such file"),
        (["http://x:word1234@h/"], "this address cannot be asked"),
        (["${NOT_SET_ANYWHERE}"], "NOT_SET_ANYWHERE, which is not set"),
        (["http://127.0.0.1:1", "--text", "name"], "is no KIND=PATH"),
        (["http://127.0.0.1:1", "--text", "name=a["], "is no JMESPath"),
        (["http://127.0.0.1:1", "--timeout", "0"], "is not from 0.001 to 86,400"),
        (["http://127.0.0.1:1", "--fail-under", "AP=1"], "'AP' is not measured"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments) == 2
    found = capsys.readouterr().err
    assert told in found
    assert "word1234" not in found
    assert history() == []


def test_a_damaged_history_is_told_before_anybody_is_asked(
    address: str, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rolling.jsonl").write_text("no record\n")
    assert call(address) == 2
    assert "rolling.jsonl:1: is no record" in capsys.readouterr().err
    assert catalog.headers == []
