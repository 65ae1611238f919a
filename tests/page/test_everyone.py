"""The page for everyone: other languages, screen readers, paper."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from gridsum.automaton.files import read_rule
from gridsum.automaton.proof import prove
from gridsum.model.store import SHIPPED
from gridsum.page.site import LANGUAGES, WEB, words
from tests.browser import visiting

WIDE: ViewportSize = {"width": 1400, "height": 900}
NARROW: ViewportSize = {"width": 360, "height": 800}
_SHIFTS = """
  globalThis.shifted = 0;
  new PerformanceObserver((list) => { for (const { value } of list.getEntries()) shifted += value; })
    .observe({ type: "layout-shift", buffered: true });
"""

# A page that was opened as a file may not read its own style sheet.
_AXE = "axe.run({ preload: false }).then((told) => told.violations.map(({ id, nodes }) => [id, nodes[0].html]))"


@pytest.fixture(scope="session")
def axe(pytestconfig: pytest.Config) -> str:
    """The checker of accessibility, fetched once."""
    folder = Path(pytestconfig.cache.mkdir("axe"))
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    npm = shutil.which("npm")
    if not script.exists() and npm is not None:
        install = [npm, "install", "--prefix", folder, "axe-core@4"]
        subprocess.run(install, capture_output=True, check=False, timeout=120)
    if not script.exists():
        pytest.skip("axe-core could not be fetched by npm, so accessibility is not checked")
    return script.read_text()


_SLOW = [pytest.param(*other, marks=pytest.mark.slow) for other in ((WIDE, "dark"), (NARROW, "light"))]


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (NARROW, "dark"), *_SLOW], ids=str)
def test_axe_finds_nothing(browser: Browser, address: str, axe: str, viewport: ViewportSize, scheme: str):
    with visiting(browser, address, viewport, color_scheme=scheme) as visit:
        page = visit.open()
        page.evaluate("gridsum.app.hero.choose(0, 2)")
        page.locator("#race").scroll_into_view_if_needed()
        expect(page.locator("#race-note")).to_contain_text("Both are right.")
        page.evaluate(axe)
        assert page.evaluate(_AXE) == []


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_borders_of_cells_can_be_seen_in_both_themes():
    style = (WEB / "style.css").read_text()
    themes = list(zip(*(re.findall(rf"--{name}: (#\w{{6}})", style) for name in ("edge", "paper")), strict=True))
    assert len(themes) == 2
    for pair in themes:
        dark, light = sorted(map(luminance, pair))
        assert (light + 0.05) / (dark + 0.05) >= 3


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_first_screen_has_all_of_it_and_does_not_move(browser: Browser, address: str, viewport: ViewportSize):
    with visiting(browser, address, viewport, reduced_motion="no-preference") as visit:
        visit.page.add_init_script(_SHIFTS)
        page = visit.open()
        page.wait_for_function("gridsum.app.hero.moment > 2")
        tops = [page.locator(name).bounding_box() for name in ("h1", "#sum", "#hero canvas", "#hero .transport")]
        edges = [(box["y"], box["y"] + box["height"]) for box in tops if box is not None]
        assert edges == sorted(edges)
        assert edges[-1][1] <= viewport["height"]
        assert page.evaluate("shifted") <= 0.02


@pytest.mark.parametrize(
    "language", [LANGUAGES[1], *(pytest.param(name, marks=pytest.mark.slow) for name in LANGUAGES[2:])]
)
def test_the_browser_s_language_is_spoken_and_another_can_be_chosen(browser: Browser, address: str, language: str):
    with visiting(browser, address, NARROW, locale=language) as visit:
        page = visit.open()
        expect(page.locator("h1")).to_have_text(words(language)["top.title"])
        expect(page.locator("html")).to_have_attribute("lang", language)
        rest = words(language)["film.rest.other"].replace("{answer}", "10041").replace("{count}", "5")
        expect(page.locator("#hero .moment")).to_have_text(rest)
        expect(page.locator("#hero .playButton")).to_have_attribute("aria-label", words(language)["player.play"])
        long = "new Option('a network with a long description'.repeat(3))"
        page.evaluate(f"document.querySelector('#model').append({long})")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator("#language").select_option("en")
        expect(page.locator("h1")).to_have_text(words("en")["top.title"])


def test_on_paper_every_film_stands_at_its_end_in_dark_ink(browser: Browser, address: str):
    with visiting(browser, address, WIDE, color_scheme="dark", reduced_motion="no-preference") as visit:
        page = visit.open()
        page.emulate_media(media="print", color_scheme="dark")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("gridsum.app.hero.atEnd && !gridsum.app.hero.playing")
        assert page.evaluate("gridsum.theme().ink") == "#1c1f24"
        expect(page.locator("#hero .transport")).to_be_hidden()
        expect(page.locator("#race figure").first).to_be_hidden()  # it is loaded by looking at it


def test_other_bases_are_added(browser: Browser, address: str):
    with visiting(browser, address, WIDE) as visit:
        page = visit.open("#sum=58%2B67")
        page.locator("#task").select_option("add:base=2")
        expect(page.locator("#hero .moment")).to_contain_text("The top row holds the answer: 1111101.")
        page.evaluate("gridsum.app.hero.choose(0, 8)")
        expect(page.locator("#hero-cell .cell-sum")).to_have_text("1 + 0 make 1: write 1.")
        page.get_by_role("button", name="Check all cases").click()
        looked = prove(read_rule(SHIPPED / "add-base2.rule.json")).evaluations
        expect(page.locator("#checked")).to_have_text(f"{looked} looked up, 0 wrong. Proved ✓")
        expect(page.locator("#proof .of-rule")).to_contain_text("the rule for addition, base 2")
        expect(page.locator("#state-list button")).to_have_count(5)
        page.evaluate("gridsum.app.figures.find((one) => one.player?.element.id === 'healing').player.choose(0, 2)")
        expect(page.locator("#proof .of-rule")).to_be_empty()  # a cell of base 10 was chosen
        visit.open("#sum=1%2B1&task=add:base%3D2")
        expect(page.locator("#hero .moment")).to_contain_text("The top row holds the answer: 10.")
        visit.ask("12+1")
        expect(page.get_by_role("alert")).to_have_text("“2” is not allowed. A problem holds the digits 0 to 1 and “+”.")


def test_differences_are_told_as_sums_are(browser: Browser, address: str):
    with visiting(browser, address, NARROW, color_scheme="dark") as visit:
        page = visit.open()
        page.locator("#task").select_option("subtract")
        rest = page.locator("#hero .moment")
        expect(rest).to_contain_text("The top row holds the answer: 876.")
        expect(page.locator("label[for=sum]")).to_have_text("Your subtraction")
        page.evaluate("gridsum.app.hero.choose(1, 4)")
        expect(page.locator("#hero-cell .cell-sum")).to_have_text("10 − 1 leaves 9: write 9, borrow 1.")
        expect(page.locator("#hero-cell .cell-map")).to_be_hidden()
        expect(page.locator("#proof .of-rule")).to_contain_text("gridsum prove --model subtract")
        expect(page.locator("#state-list")).to_contain_text("no borrow")
        expect(page.locator("#state-list button")).to_have_count(22)
        expect(page.get_by_label("Who adds?")).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        visit.ask("7+8")  # the sign says what is meant
        expect(rest).to_contain_text("The top row holds the answer: 15.")
        visit.ask("1000 − 1")
        expect(rest).to_contain_text("The top row holds the answer: 999.")
        assert page.url.endswith("#sum=1000-1&task=subtract")
        visit.ask("23-900")
        below = "23 − 900 is less than 0. It learned to subtract down to 0: take away less."
        expect(page.get_by_role("alert")).to_have_text(below)
        visit.ask("9-4+1")
        expect(page.get_by_role("alert")).to_have_text("“+” is not allowed here: this rule takes “-” alone.")
        visit.ask("12*2")
        expect(page.get_by_role("alert")).to_have_text("“*” was learned in other bases: choose it in base 3, 4.")


def test_products_and_maxima_are_told_as_sums_are(browser: Browser, address: str):
    handed = "gridsum.app.hero.film.changes.cells.map(({ now }) => now.carry).join(' ').trim()"
    with visiting(browser, address, NARROW) as visit:
        page = visit.open("#sum=1202*2*2&task=times:base%3D3")
        assert page.evaluate(handed) == "×2 ×2 ×2 ×2 ×2    ×2+1 ×2+1 ×2 ×2+1"
        page.evaluate("gridsum.app.hero.choose(1, 5)")
        said = "0 × 2 and the carried 1 make 1: write 1, hand ×2 to the left."
        expect(page.locator("#hero-cell .cell-sum")).to_have_text(said)
        expect(page.locator("#state-list button")).to_have_count(11)
        expect(page.locator("#proof .of-rule")).to_contain_text("gridsum prove --model times-base3")
        visit.ask("12 × 12")
        told = "12 has several digits. Only the first number may: each factor has one digit."
        expect(page.get_by_role("alert")).to_have_text(told)
        page.locator("#task").select_option("max")
        expect(page.locator("#hero .moment")).to_contain_text("The top row holds the answer: 4118.")
        assert page.evaluate(handed) == "> > =    < = =    > > >", "from right to left"
        page.evaluate("gridsum.app.hero.choose(1, 4)")
        expect(page.locator("#hero-cell .cell-sum")).to_have_text("7 here, 9 below: write 9, hand < to the right.")
