"""A real browser, and visits in which all that goes wrong or goes out is noted."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

# A busy machine may take several seconds for what a quiet one does at once.
expect.set_options(timeout=90_000)

DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}


def launched() -> Iterator[Browser]:
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((path for path in map(shutil.which, names) if path), None)
    if path is None:
        pytest.skip("no Chromium is installed here (apt-get install chromium), so the page is not tested in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@dataclass
class Visit:
    """One page, and what happened on it."""

    page: Page
    address: str
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, fragment: str = "") -> Page:
        """The page, once its first sum is worked out."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}{fragment}")
        self.page.wait_for_function("globalThis.gridsum?.app?.hero.film")
        return self.page

    def ask(self, text: str) -> None:
        self.page.locator("#sum").fill(text)
        self.page.locator("#ask button").click()


@contextmanager
def visiting(browser: Browser, address: str, viewport: ViewportSize = DESKTOP, **options: Any) -> Iterator[Visit]:
    """A visit without errors, and without a request to anywhere else. Nothing moves by itself unless asked for."""
    options = {"reduced_motion": "reduce", **options}
    context = browser.new_context(viewport=viewport, accept_downloads=True, **options)
    context.set_default_timeout(120_000)
    visit = Visit(context.new_page(), address)
    try:
        yield visit
    finally:
        context.close()
    home = address.rsplit("/", 1)[0]
    assert visit.errors == []
    assert [url for url in visit.requests if not url.startswith((home, "about:", "blob:", "data:"))] == []
