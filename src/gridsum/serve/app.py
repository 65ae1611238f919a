"""The API and the page's files, as one ASGI application."""

import json
import mimetypes
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from starlette.exceptions import HTTPException

from gridsum.api.models import Model
from gridsum.api.networks import PaperModel
from gridsum.api.options import ModelError, SolveOptions
from gridsum.io.limits import TooLargeError
from gridsum.io.version import __version__
from gridsum.model.inference import UnsoundError
from gridsum.page.site import file_of, script, static_files
from gridsum.serve.connections import Connections
from gridsum.serve.guard import Access, Guard
from gridsum.serve.limits import LimitError, Limits, meanings
from gridsum.serve.scheduler import GoOn, Scheduler, Work
from gridsum.serve.schemas import AnswerView, Health, LimitView, ModelView, Problem, SumRequest, TraceView
from gridsum.tasks import ExpressionError

# Cells of a grid up to which a sum is a short one.
_SHORT = 200
_UNREADABLE, _TOO_LARGE, _BUSY = 422, 413, 429
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "the body is not JSON"},
    _TOO_LARGE: {"model": Problem, "description": "a limit of this server is exceeded; the message names it"},
    _UNREADABLE: {"model": Problem, "description": "the request cannot be met as it stands; the message says why"},
    _BUSY: {"model": Problem, "description": "too many requests wait already; try again"},
    503: {"model": Problem, "description": "the server is being stopped"},
}


def create_app(models: Sequence[Model], limits: Limits | None = None, access: Access | None = None) -> FastAPI:
    """The application that serves `models`; the first is the default."""
    limits, registry = limits or Limits(), CollectorRegistry()
    by_name, scheduler = {model.name: model for model in models}, Scheduler(limits.workers, limits.max_waiting)
    Gauge("gridsum_requests_taken", "Being worked on, or waiting", registry=registry).set_function(
        lambda: scheduler.taken
    )
    app = FastAPI(
        title="gridsum",
        version=__version__,
        summary="A neural network that does column addition on a grid, and what happens inside while it does.",
        docs_url=None,  # FastAPI's own pages load their scripts from elsewhere
        redoc_url=None,
    )
    app.state.scheduler, app.state.connections = scheduler, Connections(limits, registry)
    app.add_middleware(Guard, most=limits.body, access=access or Access(), registry=registry)
    _explain_errors(app)

    def read(asked: SumRequest) -> tuple[Model, tuple[str, ...], SolveOptions, int]:
        """Who answers what, how, on how many cells; refused before any work is done."""
        if asked.model is not None and asked.model not in by_name:
            raise ModelError(f"unknown model {asked.model!r}; the models are: {', '.join(by_name)}")
        model = models[0] if asked.model is None else by_name[asked.model]
        terms, options = model.read(asked.expression), SolveOptions(asked.halting, asked.placement, asked.seed)
        limits.check_terms(terms)
        height, width = model.size(terms)
        limits.check_cells(height * width)
        model.check(options)
        return model, terms, options, height * width

    async def scheduled(request: Request, work: Work, **how: Any) -> Any:
        return await scheduler.do(request.client.host if request.client else "", work, **how)

    @app.post("/solve", response_model=AnswerView, responses=_REFUSALS, tags=["sums"])
    async def solve(asked: SumRequest, request: Request) -> Response:
        """The answer to a sum."""
        model, terms, options, cells = read(asked)

        def work(batch: Sequence[tuple[str, ...]], go_on: GoOn) -> list[str]:
            began = time.perf_counter()
            answers = list(model.answers(batch, options, go_on))
            return [_timed(answer.described(model.name), began) for answer in answers]

        if model.has_rule and cells <= _SHORT:  # it takes a millisecond or two, so it need not wait
            return _json(work([terms], lambda: None)[0])
        alike = (model.name, len(terms), max(map(len, terms)), options) if cells <= _SHORT else None
        return _json(await scheduled(request, work, asked=terms, kind=alike))

    @app.post("/trace", response_model=TraceView, responses=_REFUSALS, tags=["sums"])
    async def trace(asked: SumRequest, request: Request) -> Response:
        """The whole computation of a sum: placement, the grid after every step, halting."""
        model, terms, options, cells = read(asked)

        def work(_: Any, go_on: GoOn) -> list[str]:
            limits.check_trace(cells, model.most_steps(terms))
            began = time.perf_counter()
            return [_timed(model.traced(terms, options, between=go_on).to_dict(), began)]

        return _json(await scheduled(request, work))

    @app.get("/models", tags=["server"])
    async def models_() -> list[ModelView]:
        """The models that can be asked; the first is the default."""
        return [ModelView(**model.about, halting_rules=model.halting_rules) for model in models]

    @app.get("/limits", tags=["server"])
    async def limits_() -> list[LimitView]:
        """What this server allows."""
        return [LimitView(name=name, most=getattr(limits, name), meaning=told) for name, told in meanings().items()]

    @app.get("/health", tags=["server"])
    async def health() -> Health:
        """Whether the server answers, and how busy it is."""
        return Health(taken=scheduler.taken)

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        """What is counted, as Prometheus reads it."""
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    networks = {file_of(model.name): model for model in models if isinstance(model, PaperModel)}
    made = cache(script)

    @app.get("/models/{file}", include_in_schema=False)
    async def scripts(file: str, request: Request) -> Response:
        """What the page loads of a network; measuring it takes seconds the first time."""
        name, _, part = file.removesuffix(".js").partition(".")
        if name not in networks or part not in ("", "inside") or not file.endswith(".js"):
            raise HTTPException(404, f"there is no file {file!r} of a network here")
        model = networks[name].runs
        content = await scheduled(request, lambda batch, _: [made(model, part)] * len(batch), kind=file)
        return Response(content, media_type="text/javascript")

    for name, content in static_files([model.runs for model in networks.values()], api=True).items():
        address = {"index.html": "", "docs.html": "docs"}.get(name, name)
        app.add_api_route(f"/{address}", _file(name, content), methods=["GET", "HEAD"], include_in_schema=False)
    return app


def _timed(told: dict[str, Any], began: float) -> str:
    return json.dumps(told | {"milliseconds": round(1000 * (time.perf_counter() - began), 1)})


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")


def _file(name: str, content: bytes) -> Callable[[], Coroutine[Any, Any, Response]]:
    kind = mimetypes.guess_type(name)[0]

    async def send() -> Response:
        return Response(content, media_type=kind)

    return send


def _explain_errors(app: FastAPI) -> None:
    """Every refusal is a `Problem`: one sentence for a person."""

    def refuse(status: int, message: str, limit: str | None = None, headers: Any = None) -> JSONResponse:
        return JSONResponse(Problem(error=message, limit=limit).model_dump(), status, headers)

    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return refuse(400, f"the body is not JSON: {first['ctx']['error']}")
        where = ".".join(str(part) for part in first["loc"][1:])
        return refuse(_UNREADABLE, f"{where or 'the body'}: {first['msg']}")

    async def unreadable(_: Request, error: Exception) -> JSONResponse:
        return refuse(_UNREADABLE, str(error))

    async def beyond(_: Request, error: Exception) -> JSONResponse:
        limit = getattr(error, "limit", None)
        busy = limit == "max_waiting"
        return refuse(_BUSY if busy else _TOO_LARGE, str(error), limit, {"retry-after": "1"} if busy else None)

    async def http(_: Request, error: HTTPException) -> JSONResponse:
        return refuse(error.status_code, error.detail, headers=error.headers)

    handlers: dict[type[Exception], Any] = {RequestValidationError: invalid, HTTPException: http}
    handlers |= dict.fromkeys((ExpressionError, ModelError, UnsoundError), unreadable)
    handlers |= dict.fromkeys((LimitError, TooLargeError), beyond)
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
