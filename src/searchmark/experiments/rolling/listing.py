"""The catalog as its API lists it, page by page."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from searchmark.errors import InputError, SystemFailedError
from searchmark.experiments.rolling.sampling import Listed
from searchmark.experiments.rolling.target import Listing
from searchmark.systems.calling import CalledSystem
from searchmark.systems.http.adapter import HttpSystem
from searchmark.systems.http.paging import PLACES, cursor_of
from searchmark.systems.http.reply import document_of
from searchmark.systems.protocol import Progress
from searchmark.systems.selection import (
    Path,
    compile_path,
    count_at,
    ids_at,
    kind_of,
    outline,
)
from searchmark.systems.template import placeholders_in

MOST_WITHOUT_NEW = 10
"""Pages in a row that may bring nothing new and name another one: some servers filter a page after
they read it, so that one without entries is not the last."""


class Page(NamedTuple):
    """The entries of a page, the cursor of the next one, how many entries there are in all."""

    entries: list[Listed]
    cursor: str | int | None
    total: int | None


@dataclass(frozen=True, slots=True)
class Places:
    """Where a page has its entries, an entry its id, a page the next one's cursor and the total."""

    entries: Path
    id: Path
    cursor: Path | None
    total: Path | None


def places_of(listing: Listing) -> Places:
    """Compile the paths of a listing."""

    def path(expression: str | None, key: str) -> Path | None:
        return None if expression is None else compile_path(expression, f"listing.{key}")

    each = compile_path(f"map(&({listing.id}), @)", "listing.id")
    return Places(
        compile_path(listing.entries, "listing.entries"),
        Path("listing.id", listing.id, each.tree),
        path(listing.cursor, "cursor"),
        path(listing.total, "total"),
    )


def list_entries(
    system: CalledSystem, listing: Listing, most: int, progress: Progress | None = None
) -> Iterator[Listed]:
    """Yield every entry of the catalog; InputError where there are more than `most`.

    Raises SystemFailedError where a page fails within the limits of calls, or pages go in circles.
    """
    places, n = places_of(listing), 0
    for page in _pages(system, listing, places):
        yield from page.entries
        n += len(page.entries)
        if n > most:
            raise InputError(
                f"the catalog has more than {most:,} entries", fix="raise --max-entries"
            )
        if progress is not None:
            progress("listing the catalog", n, max(page.total or n, n))


def _pages(system: CalledSystem, listing: Listing, places: Places) -> Iterator[Page]:
    """Yield pages until one is the last; each request has the place where it begins.

    A cursor that comes back is refused at once, and pages without an entry that none before them
    had after `MOST_WITHOUT_NEW` in a row. Without a cursor the first of them is refused: places are
    counted, and a server that does not know them gives one page again and again.
    """
    n, n_idle, cursor = 0, 0, None
    cursors: set[object] = {None}
    seen: set[str] = set()
    for number in range(listing.max_pages):
        start = {"k": listing.page_size, "offset": n, "page": listing.first_page + number}
        page = system.call(partial(_page, system, places, {**start, "cursor": cursor}))
        ids = {entry.doc_id for entry in page.entries}
        n, cursor = n + len(page.entries), page.cursor
        n_idle = n_idle + 1 if ids <= seen else 0
        if _is_last(page, n, places, listing):
            yield page
            return
        is_back = cursor in cursors if cursor is not None else n_idle > 0
        if is_back or n_idle >= MOST_WITHOUT_NEW:
            raise SystemFailedError(_endless(number + 1, is_back=is_back))
        yield page
        cursors.add(cursor)
        seen |= ids
    raise SystemFailedError(
        f"the listing goes on after {listing.max_pages:,} pages (max_pages) with {n:,} entries; "
        "raise page_size or max_pages under [listing]"
    )


def _endless(number: int, *, is_back: bool) -> str:
    """Say why pages would not end."""
    what = f"page {number} of the listing leads back to one before it"
    if not is_back:
        first = number - MOST_WITHOUT_NEW + 1
        what = (
            f"pages {first} to {number} of the listing bring no new entry, and name another page "
            "to follow"
        )
    parameter = "the parameter that holds {offset}, {page} or {cursor}"
    return f"{what}; does the server know {parameter}?"


def _is_last(page: Page, n: int, places: Places, listing: Listing) -> bool:
    if places.cursor is not None:
        return page.cursor is None
    is_all = page.total is not None and n >= page.total
    request = [listing.url, listing.params, listing.body]
    return not page.entries or is_all or not placeholders_in(request) & set(PLACES)


def _page(system: CalledSystem, places: Places, values: dict[str, object]) -> Page:
    """Ask for one page, once."""
    inner = system.inner
    assert isinstance(inner, HttpSystem)  # a target makes no other
    request = inner.request.compose(values)
    reply = inner.wire.send(request, inner.wire.end())
    document = document_of(reply, request.shown, inner.wire.secrets)
    try:
        return _read(document, places)
    except SystemFailedError as error:
        raise SystemFailedError(f"{request.shown}: {error}") from error


def _read(document: Any, places: Places) -> Page:
    documents = places.entries.find_results(document)
    if not isinstance(documents, list):
        found = outline(document) if documents is None else f"there is {kind_of(documents)}"
        raise SystemFailedError(f"the answer has no list at {places.entries.shown}; {found}")
    ids = ids_at(documents, places.id)
    return Page(
        [Listed(*pair) for pair in zip(ids, documents, strict=True)],
        None if places.cursor is None else cursor_of(places.cursor.find(document)),
        None if places.total is None else count_at(document, places.total),
    )
