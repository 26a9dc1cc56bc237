"""The routes of the service and its OpenAPI document."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from searchmark.errors import InputError, OutsideError, described, nearest
from searchmark.version import __version__
from searchmark.web import answers, shapes
from searchmark.web.access import Admission
from searchmark.web.front import KNOWN
from searchmark.web.limits import Limits
from searchmark.web.outage import Outage
from searchmark.web.parameters import (
    Parameter,
    cursor_parameter,
    limit_parameter,
    read_parameters,
    text_parameter,
)
from searchmark.web.refusal import Refused
from searchmark.web.served import Served
from searchmark.web.threads import Threads

if TYPE_CHECKING:
    from concurrent.futures import Future

_log = logging.getLogger(__name__)

PATHS = ("/discovery/search", "/discovery/resources", "/health", "/openapi.json")

FAULTS = {
    400: "A parameter is unknown, given twice, missing or has a value that cannot be.",
    401: "The request does not send the token of this service.",
    404: "The cursor names no page: it was given for another request or by another service.",
    409: "The cursor continues a ranking that cannot be made at present.",
    413: "The request has a body that is too long; none is needed.",
    414: "The address is too long.",
    421: "The request is for another host than this one, or names none.",
    429: "More requests than are answered; Retry-After says when to ask again.",
    503: "The catalog cannot be asked at present, or took too long.",
}
TOLD_EVERY_S = 5.0
"""An outage is told in the log so often, not for every request."""

RETRIED = (409, 429, 503)

SEARCH = (400, 404, 409, 413, 414, 429, 503)
LISTING = (400, 404, 413, 414, 429, 503)
HEALTH = (400, 413, 414, 429, 503)

TOKEN = {"token": {"type": "http", "scheme": "bearer"}}
"""How the OpenAPI document tells that a token is needed."""

Answering = Callable[..., dict[str, Any]]


def build_app(
    served: Served, limits: Limits, *, key: bytes | None = None, access: Admission | None = None
) -> FastAPI:
    """Return the application; `key` signs cursors, a new one where none is given.

    Who may ask is checked before, and only told here.
    """
    app = FastAPI(
        title="Searchmark discovery",
        version=__version__,
        description=f"Searches the catalog by '{served.name}'.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    asker = Asker(served, limits, answers.Pages(limits, key or secrets.token_bytes(32)))
    _add_routes(app, asker, access or Admission())
    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(HTTPException, unknown)
    app.state.asker = asker
    return app


class Asker:
    """Answers requests in a bounded number of threads, each within the time limit."""

    def __init__(self, served: Served, limits: Limits, pages: answers.Pages) -> None:
        self.served, self.limits, self.pages = served, limits, pages
        self.threads = Threads(limits.threads, "search")
        self.outage = Outage()
        self._n_stuck, self._counting = 0, Lock()
        self._told_at = -TOLD_EVERY_S

    def searched(self) -> tuple[Parameter, ...]:
        """Return the parameters of a search."""
        query = text_parameter(
            "query", "What is searched for.", self.limits.query_chars, is_required=True
        )
        type_ = [p for p in self.served.filters if p.name == "type"]
        return (query, limit_parameter(self.limits), cursor_parameter(self.limits), *type_)

    def listed(self) -> tuple[Parameter, ...]:
        """Return the parameters of a listing."""
        page = (limit_parameter(self.limits), cursor_parameter(self.limits))
        return (*page, *self.served.filters)

    async def answer(
        self, request: Request, known: Sequence[Parameter], answering: Answering
    ) -> Response:
        """Return the answer of `answering`; what is wrong is raised as Refused."""
        values = read_parameters(request.scope["query_string"], known)
        if known:
            return await self.made(lambda: answering(self.served, values, known, self.pages))
        return await self.made(lambda: answering(self.served))

    async def made(self, call: Callable[[], dict[str, Any]]) -> Response:
        """Make an answer in a thread."""
        if self._n_stuck >= self.limits.threads:
            raise Refused(503, "no search that runs comes to an end; try again", after_s=1)
        future = self.threads.submit(lambda: answers.as_json(self.outage.call(call)))
        try:
            body = await asyncio.wait_for(asyncio.wrap_future(future), self.limits.time_s)
        except TimeoutError:
            self._give_up(future)
            raise Refused(503, f"no answer within {self.limits.time_s:g} s", after_s=1) from None
        except Refused:
            raise
        except Exception as error:
            raise self.told(error) from error
        return Response(body, media_type="application/json")

    def _give_up(self, future: "Future[bytes]") -> None:
        """Count a thread that goes on with what nobody waits for, until it ends."""
        if future.cancel():
            return  # it had not begun
        with self._counting:
            self._n_stuck += 1
        future.add_done_callback(self._freed)

    def _freed(self, future: "Future[bytes]") -> None:
        with self._counting:
            self._n_stuck -= 1

    def told(self, error: Exception) -> Refused:
        """Return the answer to what went wrong."""
        if isinstance(error, InputError):
            return Refused(400, str(error))
        if isinstance(error, OutsideError):
            if monotonic() - self._told_at > TOLD_EVERY_S:
                self._told_at = monotonic()
                _log.warning("the catalog cannot be asked: %s", error)
            return Refused(503, "the catalog cannot be asked at present; try again", after_s=1)
        _log.error("a request failed: %s", described(error), exc_info=error)
        return Refused(500, "a fault of the service, which its log tells")


async def refused(request: Request, error: Exception) -> Response:
    """Answer with a status and one sentence."""
    assert isinstance(error, Refused)
    body = answers.as_json({"error": error.sentence})
    return Response(body, error.status, dict(error.headers), "application/json")


async def unknown(request: Request, error: Exception) -> Response:
    """Answer a path that is not there, and a method that a path does not know."""
    assert isinstance(error, HTTPException)
    path = request.url.path[:60]
    if error.status_code == 404:
        sentence = f"there is nothing at this address; {nearest(path, PATHS)}"
    elif error.status_code == 405:
        sentence = f"the method {request.method[:20]} is not answered here; use GET"
    else:
        sentence = str(error.detail)
    body = answers.as_json({"error": sentence})
    return Response(body, error.status_code, dict(error.headers or {}), "application/json")


def _add_routes(app: FastAPI, asker: Asker, access: Admission) -> None:
    search, listing = asker.searched(), asker.listed()
    needs_token, refusals = access.token is not None, access.statuses

    @app.get(
        "/discovery/search",
        operation_id="search",
        summary="Search the catalog",
        responses=_responses(shapes.SearchPage, *SEARCH, *refusals),
        openapi_extra={"parameters": [p.document for p in search]},
    )
    async def discovery_search(request: Request) -> Response:
        return await asker.answer(request, search, answers.search)

    @app.get(
        "/discovery/resources",
        operation_id="resources",
        summary="List the catalog",
        responses=_responses(shapes.ResourcePage, *LISTING, *refusals),
        openapi_extra={"parameters": [p.document for p in listing]},
    )
    async def discovery_resources(request: Request) -> Response:
        return await asker.answer(request, listing, answers.resources)

    @app.get(
        "/health",
        operation_id="health",
        summary="How the service is",
        responses=_responses(shapes.HealthReport, *HEALTH, *refusals),
        openapi_extra={"security": [{}, {"token": []}]} if needs_token else {},
    )
    async def health(request: Request) -> Response:
        whole = request.scope.get(KNOWN, True)
        return await asker.answer(request, (), answers.health if whole else answers.health_in_short)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        read_parameters(request.scope["query_string"], ())
        told = document(app, needs_token=needs_token)
        return Response(answers.as_json(told), media_type="application/json")


def document(app: FastAPI, *, needs_token: bool) -> dict[str, Any]:
    """Return the OpenAPI document."""
    if app.openapi_schema is None:
        app.openapi_schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
        )
        if needs_token:
            app.openapi_schema["components"]["securitySchemes"] = TOKEN
            app.openapi_schema["security"] = [{"token": []}]
    return app.openapi_schema


def _responses(shape: type, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what is answered, for the OpenAPI document."""
    found: dict[int | str, dict[str, Any]] = {200: {"model": shape, "description": "Found."}}
    for status in statuses:
        found[status] = {"model": shapes.ErrorReport, "description": FAULTS[status]}
        if status in RETRIED:
            schema = {"type": "integer", "minimum": 1}
            found[status]["headers"] = {
                "Retry-After": {"description": "Seconds to wait.", "schema": schema}
            }
    return found
