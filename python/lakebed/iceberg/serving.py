"""A REST catalog that plans: what clients need to read the tables of a catalog of PyIceberg's."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

import lakebed
from lakebed import _native
from lakebed._source import resolve_source
from lakebed.catalogs import asked
from lakebed.errors import LakebedError, TableNotFoundError
from lakebed.iceberg.answers import error_answer, error_model
from lakebed.iceberg.requests import refused
from lakebed.iceberg.submitted import SubmittedPlans
from lakebed.limits import LIMITS

if TYPE_CHECKING:
    from starlette.requests import Request

    from lakebed.iceberg.planning import Planner
    from lakebed.table import Table

_NAMESPACE = "/v1/namespaces/{namespace}"
_TABLE = f"{_NAMESPACE}/tables/{{table}}"
_MODE = {"scan-planning-mode": "server"}
_MOST_BODY = 16 << 20
# Between the parts of a namespace's name in a path, unless a client was told another.
_SEPARATOR = "\x1f"


class _NoNamespaceError(LookupError):
    """The catalog has no such namespace."""


@dataclass
class _Service:
    """What answers requests, in threads.

    Attributes: catalog, of PyIceberg's; submitted, plans; open_table, opens what it loaded; wait [s], before
        a plan is said to be submitted; fetching, how many parts are made at a time; turn, of calls of the
        catalog, which need not be safe in threads.
    """

    catalog: Any
    submitted: SubmittedPlans
    open_table: Callable[[Any], Table]
    wait: float
    fetching: CapacityLimiter
    turn: threading.Lock = field(default_factory=threading.Lock)

    def config(self, _request: Request, _body: Any) -> str:
        paths = [(method, route.path) for route in self.routes() for method in sorted(route.methods or ())]
        endpoints = [
            f"{method} {path.replace('/v1/', '/v1/{prefix}/')}".replace("{plan_id}", "{plan-id}")
            for method, path in paths
            if path != "/v1/config" and (method != "HEAD" or path in (_NAMESPACE, _TABLE))
        ]
        return json.dumps({"defaults": _MODE, "overrides": {}, "endpoints": endpoints})

    def namespaces(self, request: Request, _body: Any) -> str:
        parent = request.query_params.get("parent", "")
        within = tuple(parent.split(_SEPARATOR)) if parent else ()
        found = self._of_namespace(within, lambda: self.catalog.list_namespaces(within))
        # Some give a namespace's own name where it has none within it.
        names = [list(name) for name in found if len(name) > len(within)]
        return json.dumps({"namespaces": names})

    def namespace(self, request: Request, _body: Any) -> str:
        name = _namespace(request)
        properties = self._of_namespace(name, lambda: self.catalog.load_namespace_properties(name))
        return json.dumps({"namespace": list(name), "properties": dict(properties)})

    def tables(self, request: Request, _body: Any) -> str:
        name = _namespace(request)
        found = self._of_namespace(name, lambda: self.catalog.list_tables(name))
        tables = [{"namespace": list(one[:-1]), "name": one[-1]} for one in found]
        return json.dumps({"identifiers": tables})

    def table(self, request: Request, _body: Any) -> str:
        table = self._loaded(request)
        with table.io.new_input(table.metadata_location).open() as file:
            text = _native.iceberg_read_metadata(resolve_source(file.read()), LIMITS)
        head = json.dumps({"metadata-location": table.metadata_location, "config": _MODE})
        return f'{head[:-1]}, "metadata": {text}}}'

    def plan(self, request: Request, body: Any) -> str:
        return self.submitted.plan(self._opened(request), body, self.wait)

    def fetch(self, request: Request, body: Any) -> str:
        return self.submitted.planner.fetch_text(self._opened(request), body)

    def poll(self, request: Request, _body: Any) -> str:
        return self.submitted.poll(self._opened(request), request.path_params["plan_id"])

    def cancel(self, request: Request, _body: Any) -> None:
        self.submitted.cancel(self._opened(request), request.path_params["plan_id"])

    def routes(self) -> list[Route]:
        """What is answered."""
        plan = f"{_TABLE}/plan"
        return [
            Route("/v1/config", _answering(self.config), methods=["GET"]),
            Route("/v1/namespaces", _answering(self.namespaces), methods=["GET"]),
            Route(_NAMESPACE, _answering(self.namespace), methods=["GET"]),
            Route(f"{_NAMESPACE}/tables", _answering(self.tables), methods=["GET"]),
            Route(_TABLE, _answering(self.table), methods=["GET"]),
            Route(plan, _answering(self.plan), methods=["POST"]),
            Route(f"{plan}/{{plan_id}}", _answering(self.poll), methods=["GET"]),
            Route(f"{plan}/{{plan_id}}", _answering(self.cancel), methods=["DELETE"]),
            Route(f"{_TABLE}/tasks", _answering(self.fetch, self.fetching), methods=["POST"]),
        ]

    def _opened(self, request: Request) -> Table:
        return self.open_table(self._loaded(request))

    def _loaded(self, request: Request) -> Any:
        name = (*_namespace(request), request.path_params["table"])
        with self.turn:
            return asked(".".join(name), lambda: self.catalog.load_table(name), self.catalog)

    def _of_namespace(self, name: tuple[str, ...], ask: Callable[[], Any]) -> Any:
        with self.turn:
            try:
                return asked(".".join(name), ask, self.catalog)
            except TableNotFoundError as error:
                raise _NoNamespaceError(f"the catalog has no namespace {'.'.join(name)}") from error


def app(
    catalog: Any,
    planner: Planner,
    *,
    open_table: Callable[[Any], Table] = lakebed.open_table,
    workers: int = 2,
    wait: float = 10,
    most: int = 100,
    max_age: timedelta = timedelta(minutes=10),
) -> Starlette:
    """An application of ASGI in front of a catalog: a REST catalog of Iceberg's that reads and plans.

    It answers `GET /v1/config`, namespaces and tables, and the four calls of planning. Clients are told
    `scan-planning-mode=server`. All else (what creates, commits and drops, views, credentials) is refused
    with status 406. It asks nobody who they are, and gives no credentials to read files with: whoever runs it
    puts what does so in front.

    Args:
        catalog: of PyIceberg's, with `list_namespaces`, `load_namespace_properties`, `list_tables` and
            `load_table`.
        planner: makes the plans.
        open_table: opens a table that the catalog loaded: `functools.partial(lakebed.open_table, keys=…)`
            where keys or limits are needed.
        workers: threads that plan, and parts that are made at a time.
        wait: how long a plan may take before the client is told to ask for it later [s]; 0 has all do so.
        most: plans that are kept until they are fetched.
        max_age: after which a plan that nobody fetched is dropped.
    Returns: what servers of ASGI run, uvicorn for instance; its threads end when that shuts it down.
    Raises: ValueError, TypeError.
    Source: Iceberg's REST catalog specification; Iceberg's `RESTCatalogAdapter.java`.

    >>> app = lakebed.iceberg.serving.app(load_catalog("prod"), lakebed.iceberg.Planner(secret))
    """
    submitted = SubmittedPlans(planner, workers=workers, most=most, max_age=max_age)
    service = _Service(catalog, submitted, open_table, wait, CapacityLimiter(workers))

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await to_thread.run_sync(submitted.close)

    handlers: dict[Any, Any] = {404: _refuse, 405: _refuse, Exception: _broken}
    return Starlette(routes=service.routes(), exception_handlers=handlers, lifespan=lifespan)


def _answering(
    answer: Callable[[Request, Any], str | None], limiter: CapacityLimiter | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that answers with JSON, made in a thread, or with the error that making it raised."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await _body(request) if request.method == "POST" else None
            text = await to_thread.run_sync(answer, request, body, limiter=limiter)
        except _NoNamespaceError as error:
            return _json(404, error_model(404, "NoSuchNamespaceException", str(error)))
        except (LakebedError, OSError) as error:
            return _json(*error_answer(error))
        if text is None:
            return Response(status_code=204)
        return Response(text, media_type="application/json")

    return endpoint


async def _body(request: Request) -> Any:
    """What the body is as JSON. Raises: PlanRequestError."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BODY:
            raise refused(f"a request has {_MOST_BODY} bytes at most")
    try:
        return json.loads(bytes(body))
    except (ValueError, RecursionError) as error:
        raise refused(f"a request is an object in JSON: {error}") from error


def _namespace(request: Request) -> tuple[str, ...]:
    return tuple(request.path_params["namespace"].split(_SEPARATOR))


def _json(status: int, body: dict[str, Any]) -> Response:
    return Response(json.dumps(body), status, media_type="application/json")


async def _refuse(request: Request, _error: Exception) -> Response:
    message = f"this catalog reads and plans alone: it has no {request.method} {request.url.path}"
    return _json(406, error_model(406, "UnsupportedOperationException", message))


async def _broken(_request: Request, error: Exception) -> Response:
    # Whose text may be of any library, and hold anything; the server's log has it.
    message = f"the server failed: {type(error).__name__}"
    return _json(500, error_model(500, "ServiceFailureException", message))
