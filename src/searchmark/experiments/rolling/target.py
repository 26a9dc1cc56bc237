"""Which API is asked, and how: an address of the discovery API, or a file that describes one."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from searchmark.data.files import read_bytes
from searchmark.errors import InputError, Problem, ProjectError
from searchmark.experiments.rolling.texts import USUAL
from searchmark.project.decode import decode_table
from searchmark.project.entries import decode_systems
from searchmark.systems.http.access import Access
from searchmark.systems.http.config import Config, settle
from searchmark.systems.http.paging import PLACES
from searchmark.systems.protocol import Entry
from searchmark.systems.selection import path_problem
from searchmark.systems.template import placeholders_in, template_problem, texts_in

SEARCH, LISTING = "search", "listing"

ERROR_SHARE = 0.1
"""The share of queries that may fail before nothing is recorded, unless the file says otherwise."""

MOST_PAGES = 10_000
"""The pages of a listing, unless the file says otherwise; an error where it goes on after them."""

PLACEHOLDERS = ("k", *PLACES)

_ADDRESS = re.compile(r"https?://|\$\{")
_KIND = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class Listing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of ``[listing]``: the request for a page, where it has its entries and each its id.

    Credentials, certificates and limits are those of ``[search]``.
    """

    url: str
    entries: str
    id: str
    method: str = "GET"
    params: dict[str, Any] = {}
    body: dict[str, Any] | None = None
    cursor: str | None = None
    total: str | None = None
    page_size: int = 100
    first_page: int = 1
    max_pages: int = MOST_PAGES


class TargetFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of the file: ``[search]`` is a system of ``use = "http"``."""

    search: dict[str, Any]
    listing: Listing | None = None
    texts: dict[str, str] = msgspec.field(default_factory=lambda: dict(USUAL))


@dataclass(frozen=True, slots=True)
class Target:
    """A live catalog. `name` is the address as it was given, with no value of the environment."""

    name: str
    search: Entry
    listing: Listing
    texts: Mapping[str, str]
    folder: Path

    def entries(self) -> dict[str, Entry]:
        """Return the search and the listing as systems of the kind `http`."""
        listing = Entry(LISTING, "http", self._listing(), self.search.calls)
        return {SEARCH: self.search, LISTING: listing}

    def _listing(self) -> Config:
        """Return the configuration of the listing, with what its server needs to let it in."""
        config: Any = self.search.config
        given = settle(config).config
        kept = {*Access.__struct_fields__, "api_key_header", "redirects"} - {"headers"}
        return Config(
            url=self.listing.url,
            method=self.listing.method,
            params=self.listing.params,
            body=self.listing.body,
            headers={n: t for n, t in given.headers.items() if not placeholders_in(t)},
            ids=self.listing.entries,
            **{name: getattr(given, name) for name in kept},
        )


def read_target(given: str, *, bearer: str | None = None, limits: Mapping[str, Any]) -> Target:
    """Return what an address or the path of a file stands for; every problem told at once.

    `limits` are keys of calls, such as `timeout_s`, that come before those of the file.
    """
    if _ADDRESS.match(given):
        search: dict[str, Any] = {"preset": "searchmark", "base": given}
        if bearer is not None:
            search["bearer"] = bearer
        try:
            return _target(TargetFile(search=search), given, Path(), limits, [])
        except ProjectError as error:
            told = "; ".join(f"{p.key.rpartition('.')[2]} {p.message}" for p in error.problems)
            raise InputError(f"this address cannot be asked: {told}") from None
    path = Path(given)
    if bearer is not None:
        raise InputError("--bearer goes with an address", fix="write bearer into [search]")
    problems: list[Problem] = []
    file = decode_table(_read_toml(path), TargetFile, "", problems)
    if file is None:
        raise ProjectError(path, problems)
    return _target(file, str(path), path.parent, limits, problems)


def with_texts(target: Target, given: Mapping[str, str]) -> Target:
    """Return the target with these kinds of query in the place of its own, where there are any."""
    if not given:
        return target
    if problems := _text_problems(given):
        raise InputError(f"--text: {problems[0].message}")
    return replace(target, texts=dict(given))


def _target(
    file: TargetFile,
    name: str,
    folder: Path,
    limits: Mapping[str, Any],
    problems: list[Problem],
) -> Target:
    # partial answers are measured apart, so that any share of them is a measurement
    shares = {"max_error_share": ERROR_SHARE, "max_partial_share": 1.0}
    table = {**shares, **file.search, **limits, "use": "http"}
    found: list[Problem] = []
    entry = decode_systems({SEARCH: table}, found)[SEARCH]
    problems += [p._replace(key=p.key.removeprefix("systems.")) for p in found]
    problems += _text_problems(file.texts)
    listing = file.listing or _usual_listing(file.search)
    if listing is None:
        problems.append(Problem(LISTING, "is missing: how the entries of the catalog are listed"))
    elif file.listing is not None:
        problems += _listing_problems(file.listing)
    if problems or listing is None:
        raise ProjectError(name, problems)
    base = file.search.get("base") or file.search.get("url")
    return Target(str(base), entry, listing, file.texts, folder)


def _usual_listing(search: Mapping[str, Any]) -> Listing | None:
    """Return how the discovery API lists its entries; None where another API is asked."""
    base = search.get("base")
    if search.get("preset") != "searchmark" or not isinstance(base, str):
        return None
    return Listing(
        url=base.rstrip("/") + "/discovery/resources",
        params={"limit": "{k}", "cursor": "{cursor}"},
        entries="resources",
        id="resource",
        cursor="nextCursor",
        total="total",
    )


def _listing_problems(listing: Listing) -> list[Problem]:
    found = []
    for key in ("entries", "id", "cursor", "total"):
        expression = getattr(listing, key)
        if expression is not None and (told := path_problem(expression)) is not None:
            found.append(Problem(f"{LISTING}.{key}", told))
    request = [listing.url, listing.params, listing.body]
    for key, value in zip(("url", "params", "body"), request, strict=True):
        for _, text in texts_in(value):
            if (told := template_problem(text, PLACEHOLDERS)) is not None:
                found.append(Problem(f"{LISTING}.{key}", told))
    if ("cursor" in placeholders_in(request)) != (listing.cursor is not None):
        told = "the request needs {cursor}, and the key says where the answer has it"
        found.append(Problem(f"{LISTING}.cursor", told))
    if not 1 <= listing.page_size <= 10_000:
        found.append(Problem(f"{LISTING}.page_size", "is not from 1 to 10,000"))
    if not 1 <= listing.max_pages <= 1_000_000:
        found.append(Problem(f"{LISTING}.max_pages", "is not from 1 to 1,000,000"))
    return found


def _text_problems(texts: Mapping[str, str]) -> list[Problem]:
    found = []
    for kind, expression in texts.items():
        if _KIND.fullmatch(kind) is None:
            told = f"'{kind}' is no name; use small letters, digits, '-' and '_'"
            found.append(Problem(f"texts.{kind}", told))
        elif (wrong := path_problem(expression)) is not None:
            found.append(Problem(f"texts.{kind}", wrong))
    return found or ([] if texts else [Problem("texts", "holds no kind of query")])


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"not valid TOML ({error})", path=path, fix="mend it") from error
