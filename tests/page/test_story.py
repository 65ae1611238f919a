"""The page in a real browser, opened as a file, as a visitor uses it."""

import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageSequence
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from gridsum.automaton.files import read_rule
from gridsum.automaton.proof import prove
from gridsum.automaton.run import frames as frames_of
from gridsum.automaton.solve import solve as solve_by_rule
from gridsum.cli import main
from gridsum.evaluation.solving import solve
from gridsum.io.version import __version__
from gridsum.model.store import EXACT_SEEDS, SHIPPED, load, other_records
from gridsum.page.site import words
from tests.browser import DESKTOP, PHONE, Visit, visiting
from tests.oracles.attention import score_terms
from tests.oracles.column_addition import ADD
from tests.oracles.traces import trace_expression

EXAMPLE = "523+102+9416"
TABLE = read_rule(SHIPPED / "exact.rule.json")
STEPS = solve_by_rule(TABLE, EXAMPLE.split("+")).steps
LONG = solve_by_rule(TABLE, ("9" * 20_000, "1")).steps


def sentence(page: Page) -> Locator:
    return page.locator("#hero .moment")


def step_name(page: Page) -> Locator:
    return page.locator("#hero .step-name")


def test_it_is_small(folder: Path):
    later = re.compile(r"models/|rules/|training\.js|preview\.png|words/(?!en)")
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    page = {name: content for name, content in files.items() if not later.match(name)}
    at_once = page.keys() - {"gif.js", "learned.js"}
    assert sum(len(page[name]) for name in at_once) <= 250_000
    assert 1000 < len(files["models/base.js"]) < 1_000_000
    assert 1000 < len(files["training.js"]) <= 250_000
    assert "docs.html" not in files
    for name, content in page.items():
        if name.endswith((".html", ".css", ".js")):
            assert not re.search(rb"src=\"(https?:)?//|<link[^>]*https?:|@import|url\(", content), name
        assert content.count(b"\n") <= 400


def test_exact_alone_has_no_network_to_race(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["page", "--out", str(tmp_path), "--model", "exact"]) == 0
    assert capsys.readouterr().err.endswith(f"open {tmp_path / 'index.html'}\n")
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESKTOP), ("dark", PHONE)])
def test_it_starts_by_itself_and_tells_the_story(browser: Browser, address: str, scheme: str, viewport: ViewportSize):
    with visiting(browser, address, viewport, color_scheme=scheme, reduced_motion="no-preference") as visit:
        page = visit.open()
        assert page.evaluate("gridsum.app.hero.playing")
        page.evaluate("gridsum.app.hero.speed = 50")
        expect(sentence(page)).to_contain_text("The top row holds the answer: 10041. Nothing changes any more")
        expect(page.locator("#hero").get_by_role("button", name="Play")).to_be_visible()
        film = "gridsum.app.hero.film"
        told = page.evaluate(f"Array.from({{length: {film}.last + 1}}, (_, n) => gridsum.narrate({film}, n))")
    assert told[0] == "The problem, as the network gets it: one symbol after the other."
    assert told[1] == "It reads 5 and writes it at the right end of the top row."
    assert told[4] == "It reads + and opens a new row above."
    assert "Row 3 now holds the first number, 523." in told
    assert "Row 2 now holds 523 + 102: 625." in told


def test_a_typo_is_explained_a_column_is_a_sum_and_the_address_keeps_what_is_shown(desktop: Visit):
    page = desktop.open()
    desktop.ask("58+67")
    expect(sentence(page)).to_contain_text("The top row holds the answer: 125.")
    desktop.ask("58+6x")
    expect(page.get_by_role("alert")).to_have_text("“x” is not allowed. A problem holds the digits 0 to 9 and “+”.")
    expect(sentence(page)).to_contain_text("125")
    assert "sum=58%2B67" in page.url
    desktop.ask("999+1")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(sentence(page)).to_contain_text("1000")
    page.go_back()
    expect(sentence(page)).to_contain_text("125")
    expect(page.get_by_label("Your sum")).to_have_value("58+67")
    page.go_forward()
    expect(sentence(page)).to_contain_text("1000")
    page.get_by_label("Your sum").fill("")
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.setData("text", "  1,000\\n+   23\\n------\\n");
          const pasted = new ClipboardEvent("paste", { clipboardData: data, cancelable: true });
          document.querySelector("#sum").dispatchEvent(pasted);
        }"""
    )
    page.get_by_role("button", name="Add", exact=True).click()
    expect(sentence(page)).to_contain_text("The top row holds the answer: 1023.")


def test_a_link_plays_and_holds_sum_model_damage_and_view(desktop: Visit):
    page = desktop.open()
    desktop.ask("99+1")
    expect(sentence(page)).to_contain_text("100")
    page.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    page.evaluate("gridsum.app.hero.damage([1, 2, 6], [3, 4, 5])")
    expect(sentence(page)).to_contain_text("The red cells hold something wrong now.")
    damaged = page.evaluate("[...gridsum.app.hero.film.computation.at(0)]")
    page.get_by_role("button", name="link", exact=True).click()
    expect(page.locator("#shared")).to_have_text("link copied")
    link = page.evaluate("window.copied")
    desktop.open("#" + link.split("#")[1])
    assert page.evaluate("[...gridsum.app.hero.film.computation.at(0)]") == damaged
    page.get_by_label("Who adds?").select_option("base")
    expect(sentence(page)).to_contain_text("base stops after")
    expect(page.locator("#scores")).to_have_text(re.compile("^base: 100% right on sums of random .*; 55% right on 9…9"))
    page.evaluate("location.hash = '#proof'")  # a link to a section keeps the sum
    page.wait_for_url(re.compile("sum=99.*model=base.*view=proof"))
    expect(sentence(page)).to_contain_text("base stops after")
    desktop.open("#sum=7%2B8&model=gone&base=77&damage=zz.zz*1&view=nowhere")
    expect(sentence(page)).to_contain_text("15")
    desktop.open("#sum=12%2Bx")
    expect(page.get_by_role("alert")).to_contain_text("“x” is not allowed")
    expect(sentence(page)).to_contain_text("10041")


def cell_at(page: Page, row: float, column: float) -> tuple[float, float]:
    box = page.locator("#hero canvas").bounding_box()
    left, top, cell = page.evaluate("(({ left, top, cell }) => [left, top, cell])(gridsum.app.hero.place)")
    return box["x"] + left + (column + 0.5) * cell, box["y"] + top + (row + 0.5) * cell


def test_a_finger_chooses_a_cell_and_lights_it_up_everywhere(browser: Browser, address: str):
    with visiting(browser, address, PHONE, has_touch=True) as visit:
        page = visit.open()
        page.touchscreen.tap(*cell_at(page, 1, 5))
        card = page.locator("#hero-cell")
        expect(card.locator(".cell-title")).to_have_text("Row 2, column 1 from the right")
        expect(card).to_contain_text("2 + 3 make 5: write 5.Its state is 5. Its line of the rule: symbol 2, left 2, ")
        expect(page.locator("#state-list .lit")).to_have_attribute("aria-label", re.compile("^State 5: bits"))
        expect(page.get_by_label("its own symbol")).to_have_value("2")
        expect(page.locator(".becomes")).to_contain_text("It becomes 5. 2 here, 3 from below, no carry")
        told = "2 + 3 + 0 = 5. It becomes 5, with each of 23 left neighbours. ✓ right"
        expect(page.locator("#case")).to_contain_text(told)
        page.evaluate("gridsum.app.hero.go(gridsum.app.hero.film.momentOf(0))")  # the card follows the film
        expect(card).to_contain_text("Its state is the start. Its line of the rule: symbol 2, left the start,")


def test_a_stroke_damages_cells_that_heal(browser: Browser, address: str):
    with visiting(browser, address, reduced_motion="no-preference") as visit:
        page = visit.open(f"#sum={EXAMPLE.replace('+', '%2B')}")
        page.evaluate("gridsum.app.hero.stepBy(Infinity)")
        page.mouse.move(*cell_at(page, 0, 1))
        page.mouse.down()
        page.mouse.move(*cell_at(page, 0, 4), steps=2)
        hurt = """() => { const { film: { scene }, step } = gridsum.app.hero, states = scene.at(step);
                          return states.reduce((sum, _, at) => sum + scene.cell(states, at, step).hurt, 0); }"""
        assert page.evaluate(hurt) == 4
        expect(sentence(page)).to_contain_text("The red cells hold something wrong now.")
        page.mouse.up()
        page.wait_for_timeout(400)
        assert page.evaluate(hurt) == 4, "damage is seen for a second"
        assert "damage=" in page.url
        page.evaluate("gridsum.app.hero.speed = 50")
        expect(sentence(page)).to_contain_text("It has healed. The top row holds the answer: 10041.")
        assert page.evaluate(hurt) == 0


def test_what_is_copied_from_frame_to_frame_looks_as_if_drawn_anew(desktop: Visit):
    page = desktop.open("#sum=99999%2B1%2B99999")
    page.evaluate("gridsum.app.hero.damage([3, 4, 5, 13], [3, 4, 5, 6])")
    worst = """() => {
      const { hero } = gridsum.app, { keep, context } = hero.pen, { width, height } = hero.canvas;
      const pixels = () => { hero.draw(); return context.getImageData(0, 0, width, height).data; };
      let worst = 0, copied = 0;
      for (let moment = 0; moment <= hero.film.last; moment += 1) {
        for (const progress of [0, 0.3, 0.31, 1]) {
          Object.assign(hero, { moment, progress });
          hero.pen.keep = function (...all) { copied += 1; return keep.apply(this, all); };
          const ours = pixels();
          hero.pen.keep = null;
          pixels().forEach((value, at) => { worst = Math.max(worst, Math.abs(value - ours[at])); });
        }
      }
      return [worst, copied];
    }"""
    difference, copied = page.evaluate(worst)
    assert difference <= 3  # of 255: layers are rounded once more
    assert copied > 10


def test_by_keyboard_alone(desktop: Visit):
    page = desktop.open()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the link that skips to the sum
    expect(page.get_by_label("Your sum")).to_be_focused()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("99+1")
    page.keyboard.press("Enter")
    expect(sentence(page)).to_contain_text("100")
    last = page.evaluate("gridsum.app.hero.film.computation.steps")
    page.locator("#hero .back").focus()
    page.keyboard.press("ArrowLeft")
    expect(step_name(page)).to_have_text(f"step {last - 1} of {last}")
    page.keyboard.press("End")
    page.locator("#hero canvas").focus()
    page.keyboard.press("ArrowLeft")  # chooses the cell at the top right
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#hero-cell .cell-title")).to_have_text("Row 2, column 2 from the right")
    expect(page.locator("#hero-cell")).to_contain_text("Its state is 9.")
    expect(page.locator("#hero-spoken")).to_contain_text("Row 1: 100. Row 2: 99.")
    bit = page.locator("#hero-cell .bits button").first
    bit.focus()
    page.keyboard.press("Enter")
    expect(bit).to_be_focused()
    assert page.evaluate("gridsum.app.hero.film.computation.disturbed")
    page.locator("#hero canvas").focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Delete")
    expect(page.locator("#hero-cell .cell-title")).to_have_text("Row 2, column 1 from the right")
    page.keyboard.press("Escape")
    expect(page.locator("#hero-cell .cell-card")).to_be_hidden()
    page.keyboard.press("End")
    expect(sentence(page)).to_contain_text("It has healed. The top row holds the answer: 100.")
    page.keyboard.press("Home")
    expect(step_name(page)).to_have_text(re.compile("^step 0 of"))
    page.keyboard.press(" ")
    assert page.evaluate("gridsum.app.hero.playing")


def saved(page: Page, button: str, ending: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    assert download.value.suggested_filename == f"gridsum-523-102-9416.{ending}"
    return Path(download.value.path()).read_bytes()


def test_pictures_film_and_data_are_what_is_shown(desktop: Visit):
    page = desktop.open("#sum=523%2B102%2B9416")
    picture = ElementTree.fromstring(saved(page, "SVG", "svg"))
    texts = [element.text or "" for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    headline = "It was shown answers. It found out how to add."
    for told in ("the answer", "523 + 102", headline, "523 + 102 + 9416 = 10041", f"gridsum {__version__}"):
        assert told in texts
    digits = [element for element in picture.iter("{http://www.w3.org/2000/svg}text") if element.text in set("0146253")]
    big = [element.text for element in digits if element.attrib["font-weight"] == "600"]
    assert "".join(text or "" for text in big) == "1" + "0" + "1" + "0" + "1" + "4" + "1" + "1" + "625523"
    with Image.open(io.BytesIO(saved(page, "PNG", "png"))) as png:
        assert png.size == (2 * int(picture.attrib["width"]), 2 * int(picture.attrib["height"]))
    with Image.open(io.BytesIO(saved(page, "GIF film", "gif"))) as film:
        shown = sum(frame.load() is not None for frame in ImageSequence.Iterator(film))
    assert shown == 1 + 3 * (len(EXAMPLE) + 1 + STEPS)
    data = json.loads(saved(page, "JSON", "json"))
    assert (data["answer"], data["steps"], data["correct"]) == ("10041", STEPS, True)
    grids = list(frames_of(TABLE, tuple(EXAMPLE.split("+"))))
    for n, grid in enumerate(grids[1:], 1):
        rows = ["".join(TABLE.text(state).replace("·", " ") if state else " " for state in row) for row in grid]
        assert data["frames"][n]["rows"] == rows


def test_nothing_moves_where_motion_is_not_wanted_and_the_figures_are_live(window: Visit):
    page = window.open()
    expect(sentence(page)).to_contain_text("The top row holds the answer: 10041.")
    assert not page.evaluate("gridsum.app.hero.playing")
    hero = page.locator("#hero")
    hero.get_by_role("button", name="Play").click()
    hero.get_by_role("button", name="Pause").click()
    hero.get_by_role("button", name="One step forward").click()
    assert page.evaluate("!gridsum.app.hero.playing && gridsum.app.hero.moment > 0")
    expect(page.locator("#actions")).to_contain_text("0 … 9")
    writing = page.locator("#writing")
    expect(writing.locator(".moment")).to_contain_text("It reads = and skips it. The problem is written down.")
    writing.get_by_role("button", name="One step back").click()
    expect(writing.locator(".moment")).to_have_text("It reads 1 and writes it at the right end of the top row.")
    carry = page.locator("#carry")
    expect(page.locator("#wave-caption")).to_contain_text("8 columns believed in a carry that did not come.")
    box = page.locator("#spacetime canvas").bounding_box()
    page.locator("#spacetime canvas").click(position={"x": box["width"] / 2, "y": box["height"] - 4})
    expect(carry.locator(".moment")).to_contain_text("The top row holds the answer: 999999999.")
    carry.get_by_role("button", name="999999999 + 1").click()
    expect(page.locator("#wave-caption")).to_contain_text("Here the belief was right from the start")
    proof = prove(TABLE)
    expect(page.locator("#states h2")).to_contain_text(f"{len(proof.states)} states")
    expect(page.locator("#state-list button")).to_have_count(len(proof.states))
    page.get_by_role("button", name=re.compile("^State 5 with a carry")).click()
    expect(page.locator("#state-caption")).to_contain_text("5 with a carry is")
    page.get_by_label("its own symbol").select_option("8")
    page.locator(".one-cell .below select").select_option(label="9")
    expect(page.locator(".becomes")).to_contain_text("It becomes 8 with a carry. 8 here, 9 from below, 1 carried")
    expect(page.locator("#changes-caption")).to_contain_text(f"523 + 102 + 9416: {STEPS} steps, then none.")
    page.locator("#scramble").click()
    healing = page.locator("#healing")
    expect(healing.locator(".moment")).to_contain_text("The red cells hold something wrong now.")
    healing.get_by_label("Moment").evaluate("(s) => { s.value = s.max; s.dispatchEvent(new Event('input')); }")
    expect(healing.locator(".moment")).to_contain_text("It has healed. The top row holds the answer: 72740879.")
    page.get_by_role("button", name="Check all cases").click()
    expect(page.locator("#checked")).to_have_text(f"{proof.evaluations:,} looked up, 0 wrong. Proved ✓")
    page.get_by_role("button", name="A cell with +").click()
    page.get_by_role("application", name="The map of cases").press("ArrowRight")
    expect(page.locator("#case")).to_contain_text("A cell with +; to the right: 0;")
    box = page.locator("#honest")
    runs = [run for command in json.loads(other_records(EXACT_SEEDS).read_text())["fresh"] for run in command["runs"]]
    proved = [run for run in runs if run["proved"]]
    expect(box).to_contain_text(f"{len(proved)} of {len(runs)} fresh training runs")
    expect(box).to_contain_text(f"{sum(run['round'] == 1 for run in proved)} in the first round")
    for key in ("given", "learned", "polished"):
        expect(box).to_contain_text(words("en")[f"honest.{key}-text"])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_paper_s_network_races_breaks_and_is_looked_into(window: Visit):
    page = window.open("#view=race")
    note = page.locator("#race-note")
    expect(note).to_have_text(f"{EXAMPLE} = 10041. Both are right.")
    expect(page.locator("#race-exact .moment")).to_contain_text("The top row holds the answer: 10041.")
    page.get_by_text("Look inside the paper’s network").click()
    expect(page.locator("#attention button")).to_have_count(64)
    page.get_by_role("button", name="Head 3", exact=True).click()
    expect(page.get_by_role("button", name="Head 3", exact=True)).to_be_focused()
    expect(page.locator("#attention-caption")).to_contain_text("Head 3 looks")
    expect(page.locator("#attention .terms figure")).to_have_count(4)
    for told, known in zip(told_terms(page), terms_in_python(3), strict=True):
        assert told == pytest.approx(known, abs=0.051), "told to one decimal"
    expect(page.locator("#halting-caption")).to_contain_text("It stopped after step 11")
    expect(page.locator("#ring svg text")).to_have_count(10)
    expect(page.locator("#ring-caption")).to_contain_text("10 of the 10 pairs")
    page.locator("#race-transport").get_by_role("button", name="One step back").click()
    expect(note).to_be_empty()  # the verdict comes last
    expect(page.locator("#attention-caption")).to_contain_text("in step 10.")
    page.evaluate("let seed = 7; Math.random = () => { seed = seed * 48271 % 2147483647; return seed / 2147483647; }")
    page.get_by_role("button", name="A random sum").click()
    expect(page.locator("#race-count")).to_have_text(re.compile("^One random sum tried, .* base was right on 1.$"))
    page.get_by_role("button", name="Now 9999999 + 1").click()
    early = "base says 9000000. It halted after 11 steps. Had it gone on, its own cells would have had"
    expect(note).to_contain_text(early)
    needed = "gridsum.app.figures.find(f => f.watchers).right.film.computation.wouldBeRight()"
    assert longer_until_right(("9999999", "1")) == page.evaluate(needed)


def longer_until_right(terms: tuple[str, ...]) -> int:
    """The first step after it halts at which base's top row reads as the sum."""
    model = load("base")
    (answer,) = solve(model, [terms])
    traced = trace_expression(model, terms, answer.steps + 5)
    read = [ADD.decode(row.argmax(-1)[0].tolist()) for row in traced.decoded]
    return next(n for n in range(answer.steps + 1, len(read)) if read[n] == answer.expected)


def told_terms(page: Page) -> list[list[float]]:
    titles = page.locator("#attention .terms figure").evaluate_all("all => all.map(one => one.title)")
    return [[float(value) for value in title.split()] for title in titles]


def terms_in_python(head: int) -> list[list[float]]:
    """The four terms of a head's score, of the cell at the top right in the last step."""
    model, terms = load("base"), tuple(EXAMPLE.split("+"))
    (answer,) = solve(model, [terms])
    grid = trace_expression(model, terms, answer.steps).grids[answer.steps - 1]
    return score_terms(model.network.step.attention, grid, 0, grid.shape[1] - 1, head).tolist()


def test_large_sums_have_an_overview_and_a_window(window: Visit):
    page = window.open("#sum=9{20000}%2B1")
    page.evaluate("gridsum.app.hero.go(7000)")
    expect(step_name(page)).to_have_text(f"step 7,000 of {LONG:,}")
    hero = "gridsum.app.hero"
    column = page.evaluate(f"{hero}.panorama.corner.column")
    page.locator("#hero canvas").click(position={"x": 20, "y": 12})  # the overview, far to the left
    assert page.evaluate(f"{hero}.panorama.corner.column") < 2000 < column
    page.evaluate(f"{hero}.play()")
    page.wait_for_function(f"{hero}.step > 7100")
    page.evaluate(f"{hero}.pause()")
    seen = page.evaluate(
        f"""(() => {{
          const {{ film, place, panorama, step }} = {hero}, wave = film.scene.size.width - 1 - step;
          return [wave, panorama.corner.column, panorama.corner.column + place.columns];
        }})()"""
    )
    assert seen[1] - 5 <= seen[0] <= seen[2] + 5
    page.get_by_role("button", name="1,000 numbers").click()
    expect(sentence(page)).to_contain_text("The top row holds the answer")
    assert page.evaluate(f"{hero}.film.computation.answer === {hero}.film.computation.exact")
    window.ask("1{700000}")
    expect(page.get_by_role("alert")).to_contain_text("This page takes up to 600,000")
