"""Two searches of one's own: a function, and a class with a life."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus.jsonl")


def search(query: str, k: int) -> list[tuple[str, float]]:
    """Return the documents that share words with the query, most words first."""
    asked = words(query)
    found = [(doc_id, float(len(asked & words(text)))) for doc_id, text in documents()]
    found = [(doc_id, score) for doc_id, score in found if score]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]


class Titles:
    """Looks in titles only, and is async, as clients of servers are."""

    def __init__(self) -> None:
        self.titles = {doc_id: words(text.split(".")[0]) for doc_id, text in documents()}

    async def __call__(self, query: str, k: int) -> list[str]:
        """Return the ids of the documents whose title has a word of the query."""
        await asyncio.sleep(0)  # here a client would wait for its server
        asked = words(query)
        return [doc_id for doc_id, title in self.titles.items() if asked & title][:k]

    def close(self) -> None:
        """Let go of what was held."""
        self.titles.clear()


def documents() -> Iterator[tuple[str, str]]:
    """Yield each document's id and text."""
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        yield document["_id"], f"{document['title']}. {document['text']}"


def words(text: str) -> set[str]:
    """Return the words of a text."""
    return set(re.findall(r"\w+", text.casefold()))
