"""The API, what it takes and gives, and the page's files, as one ASGI application."""

import math
import mimetypes
import time
from collections.abc import Sequence
from functools import cache, partial
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Route

from gridsum.api.models import Between, Model, ModelError, PaperModel
from gridsum.config.paper import ConfigError
from gridsum.data.answers import HaltingRule, PlacementRule, SolveOptions
from gridsum.io.limits import TooLargeError
from gridsum.io.version import __version__
from gridsum.model.inference import UnsoundError
from gridsum.page.data import network_script
from gridsum.page.site import PARTS, file_of, static_files
from gridsum.serve.guard import guarded
from gridsum.serve.workers import Workers
from gridsum.tasks import ExpressionError

# Cells of a grid up to which a sum is a short one.
_SHORT = 200
_SUM = r"^\s*[0-9]+\s*(\+\s*[0-9]+\s*)*(=\s*)?$"
"""A sum of the models that come with gridsum; another model reads those of its own task."""


class Closed(BaseModel, extra="forbid"):
    """Misspelt fields are an error."""


class SumRequest(Closed):
    """A sum, and how to work it out."""

    # The pattern is told, not enforced: parsing explains what is wrong in words.
    expression: str = Field(examples=["523+102+9416"], json_schema_extra={"pattern": _SUM})
    model: Annotated[str | None, Field(description="a name from GET /models; the first one if left out")] = None
    halting: Annotated[HaltingRule | None, Field(description="when to stop; the model's own rule if left out")] = None
    placement: Annotated[PlacementRule, Field(description="how the symbols get onto the grid")] = "auto"
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63, description="random seed for sampled halting")] = 0


class Problem(Closed):
    """Why a request was refused."""

    error: str


class ModelView(Closed):
    """A model that can be asked."""

    name: str
    variant: str
    seed: int
    parameters: int
    epochs: int


class Health(Closed):
    """The server answers; how busy it is."""

    status: str = "ok"
    taken: Annotated[int, Field(description="long requests being worked on or waiting")]


class AnswerView(Closed):
    """What the network said."""

    expression: str
    answer: Annotated[str, Field(description="the network's answer, right or wrong")]
    expected: Annotated[str, Field(description="the true sum")]
    correct: bool
    steps: int
    halting: str
    placement: str
    capped: Annotated[bool, Field(description="whether the limit on steps ended it")]
    model: str
    milliseconds: Annotated[float, Field(description="time of computation")]


_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "the body is not JSON"},
    413: {"model": Problem, "description": "a limit of this server is exceeded; the message names it"},
    422: {"model": Problem, "description": "the request cannot be met as it stands; the message says why"},
    429: {"model": Problem, "description": "too many requests wait already; try again"},
    503: {"model": Problem, "description": "the server is being stopped"},
}


def create_app(models: Sequence[Model], max_cells: int, max_waiting: int, host_names: Sequence[str] = ()) -> FastAPI:
    """The application that serves `models`; the first is the default."""
    workers, by_name = Workers(max_waiting), {model.name: model for model in models}
    app = FastAPI(
        title="gridsum",
        version=__version__,
        summary="A neural network that does column addition on a grid.",
        docs_url=None,  # FastAPI's own pages load their scripts from elsewhere
        redoc_url=None,
    )
    app.add_middleware(guarded, most=2 * max_cells + 4096, host_names=host_names)  # with some room for spaces
    for kind in _STATUS:
        app.add_exception_handler(kind, _explain)

    @app.post("/solve", response_model=AnswerView, responses=_REFUSALS, tags=["sums"])
    async def solve(asked: SumRequest, request: Request) -> Response:
        """The answer to a sum."""
        if asked.model is not None and asked.model not in by_name:
            raise ModelError(f"unknown model {asked.model!r}; the models are: {', '.join(by_name)}")
        model = models[0] if asked.model is None else by_name[asked.model]
        terms, options = model.read(asked.expression), SolveOptions(asked.halting, asked.placement, asked.seed)
        cells = math.prod(model.size(terms))
        if cells > max_cells:
            allowed = f"this server allows {max_cells:,} (max-cells)"
            raise TooLargeError(f"the grid would have {cells:,} cells, but {allowed}")

        def work(several: list[tuple[str, ...]], between: Between | None = None) -> list[dict[str, Any]]:
            began = time.perf_counter()
            told = [answer.described(model.name) for answer in model.answers(several, options, between)]
            return [one | {"milliseconds": round(1000 * (time.perf_counter() - began), 1)} for one in told]

        if cells > _SHORT:
            (told,) = await workers.do(request, partial(work, [terms]))
        elif model.has_rule:  # it takes a millisecond or two, so it need not wait
            (told,) = work([terms])
        else:
            told = await workers.together((model.name, len(terms), max(map(len, terms)), options), terms, work)
        return JSONResponse(told)

    @app.get("/models", tags=["server"])
    async def models_() -> list[ModelView]:
        """The models that can be asked; the first is the default."""
        return [ModelView(**model.about) for model in models]

    @app.get("/health", tags=["server"])
    async def health() -> Health:
        """Whether the server answers, and how busy it is."""
        return Health(taken=workers.taken)

    networks = {file_of(model.name): model.runs for model in models if isinstance(model, PaperModel)}
    scripts = {f"{name}{PARTS[part]}": (networks[name], part) for name in networks for part in PARTS}
    made = cache(network_script)

    @app.get("/models/{file}", include_in_schema=False)
    async def script(file: str, request: Request) -> Response:
        """What the page loads of a network; measuring it takes seconds the first time."""
        if file not in scripts:
            raise HTTPException(404, f"there is no file {file!r} of a network here")
        content = await workers.do(request, lambda _: made(*scripts[file]))
        return Response(content, media_type="text/javascript")

    for name, content in static_files(list(networks.values()), api=True).items():
        address, kind = {"index.html": "", "docs.html": "docs"}.get(name, name), mimetypes.guess_type(name)[0]
        app.router.routes.append(Route(f"/{address}", Response(content, media_type=kind), methods=["GET"]))
    return app


async def _explain(_: Request, error: Any) -> Response:
    """Every refusal is a `Problem`: one sentence for a person."""
    status = next(status for kind, status in _STATUS.items() if isinstance(error, kind))
    why, headers = str(error), None
    if isinstance(error, HTTPException):
        status, why, headers = error.status_code, error.detail, error.headers
    elif isinstance(error, RequestValidationError):
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc'][1:])) or 'the body'}: {first['msg']}"
        if first["type"] == "json_invalid":
            status, why = 400, f"the body is not JSON: {first['ctx']['error']}"
    return JSONResponse({"error": why}, status, headers)


_STATUS: dict[type[Exception], int] = {HTTPException: 0, TooLargeError: 413}
_STATUS |= dict.fromkeys((RequestValidationError, ExpressionError, ModelError, ConfigError, UnsoundError), 422)
