"""The API over real connections, and the page that the server shows."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from playwright.sync_api import Browser, expect
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
from gridsum.page.site import file_of
from tests.browser import PHONE, visiting
from tests.serve.conftest import get, solve


@pytest.mark.parametrize("expression", ["523+102+9416", "7", "99999+1", " 12 + 30 = ", "0+9999", "9" * 300 + "+1"])
def test_solve_answers_as_the_library_does(server: int, expression: str):
    for name, halting in (("base", None), ("base", "median"), ("exact", None)):
        told = solve(server, expression, model=name, halting=halting).json()
        assert told.pop("milliseconds") >= 0
        assert told == gridsum.load(name).solve(expression, halting=halting).described(name)  # type: ignore[arg-type]


REFUSED = [
    ({"expression": "1+x"}, 422, "'x' is not allowed"),
    ({"expression": ""}, 422, "is empty"),
    ({"expression": 12}, 422, "expression: Input should be a valid string"),
    ({"modle": "base"}, 422, "modle: Extra inputs are not permitted"),
    ({"model": "big"}, 422, "unknown model 'big'; the models are: exact, base, "),
    ({"model": "exact", "halting": "median"}, 422, "exact always halts at a fixed point"),
    ({"model": "base", "halting": "fixed"}, 422, "use 'sampled' or 'median'"),
    ({"seed": True}, 422, "seed: Input should be a valid integer"),
    ({"expression": "+".join(["1" * 200] * 99)}, 413, "20,300 cells, but this server allows 20,000 (max-cells)"),
    ({"expression": " " * 50_000}, 413, "ask for less at once"),
]


@pytest.mark.parametrize(("body", "status", "told"), REFUSED)
def test_refusals_say_why(server: int, body: dict[str, object], status: int, told: str):
    answer = solve(server, **{"expression": "1", **body})
    assert answer.status_code == status
    assert told in answer.json()["error"]


def test_a_grid_of_as_many_cells_as_are_allowed_is_solved(server: int):
    assert solve(server, "+".join(["1" * 197] * 99)).json()["correct"]


def test_other_addresses_and_bodies_are_refused(server: int):
    assert get(server, "/solve").status_code == 405
    for path in ("/../app.py", "/models/exact.js", "/models/base", "/models/base.other.js"):
        assert get(server, path).status_code == 404
    for content, told in (
        (b"{", "the body is not JSON"),
        (b'{"expression": "\\ud800"}', ""),
        (b"{}", "Field required"),
    ):
        headers = {"content-type": "application/json"}
        answer = httpx.post(f"http://127.0.0.1:{server}/solve", content=content, headers=headers, timeout=600)
        assert answer.status_code in (400, 422)
        assert told in answer.json()["error"]


def test_a_body_without_end_is_not_read_to_its_end(server: int):
    sent = 0

    def forever() -> Iterator[bytes]:
        nonlocal sent
        while sent < 1 << 28:
            sent += 1 << 16
            yield b" " * (1 << 16)

    with suppress(httpx.WriteError):  # the server may have hung up already
        assert httpx.post(f"http://127.0.0.1:{server}/solve", content=forever(), timeout=600).status_code == 413
    assert sent < 1 << 25


def test_models_have_files_of_their_own_on_the_page():
    names = ["runs/x", "runs-x", "runs/x/", "/runs/x", "runs x", "ä", "é", "base"]
    files = [file_of(name) for name in names]
    assert len(set(files)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", file) for file in files)
    assert files[-1] == "base"


@pytest.mark.parametrize("expression", ["7", "58+67", "1+2+3"])
@pytest.mark.parametrize("name", ["exact", "base"])
def test_the_limit_counts_the_cells_that_are_computed(name: str, expression: str):
    model = gridsum.load(name)
    assert model.size(model.read(expression)) == model.trace(expression).grids.shape[1:3]


@pytest.fixture(scope="module")
def documented(server: int) -> OpenApiSchema:
    return schemathesis.openapi.from_url(f"http://127.0.0.1:{server}/openapi.json")


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_breaks_the_server(documented: OpenApiSchema, mode: GenerationMode):
    """Whatever is sent, the answer is one that the API's document names, and never a 5xx."""
    for path, methods in documented.raw_schema["paths"].items():
        for method in methods:
            operation = documented[path][method.upper()]
            if mode.is_negative and not (operation.body or operation.query):
                continue  # there is nothing to get wrong

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


def test_every_served_model_adds_on_the_page(browser: Browser, server: int, untrained: str):
    with visiting(browser, f"http://127.0.0.1:{server}/") as visit:
        page = visit.open()
        moment = page.locator("#hero .moment")
        expect(moment).to_contain_text("The top row holds the answer: 10041.")
        model = page.get_by_label("Who adds?")
        values = model.locator("option").evaluate_all("options => options.map(option => option.value)")
        assert values == ["exact", "base", untrained]
        model.select_option("base")
        expect(moment).to_contain_text("base stops after 11 steps and answers 10041. That is right.")
        model.select_option(untrained)
        expect(moment).to_contain_text("That is wrong: it is 10041.")
    assert '"centroids"' in get(server, "/models/base.inside.js").text


def test_the_documentation_has_every_operation(browser: Browser, server: int):
    paths = get(server, "/openapi.json").json()["paths"]
    assert {"/solve", "/models", "/health"} == paths.keys()
    with visiting(browser, f"http://127.0.0.1:{server}/docs", PHONE) as visit:
        visit.page.goto(visit.address)
        operations = visit.page.locator(".operation")
        expect(operations).to_have_count(len(paths))
        for path in paths:
            expect(operations.filter(has_text=path).first).to_be_visible()
        assert visit.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_it_says_where_it_listens_and_stops_when_asked():
    command = [sys.executable, "-m", "gridsum", "serve", "--host", "0.0.0.0", "--port", "0", "--model", "exact"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        told = server.stderr.readline()
        found = re.fullmatch(r"gridsum serves exact on http://0\.0\.0\.0:(\d+) \(Ctrl\+C stops it\)\n", told)
        assert found, told + server.stderr.read()
        assert server.stderr.readline() == "other machines that can reach this one may ask it, too\n"
        assert "gridsum" in get(int(found[1]), "/").text
        server.send_signal(signal.SIGINT)
        assert server.communicate(timeout=250)[1] == "stopped\n"
    assert server.returncode == 0
