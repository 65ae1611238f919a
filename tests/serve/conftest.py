"""A real server as a process of its own, a real browser, and small models to serve beside the shipped one."""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize, expect, sync_playwright

from gridsum.config import Config, ModelConfig
from gridsum.model.paper import Network
from gridsum.store import save_run

# A busy machine may take several seconds for what a quiet one does at once.
expect.set_options(timeout=120_000)

SOURCE = Path(__file__).parents[2] / "src"
SMALL = ModelConfig(
    width=16,
    groups=4,
    heads=16,
    step_hidden=16,
    placement_hidden=16,
    context_heads=4,
    context_hidden=16,
    halting_hidden=16,
)
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}


def saved(folder: Path, model: ModelConfig, variant: str, seed: int) -> str:
    """The name of an untrained model on disk."""
    config = dataclasses.replace(Config(), variant=variant, model=model)
    save_run(folder / variant / "weights.safetensors", Network(model, (seed,)), 0, config, seed)
    return str(folder / variant)


@pytest.fixture(scope="session")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that cannot add."""
    return saved(tmp_path_factory.mktemp("models"), SMALL, "base", 3)


@pytest.fixture(scope="session")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that does not choose when to halt."""
    folder = tmp_path_factory.mktemp("models")
    return saved(folder, dataclasses.replace(SMALL, halting="fixed"), "fixedTime", 4)


@pytest.fixture(scope="session")
def server(untrained: str, fixed: str) -> Iterator[str]:
    """The address of `gridsum serve`."""
    arguments = [
        "serve",
        "--port",
        "0",
        "--max-digits",
        "400",
        "--model",
        "base",
        "--model",
        untrained,
        "--model",
        fixed,
        "--model",
        "base-digits",
    ]
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "gridsum", *arguments], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+", told)
        assert address, told + process.stderr.read()
        yield address[0]
        process.terminate()


def find_chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium is installed here (apt-get install chromium), so the page is not tested in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page on which everything that goes wrong or goes out is noted."""

    page: Page
    address: str
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    in_flight: int = 0

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._begin)
        self.page.on("requestfinished", self._end)
        self.page.on("requestfailed", self._end)

    def _begin(self, request: Request) -> None:
        self.requests.append(request.url)
        self.in_flight += 1

    def _end(self, _: Request) -> None:
        self.in_flight -= 1

    def open(self, fragment: str = "") -> Page:
        self.page.goto(f"{self.address}/{fragment}")
        expect(self.page.locator("#transport")).to_be_visible()
        self.settle()
        return self.page

    def settle(self) -> None:
        """Until all that was asked has been answered and drawn."""
        expect(self.page.locator("#views")).to_have_attribute("aria-busy", "false")
        quiet = 0
        while quiet < 4:  # the page itself rests for a moment before it asks or tells
            self.page.wait_for_timeout(40)
            quiet = 0 if self.in_flight else quiet + 1

    def ask(self, expression: str) -> None:
        self.page.get_by_label("Sum", exact=True).fill(expression)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(lambda url: urlencode({"expression": expression}) in url)
        self.settle()


def visit(browser: Browser, server: str, viewport: ViewportSize, **options: str) -> Iterator[Visit]:
    context: BrowserContext = browser.new_context(viewport=viewport, accept_downloads=True, **options)  # pyright: ignore[reportArgumentType]
    context.set_default_timeout(120_000)
    page = context.new_page()
    made = Visit(page, server)
    yield made
    errors = [error for error in made.errors if "status of 4" not in error]  # refusals, which the page explains
    context.close()
    assert errors == []


@pytest.fixture(params=["desktop", "phone"])
def window(request: pytest.FixtureRequest, browser: Browser, server: str) -> Iterator[Visit]:
    """A visit in each of the two window sizes."""
    yield from visit(browser, server, DESKTOP if request.param == "desktop" else PHONE)


@pytest.fixture
def desktop(browser: Browser, server: str) -> Iterator[Visit]:
    yield from visit(browser, server, DESKTOP)
