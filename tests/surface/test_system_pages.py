"""The tables and files that the pages of systems show are good ones."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from searchmark.project.entries import decode_systems

if TYPE_CHECKING:
    from searchmark.errors import Problem

PAGES = Path("docs") / "systems"
SERVICES = ("openai", "cohere", "jina", "voyage", "tei", "llama")


def blocks(page: Path) -> Iterator[str]:
    """Yield what is shown on a page, without its indentation."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE):
        yield re.sub(r"^    ", "", block, flags=re.MULTILINE)


def tables(page: Path) -> Iterator[dict[str, Any]]:
    """Yield the systems of each block that shows some."""
    for block in blocks(page):
        if block.startswith("[systems."):
            yield tomllib.loads(block)["systems"]


def pages(repository: Path) -> list[Path]:
    return sorted((repository / PAGES).glob("*.md"))


def test_every_system_that_is_shown_is_a_good_table(repository: Path) -> None:
    n_shown = 0
    for page in pages(repository):
        for shown in tables(page):
            others = {
                part: {"use": "bm25"}
                for table in shown.values()
                for part in (table.get("of"), *table.get("systems", []))
                if isinstance(part, str) and part not in shown
            }
            problems: list[Problem] = []
            decode_systems({**others, **shown}, problems)
            assert problems == [], f"{page.name}: {shown}"
            n_shown += len(shown)
    assert n_shown > 30


def test_the_services_that_are_named_are_shown(repository: Path) -> None:
    """Names without a configuration are of no use to who has the service."""
    shown = [t for found in tables(repository / PAGES / "retrievers.md") for t in found.items()]
    names = {kind: {name for name, t in shown if t["use"] == kind} for kind in ("rerank", "dense")}
    assert names["rerank"] >= set(SERVICES) - {"openai"}
    assert names["dense"] >= {"openai", "cohere", "jina", "tei"}
    assert ("openai", "chat") in {(name, t["use"]) for name, t in shown}
    styles = {name: t["endpoint"].get("style") for name, t in shown if t["use"] == "rerank"}
    assert (styles["voyage"], styles["tei"]) == ("voyage", "tei")
    assert {styles[name] for name in ("cohere", "jina", "llama")} == {None}


@pytest.mark.parametrize(
    "name",
    [
        "opensearch/vector.json",
        "opensearch/index.json",
        "opensearch/hybrid.json",
        "opensearch/pipeline.json",
        "elasticsearch/hybrid.json",
        "elasticsearch/index.json",
    ],
)
def test_the_files_of_the_examples_are_shown_whole(repository: Path, name: str) -> None:
    shown = [b for b in blocks(repository / PAGES / "opensearch.md") if b.startswith("{")]
    example = json.loads((repository / "examples" / name).read_text(encoding="utf-8"))
    assert example in [json.loads(block) for block in shown]
