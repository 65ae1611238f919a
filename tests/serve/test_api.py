"""The API over real connections: answers, refusals, limits, and work that stops when nobody waits for it."""

import dataclasses
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.specs.openapi.schemas import OpenApiSchema

import gridsum
from gridsum.api.models import Model
from gridsum.api.networks import PaperModel
from gridsum.api.rules import RuleModel
from gridsum.automaton.run import frames
from gridsum.config.paper import Config
from gridsum.config.variants import variant
from gridsum.model.inference import HaltingRule
from gridsum.model.rollout import Network
from gridsum.model.store import Model as Runs
from gridsum.page.site import file_of
from gridsum.serve.app import create_app
from gridsum.serve.limits import LimitError, Limits
from gridsum.serve.server import make_server
from gridsum.tasks import Addition
from tests.serve.conftest import SMALL, request, wait_until

ADD = Addition()

EXAMPLE = "523+102+9416"


@pytest.fixture(scope="module")
def base() -> Model:
    return gridsum.load("base")


@pytest.fixture(scope="module")
def exact() -> RuleModel:
    model = gridsum.load("exact")
    assert isinstance(model, RuleModel)
    return model


@pytest.fixture(scope="module")
def endless() -> Model:
    """A model that computes for a very long time: as many steps as a configuration may have, each of them wide."""
    config = dataclasses.replace(SMALL, halting="fixed", fixed_steps=10_000, step_hidden=4096)
    runs = Runs("endless", dataclasses.replace(Config(), model=config), (0,), Network(config, (0,)))
    return PaperModel(runs)


@contextmanager
def serving(models: Sequence[Model], limits: Limits | None = None) -> Iterator[tuple[str, Callable[[], int]]]:
    """A server in this process: its address, and how many requests it has taken on."""
    limits = limits or Limits(workers=2, grace_seconds=1)
    app = create_app(models, limits)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # so that the system keeps little of an answer
        server = make_server(app, limits)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", lambda: app.state.scheduler.taken
        finally:
            server.should_exit = True
            thread.join(600)
            assert not thread.is_alive()


@pytest.fixture(scope="module")
def address(base: Model, exact: RuleModel) -> Iterator[str]:
    limits = Limits(max_terms=12, max_digits=40, max_cells=200, max_answer=3000)
    with serving([base, exact], limits) as (address, _):
        yield address


def post(address: str, path: str, **body: object) -> httpx.Response:
    return httpx.post(address + path, json=body, timeout=600)


@pytest.mark.parametrize("expression", [EXAMPLE, "7", "99999+1", " 12 + 30 = ", "0+9999"])
def test_solve_answers_as_the_library_does(address: str, base: Model, exact: RuleModel, expression: str):
    asked: list[tuple[Model, HaltingRule | None]] = [(base, None), (base, "median"), (exact, None)]
    for model, halting in asked:
        told = post(address, "/solve", expression=expression, model=model.name, halting=halting).json()
        assert told.pop("milliseconds") >= 0
        assert told == model.solve(expression, halting=halting).described(model.name)


@pytest.mark.parametrize("name", ["base", "exact"])
def test_a_trace_is_the_library_s(address: str, base: Model, exact: RuleModel, name: str):
    """And what the rule of `exact` says of it, step by step."""
    told = post(address, "/trace", expression=EXAMPLE, model=name).json()
    assert told.pop("milliseconds") >= 0
    assert told == json.loads(json.dumps((base if name == "base" else exact).trace(EXAMPLE).to_dict()))
    assert "".join(told["frames"][-1]["symbols"][0]).strip() == told["answer"] == "10041"
    if name == "exact":
        assert [frame["states"] for frame in told["frames"]] == [
            grid.tolist() for grid in frames(exact.table, ADD.parse(EXAMPLE))
        ]


def test_networks_of_the_page_are_measured_once(address: str):
    weights = httpx.get(f"{address}/models/base.js", timeout=600)
    inside = httpx.get(f"{address}/models/base.inside.js", timeout=600)
    assert weights.headers["content-type"].startswith("text/javascript")
    assert weights.text.startswith('(gridsum.models["base"] ??= {}).weights = {')
    assert '"centroids"' in inside.text
    for file in ("exact.js", "base", "base.other.js", "../app.js"):
        assert httpx.get(f"{address}/models/{file}", timeout=600).status_code == 404


def test_models_have_files_of_their_own_on_the_page():
    names = ["runs/x", "runs-x", "runs/x/", "/runs/x", "runs x", "ä", "é", "base"]
    files = [file_of(name) for name in names]
    assert len(set(files)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", file) for file in files)
    assert files[-1] == "base"


REFUSED = [
    ("solve", {"expression": "1+x"}, 422, "'x' is not allowed"),
    ("solve", {"expression": "\ud800"}, 422, ""),
    ("solve", {"expression": ""}, 422, "is empty"),
    ("solve", {}, 422, "expression: Field required"),
    ("solve", {"expression": "1", "modle": "base"}, 422, "modle: Extra inputs are not permitted"),
    ("solve", {"expression": 12}, 422, "expression: Input should be a valid string"),
    ("solve", {"expression": "1", "model": "big"}, 422, "unknown model 'big'; the models are: base, exact"),
    ("solve", {"expression": "1", "model": "exact", "halting": "median"}, 422, "exact always halts at a fixed point"),
    ("solve", {"expression": "1", "halting": "fixed"}, 422, "use 'sampled' or 'median'"),
    ("solve", {"expression": "1", "seed": True}, 422, "seed: Input should be a valid integer"),
    ("solve", {"expression": "1", "seed": -1}, 422, "seed: Input should be greater than or equal to 0"),
    ("solve", {"expression": "1" + "+1" * 12}, 413, "13 terms, but this server allows 12 (max-terms)"),
    ("trace", {"expression": "1" * 41}, 413, "41 digits, but this server allows 40 (max-digits)"),
    ("trace", {"expression": "+".join(["1" * 20] * 10)}, 413, "253 cells, but this server allows 200 (max-cells)"),
    ("trace", {"expression": "+".join(["1234567890"] * 4)}, 413, "this server allows 3,000 (max-answer)"),
    ("solve", {"expression": " " * 9000}, 413, "ask for less at once"),
    ("solve", "{", 400, "the body is not JSON:"),
]


@pytest.mark.parametrize(("path", "body", "status", "told"), REFUSED)
def test_refusals_say_why(address: str, path: str, body: dict[str, object] | str, status: int, told: str):
    content = body if isinstance(body, str) else json.dumps(body)
    headers = {"content-type": "application/json"}
    answer = httpx.post(f"{address}/{path}", content=content.encode(), headers=headers, timeout=600)
    assert answer.status_code == status
    problem = answer.json()
    assert told in problem["error"]
    limit = re.search(r"\((max-\w+)\)", told)
    assert problem["limit"] == (limit and limit[1].replace("-", "_"))


def test_other_addresses_are_refused(address: str):
    assert httpx.get(f"{address}/solve", timeout=600).status_code == 405
    assert httpx.get(f"{address}/../app.py", timeout=600).status_code == 404


def test_a_body_without_end_is_not_read_to_its_end(address: str):
    sent = 0

    def forever() -> Iterator[bytes]:
        nonlocal sent
        while sent < 1 << 28:
            sent += 1 << 16
            yield b" " * (1 << 16)

    with suppress(httpx.WriteError):  # the server may have hung up already
        assert httpx.post(f"{address}/solve", content=forever(), timeout=600).status_code == 413
    assert sent < 1 << 25


@pytest.mark.parametrize("path", ["/models/base.js", "/preview.png"], ids=["large", "small"])
@pytest.mark.parametrize("close", [False, True])
def test_an_answer_has_to_be_taken_in_time(exact: RuleModel, base: Model, path: str, close: bool):
    """Closing a connection waits for its client to read; a small answer stops no writing by itself."""
    limits = Limits(read_seconds=600, keep_alive_seconds=600, write_seconds=1, grace_seconds=1)
    with serving([exact, base], limits) as (address, _), socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", int(address.rpartition(":")[2])))
        head = f"GET {path} HTTP/1.1\r\nhost: localhost\r\n" + "connection: close\r\n" * close
        client.sendall(f"{head}\r\n".encode())
        stalled = 'gridsum_connections_ended_total{why="stalled"} 1.0'
        wait_until(lambda: stalled in httpx.get(f"{address}/metrics", timeout=600).text)


def test_a_client_that_goes_away_stops_its_work(endless: Model):
    with serving([endless]) as (address, taken):
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{address}/trace", json={"expression": "1+1"}, timeout=httpx.Timeout(600, read=0.5))
        wait_until(lambda: taken() == 0)


@contextmanager
def asking(address: str, model: str) -> Iterator[None]:
    """A request that nobody reads the answer of, and that is hung up on in the end."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(request("1+1", model))
        yield


def test_beyond_the_waiting_room_requests_are_turned_away(base: Model, endless: Model):
    with serving([base, endless], Limits(max_waiting=1, workers=1, grace_seconds=1)) as (address, taken):
        with asking(address, "endless"):
            wait_until(lambda: taken() == 1)
            with asking(address, "base"):  # waits, and leaves the queue when its client goes
                wait_until(lambda: taken() == 2)
                answer = post(address, "/solve", expression="58+67")
                assert answer.status_code == 429
                assert answer.headers["retry-after"] == "1"
                assert answer.json() == {
                    "error": "all workers are busy and 1 requests wait already (max-waiting); try again in a moment",
                    "limit": "max_waiting",
                }
            wait_until(lambda: taken() == 1)
        wait_until(lambda: taken() == 0)
        assert post(address, "/solve", expression="58+67").json()["answer"] == "125"


@given(st.lists(st.text("0123456789", min_size=1, max_size=30), min_size=1, max_size=12).map(tuple))
def test_limits_hold_at_their_number_and_not_beyond(terms: tuple[str, ...]):
    height, width = variant("base").task.solving_grid(len(terms), max(map(len, terms)))
    limits = Limits(12, 30, height * width)
    assert len("+".join(terms)) <= limits.body
    limits.check("max_cells", height * width, "{} cells")
    with pytest.raises(LimitError, match="cells, but this server allows"):
        limits.check("max_cells", height * width + 1, "{} cells")


@pytest.mark.parametrize("expression", ["7", "58+67", "1+2+3"])
@pytest.mark.parametrize("name", ["exact", "base", "noGroups"])
def test_limits_count_the_cells_and_steps_that_are_computed(name: str, expression: str):
    model = gridsum.load(name)
    trace = model.trace(expression)
    assert model.size(ADD.parse(expression)) == trace.grids.shape[1:3]
    assert len(trace) - 1 <= model.most_steps(ADD.parse(expression))


@pytest.fixture(scope="module")
def documented(base: Model, exact: RuleModel) -> Iterator[OpenApiSchema]:
    with serving([exact, base], Limits(max_terms=4, max_digits=12)) as (address, _):
        yield schemathesis.openapi.from_url(f"{address}/openapi.json")


OPERATIONS = {"POST": ("/solve", "/trace"), "GET": ("/models", "/limits", "/health")}


def test_every_operation_is_tried(documented: OpenApiSchema):
    found = {(method.upper(), path) for path, methods in documented.raw_schema["paths"].items() for method in methods}
    assert found == {(method, path) for method, paths in OPERATIONS.items() for path in paths}


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize(("method", "path"), [(method, path) for method in OPERATIONS for path in OPERATIONS[method]])
def test_no_request_breaks_the_server(documented: OpenApiSchema, method: str, path: str, mode: GenerationMode):
    """Whatever is sent, the answer is one that the API's document names, and never a 5xx."""
    operation = documented[path][method]
    if mode.is_negative and not (operation.body or operation.query):
        pytest.skip("there is nothing to get wrong")

    @given(operation.as_strategy(generation_mode=mode))
    @settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
    def call(case: schemathesis.Case) -> None:
        case.call_and_validate(
            checks=[
                not_a_server_error,
                status_code_conformance,
                content_type_conformance,
                response_schema_conformance,
                negative_data_rejection,
            ]
        )

    call()
