"""The page as `gridsum serve` serves it: the same, with every model of the server."""

import dataclasses
import json
import urllib.request

from playwright.sync_api import Browser, expect

from gridsum.serve.limits import Limits
from tests.browser import PHONE, visiting


def test_every_served_model_adds_on_the_page(browser: Browser, server: str, untrained: str, fixed: str):
    with visiting(browser, f"{server}/") as visit:
        page = visit.open()
        moment = page.locator("#hero .moment")
        expect(moment).to_contain_text("The top row holds the answer: 10041.")
        model = page.get_by_label("Who adds?")
        expect(model).to_have_value("exact")
        values = model.locator("option").evaluate_all("options => options.map(option => option.value)")
        assert values == ["exact", "base", untrained, fixed]
        model.select_option("base")
        expect(moment).to_contain_text("base stops after 11 steps and answers 10041. That is right.")
        model.select_option(untrained)
        expect(moment).to_contain_text("That is wrong: it is 10041.")
        model.select_option(fixed)
        expect(moment).to_contain_text("stops after 12 steps")
        assert len(visit.requests) > 20


def test_the_documentation_has_every_operation(browser: Browser, server: str):
    with urllib.request.urlopen(f"{server}/openapi.json") as answer:
        paths = json.load(answer)["paths"]
    assert {"/solve", "/trace", "/models"} <= paths.keys()
    with visiting(browser, f"{server}/docs", PHONE) as visit:
        visit.page.goto(visit.address)
        operations = visit.page.locator(".operation")
        expect(operations).to_have_count(sum(len(methods) for methods in paths.values()))
        for path in paths:
            expect(operations.filter(has_text=path).first).to_be_visible()
        expect(visit.page.locator("#limits li")).to_have_count(len(dataclasses.fields(Limits)))
        assert visit.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
