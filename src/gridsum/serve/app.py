"""The API and the page's files, as one ASGI application."""

import mimetypes
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from gridsum.automaton.run import SizeError
from gridsum.io.version import __version__
from gridsum.model.store import Model
from gridsum.page.site import file_of, static_files
from gridsum.serve.collection import Asked, Collection, RequestError, Rule, ServedNetwork, Worked
from gridsum.serve.connections import Connections
from gridsum.serve.guard import TOO_LARGE, Access, Guard
from gridsum.serve.limits import LimitError, Limits
from gridsum.serve.metrics import Metrics
from gridsum.serve.schemas import (
    AnswerView,
    AttentionRequest,
    AttentionView,
    CellRequest,
    HeadsView,
    Health,
    LimitView,
    ModelView,
    PathView,
    PlaneView,
    Problem,
    SumRequest,
    TraceView,
)
from gridsum.serve.together import Together
from gridsum.serve.views import (
    answer_view,
    attention_view,
    heads_view,
    limit_views,
    model_view,
    path_view,
    plane_view,
    trace_view,
)
from gridsum.serve.workshop import Closing, GivenUp, GoOn, Workshop
from gridsum.tasks import ExpressionError

UNREADABLE, BUSY, CLIENT_GONE, STOPPING = 422, 429, 499, 503
_Responses = dict[int | str, dict[str, Any]]
_REFUSALS: _Responses = {
    UNREADABLE: {"model": Problem, "description": "the request cannot be met as it stands; the message says why"},
    BUSY: {"model": Problem, "description": "too many requests wait already; try again"},
    STOPPING: {"model": Problem, "description": "the server is being stopped"},
}
_REFUSED_BODIES: _Responses = {
    400: {"model": Problem, "description": "the body is no JSON"},
    TOO_LARGE: {"model": Problem, "description": "a limit of this server is exceeded; the message names it"},
}


def create_app(
    models: Sequence[Model | Rule],
    limits: Limits | None = None,
    workers: int = 4,
    access: Access | None = None,
    connections: Connections | None = None,
) -> FastAPI:
    """The application that serves `models`, rules and networks of one run; the first is the default."""
    limits = limits or Limits()
    collection, workshop, metrics = Collection(models), Workshop(workers, limits.max_waiting), Metrics()
    together = Together(collection.solve)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workshop.close()

    app = FastAPI(
        title="gridsum",
        version=__version__,
        summary="A neural network that does column addition on a grid, and what happens inside while it does.",
        docs_url=None,  # FastAPI's own pages load their scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.workshop = workshop
    app.add_middleware(Guard, most=limits.body, access=access or Access(), metrics=metrics)
    _explain_errors(app)

    def asked(request: SumRequest) -> Asked:
        served = collection.find(request.model)
        terms = served.task.parse(request.expression)
        limits.check_terms(terms)
        limits.check_cells(served.cells(terms))
        wanted = Asked(served.name, terms, request.halting, request.seed, request.placement)
        served.check(wanted)
        return wanted

    def asked_inside(request: SumRequest) -> Asked:
        """Of a network: what it holds in its cells is looked at."""
        name = collection.network(request.model).name
        return asked(request.model_copy(update={"model": name}))

    async def answered(request: Request, make: Callable[[GoOn], BaseModel]) -> Response:
        """What `make` makes, made and written out beside the event loop."""

        def work(go_on: GoOn) -> str:
            go_on()
            return make(go_on).model_dump_json()

        return Response(await workshop.do(work, _gone(request)), media_type="application/json")

    def worked(wanted: Asked, go_on: GoOn) -> Worked:
        """Refused before it begins if the trace could be too large to send."""
        served = collection.find(wanted.model)
        limits.check_trace(served.cells(wanted.terms), served.most_steps(wanted.terms))
        return collection.work(wanted, go_on)

    def served(path: str, view: type[BaseModel], method: str = "POST", **options: Any) -> Callable[..., Any]:
        refusals = _REFUSALS | (_REFUSED_BODIES if method == "POST" else {})
        return app.api_route(path, methods=[method], response_model=view, responses=refusals, tags=["sums"], **options)

    @served("/solve", AnswerView)
    async def solve(body: SumRequest, request: Request) -> Response:
        """The answer to a sum."""
        wanted = asked(body)
        found = collection.at_once(wanted)
        if found is None:
            place = together.join(collection.kind(wanted), wanted)
            try:
                found = await workshop.do(lambda go_on: together.answer(place, go_on), _gone(request), place.told)
            finally:
                together.leave(place)
        return Response(answer_view(*found, wanted.model).model_dump_json(), media_type="application/json")

    @served("/trace", TraceView)
    async def trace(body: SumRequest, request: Request) -> Response:
        """The whole computation of a sum: placement, the grid after every step, halting."""
        wanted = asked(body)

        return await answered(request, lambda go_on: trace_view(worked(wanted, go_on), wanted.model))

    @served("/attention", AttentionView)
    async def attention(body: AttentionRequest, request: Request) -> Response:
        """Where all heads of one cell look in one step, and the four terms of their scores."""
        wanted = asked_inside(body)
        network = collection.network(wanted.model).model.network

        def make(go_on: GoOn) -> AttentionView:
            return attention_view(network, worked(wanted, go_on), body.step, body.row, body.column)

        return await answered(request, make)

    @served("/path", PathView)
    async def path(body: CellRequest, request: Request) -> Response:
        """How one cell moves on the plane of the digits."""
        wanted = asked_inside(body)
        model = collection.network(wanted.model)
        return await answered(request, lambda go_on: path_view(model, worked(wanted, go_on), body.row, body.column))

    @served("/plane", PlaneView, "GET")
    async def plane(request: Request, model: str | None = None) -> Response:
        """Where the vectors that read as digits lie on the plane of their two principal components."""
        chosen = collection.network(model)
        return await answered(request, lambda _: plane_view(chosen))

    @served("/heads", HeadsView, "GET")
    async def heads(request: Request, model: str | None = None) -> Response:
        """What decides where each head of a model looks: its position, its content, or both."""
        chosen = collection.network(model)
        return await answered(request, lambda _: heads_view(chosen))

    @app.get("/models", tags=["server"])
    async def models_() -> list[ModelView]:
        """The models that can be asked; the first is the default."""
        return [model_view(served) for served in collection]

    @app.get("/limits", tags=["server"])
    async def limits_() -> list[LimitView]:
        """What this server allows."""
        return limit_views(limits)

    @app.get("/health", tags=["server"])
    async def health() -> Health:
        """Whether the server answers, and how busy it is."""
        return Health(status="stopping" if workshop.closing else "ok", taken=workshop.taken)

    @app.get("/metrics", include_in_schema=False)
    async def metrics_() -> Response:
        """What is counted, as Prometheus reads it."""
        now, counted = {"requests_taken": workshop.taken}, {}
        if connections is not None:
            now["connections"] = len(connections.open)
            counted = {f"connections_{name}": count for name, count in connections.counts.items()}
        return Response(metrics.text(now, counted), media_type="text/plain; version=0.0.4")

    networks = {file_of(served.name): served for served in collection if isinstance(served, ServedNetwork)}

    @app.get("/models/{file}", include_in_schema=False)
    async def scripts(file: str, request: Request) -> Response:
        """What the page loads of a network; measuring it takes seconds the first time."""
        name, _, part = file.removesuffix(".js").partition(".")
        if name not in networks or part not in ("", "inside") or not file.endswith(".js"):
            raise HTTPException(404, f"there is no file {file!r} of a network here")
        script = await workshop.do(lambda _: networks[name].script(part or "weights"), _gone(request))
        return Response(script, media_type="text/javascript")

    files = static_files([served.model for served in networks.values()], api=True)
    for name, content in files.items():
        address = {"index.html": "", "docs.html": "docs"}.get(name, name)
        app.add_api_route(f"/{address}", _file(name, content), methods=["GET", "HEAD"], include_in_schema=False)
    collection.warm_up()
    return app


def _file(name: str, content: bytes) -> Callable[[], Coroutine[Any, Any, Response]]:
    kind = mimetypes.guess_type(name)[0]

    async def send() -> Response:
        return Response(content, media_type=kind)

    return send


def _gone(request: Request) -> Callable[[], Coroutine[Any, Any, None]]:
    async def wait() -> None:
        # The body has been read: the next message is that the client has gone.
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return wait


def _explain_errors(app: FastAPI) -> None:
    """Every refusal is a `Problem`: one sentence for a person."""

    def refuse(status: int, message: str, limit: str | None = None) -> JSONResponse:
        headers = {"retry-after": "1"} if status in (BUSY, STOPPING) else None
        return JSONResponse(Problem(error=message, limit=limit).model_dump(), status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return refuse(400, f"the body is no JSON: {first['ctx']['error']}")
        where = ".".join(str(part) for part in first["loc"][1:])
        return refuse(UNREADABLE, f"{where}: {first['msg']}" if where else f"the body: {first['msg']}")

    @app.exception_handler(ExpressionError)
    @app.exception_handler(RequestError)
    async def unreadable(_: Request, error: ValueError) -> JSONResponse:
        return refuse(UNREADABLE, str(error))

    @app.exception_handler(SizeError)
    async def too_large(_: Request, error: SizeError) -> JSONResponse:
        return refuse(TOO_LARGE, str(error))

    @app.exception_handler(LimitError)
    async def beyond(_: Request, error: LimitError) -> JSONResponse:
        return refuse(BUSY if error.limit == "max_waiting" else TOO_LARGE, str(error), error.limit)

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse(Problem(error=error.detail).model_dump(), error.status_code, error.headers)

    @app.exception_handler(Closing)
    async def closing(_: Request, _error: Closing) -> JSONResponse:
        return refuse(STOPPING, "the server is being stopped; ask again in a moment")

    @app.exception_handler(GivenUp)
    async def given_up(_: Request, _error: GivenUp) -> Response:
        return Response(status_code=CLIENT_GONE)  # nobody reads it
