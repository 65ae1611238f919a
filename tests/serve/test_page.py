"""The page in a real browser, as a visitor uses it."""

import json
import re
import struct
import urllib.request
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.serve.conftest import DESKTOP, Visit, visit

EXAMPLE = "523+102+9416"
PANELS = ("answer", "computation", "placement", "halting", "attention", "representation")


def ask(server: str, path: str, **body: Any) -> Any:
    request = urllib.request.Request(
        server + path, json.dumps(body).encode(), {"content-type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def symbols(panel: Locator) -> list[str]:
    """What the cells of a drawn grid show, row by row."""
    cells = panel.locator("g.cell")
    shown = cells.locator("text.symbol").all_text_contents()
    tops = cells.locator("rect.box").evaluate_all("boxes => boxes.map(box => box.getAttribute('y'))")
    rows: dict[str, str] = {}
    for top, symbol in zip(tops, shown, strict=True):
        rows[top] = rows.get(top, "") + symbol
    return list(rows.values())


def changed(panel: Locator) -> list[bool]:
    return panel.locator("g.cell").evaluate_all("cells => cells.map(cell => cell.classList.contains('changed'))")


def go_to(page: Page, step: int) -> None:
    page.get_by_label("Step", exact=True).evaluate(
        "(slider, step) => { slider.value = step; slider.dispatchEvent(new Event('input')); }", step
    )


def test_a_sum_is_typed_and_answered(window: Visit):
    page = window.open()
    window.ask("58+67")
    answer = page.locator(".answer")
    expect(answer.locator(".said")).to_have_text("125")
    expect(answer.locator(".mark")).to_have_text("✓ right")
    steps = ask(window.address, "/trace", expression="58+67")["steps"]
    expect(answer.locator(".facts")).to_have_text(re.compile(rf"^{steps} steps, .* \d+ ms of computation\.$"))
    for name in PANELS:
        panel = page.locator(f".{name}")
        expect(panel).to_be_visible()
        assert panel.locator(".caption").first.inner_text().strip().endswith(".")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_wrong_answer_is_marked(desktop: Visit):
    page = desktop.open()
    page.get_by_role("button", name="many terms").click()
    expect(page.locator(".mark")).to_have_text("✗ wrong: the sum is 11139")
    expect(page.get_by_label("Sum", exact=True)).to_have_value("11134+1+1+1+1+1")


def test_bad_input_is_explained_and_can_be_mended(window: Visit):
    page = window.open()
    page.get_by_label("Sum", exact=True).fill("12+x")
    page.keyboard.press("Enter")
    message = page.get_by_role("alert")
    expect(message).to_have_text("'x' is not allowed; an expression holds only the digits 0-9, '+' and one '='")
    page.get_by_label("Sum", exact=True).fill("9" * 401)
    page.keyboard.press("Enter")
    expect(message).to_contain_text("this server allows 400 (max-digits)")
    expect(page.locator(".said")).to_have_text("10041")  # what was there stays there
    window.ask("12+3")
    expect(message).to_be_hidden()
    expect(page.locator(".said")).to_have_text("15")


def test_every_step_shows_what_the_trace_says(window: Visit):
    page = window.open(f"#expression={EXAMPLE.replace('+', '%2B')}")
    readings = ask(window.address, "/trace", expression=EXAMPLE)["readings"]
    computation = page.locator(".computation")
    for n, reading in enumerate(readings):
        go_to(page, n)
        assert symbols(computation) == reading["symbols"]
        before = readings[n - 1]["symbols"] if n else reading["symbols"]
        marks = [
            a != b for new, old in zip(reading["symbols"], before, strict=True) for a, b in zip(new, old, strict=True)
        ]
        assert changed(computation) == marks
        expect(computation.locator("output")).to_have_text(reading["symbols"][0].strip())
    expect(page.locator("#step-name")).to_have_text(f"Step {len(readings) - 1} of {len(readings) - 1}")
    expect(computation.locator("output")).to_have_text(page.locator(".said").inner_text())
    sure = [int(text) for text in computation.locator(".per-cent").all_text_contents() if text]
    last = readings[-1]
    shown = [
        share
        for row, shares in zip(last["symbols"], last["confidence"], strict=True)
        for symbol, share in zip(row, shares, strict=True)
        if symbol != " "
    ]
    assert sure == shown


def test_play_pause_and_single_steps(window: Visit):
    page = window.open()
    name = page.locator("#step-name")
    steps = ask(window.address, "/trace", expression=EXAMPLE)["steps"]
    # Paused by the page itself, since another process may be too late.
    page.evaluate(
        """() => new Promise((paused) => {
          const name = document.getElementById("step-name"), play = document.getElementById("play");
          new MutationObserver((_, observer) => {
            if (!name.textContent.startsWith("Step 2 ")) return;
            observer.disconnect();
            play.click();
            paused();
          }).observe(name, { childList: true, characterData: true, subtree: true });
          play.click();
        })"""
    )
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    here = name.inner_text()
    assert here == f"Step 2 of {steps}"
    page.wait_for_timeout(700)
    assert name.inner_text() == here
    page.get_by_role("button", name="First step").click()
    expect(name).to_have_text(f"Step 0 of {steps}")
    page.get_by_role("button", name="One step forward").click()
    page.get_by_role("button", name="One step forward").click()
    page.get_by_role("button", name="One step back").click()
    expect(name).to_have_text(f"Step 1 of {steps}")
    page.get_by_role("button", name="Last step").click()
    expect(name).to_have_text(f"Step {steps} of {steps}")


def test_by_keyboard_alone(desktop: Visit):
    page = desktop.open()
    page.keyboard.press("Tab")  # past the skip link and the link to the API
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Sum", exact=True)).to_be_focused()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("7+8")
    page.keyboard.press("Enter")
    expect(page.locator(".said")).to_have_text("15")
    desktop.settle()
    page.locator("#views").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#step-name")).to_have_text(re.compile("^Step 2 of"))
    page.keyboard.press("End")
    page.keyboard.press(" ")  # plays again from the start
    expect(page.locator("#step-name")).to_have_text(re.compile("^Step [1-9] of"))
    page.keyboard.press(" ")
    page.locator(".computation svg").focus()
    chosen = page.locator(".computation .chosen")
    expect(chosen).to_contain_text("row 1, column 4")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    expect(chosen).to_contain_text("row 2, column 3")
    page.locator(".heads svg").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".label")).to_contain_text("Head 17 is")


def test_the_input_is_written_symbol_by_symbol(window: Visit):
    page = window.open()
    trace = ask(window.address, "/trace", expression=EXAMPLE)
    placement = page.locator(".placement")
    assert symbols(placement) == trace["placed"]["symbols"] == ["  +9416", "   +102", "    523", "       "]
    shares = placement.locator(".probable").evaluate_all(
        "all => all.map(one => Number(one.getAttribute('fill-opacity')))"
    )
    assert shares == [share for action in trace["actions"] for share in action.values()]
    blank = " " * 7
    written = {0: [blank] * 4, 3: ["    523", *[blank] * 3], 4: ["      +", "    523", *[blank] * 2]}
    written |= {12: trace["placed"]["symbols"]}
    for count, rows in written.items():
        placement.get_by_label("Symbols written").fill(str(count))
        assert symbols(placement) == rows
    placement.locator("g.column").nth(1).click()
    count = placement.locator(".count")
    expect(count).to_have_text("2 of 13 symbols")
    count.evaluate(
        """count => {
          window.counts = [];
          new MutationObserver(() => window.counts.push(Number.parseInt(count.textContent, 10)))
            .observe(count, { childList: true, characterData: true, subtree: true });
        }"""
    )
    placement.get_by_role("button", name="Write").click()
    expect(count).to_have_text("13 of 13 symbols")
    assert page.evaluate("window.counts") == list(range(14))
    assert symbols(placement) == trace["placed"]["symbols"]


def test_halting_shows_where_it_stopped(window: Visit):
    page = window.open()
    trace = ask(window.address, "/trace", expression=EXAMPLE)
    steps, readings = trace["steps"], trace["readings"]
    chart = page.locator(".halting svg")
    heights = [
        float(bar) for bar in chart.locator(".p").evaluate_all("bars => bars.map(b => b.getAttribute('height'))")
    ]
    full = 190 - 14 - 30
    assert heights == pytest.approx([full * reading["probability"] for reading in readings], abs=0.01)
    titles = chart.locator("title").all_text_contents()
    assert titles[-1] == f"step {steps}: λ {readings[-1]['halting']:.3f}, p {readings[-1]['probability']:.3f}"
    lines = chart.locator("line.stop, polyline.lambda")
    last = lines.nth(0).get_attribute("points")
    stop = lines.nth(1).get_attribute("x1")
    assert last is not None
    assert stop is not None
    assert last.split()[-1].startswith(f"{float(stop):.1f},")
    chart.locator("g.column").nth(5).click()
    expect(page.locator("#step-name")).to_have_text(f"Step 5 of {steps}")


def test_a_cell_and_a_head_are_chosen(window: Visit):
    page = window.open()
    go_to(page, 5)
    page.locator(".computation g.cell").nth(8).click()  # row 1, column 1 of 7 columns, from 0
    page.locator(".heads g.tile").nth(12).click()
    window.settle()
    label = page.locator(".label")
    expect(label).to_contain_text("Cell in row 2, column 2, step 6. Head 12 is")
    view = ask(window.address, "/attention", expression=EXAMPLE, step=5, row=1, column=1)
    head = view["heads"][12]
    figures = page.locator(".terms figure")
    expect(figures).to_have_count(5)
    percentages = figures.nth(0).locator("text.small").all_text_contents()
    assert percentages == [f"{int(100 * weight + 0.5)} %" for weight in head["weights"]]
    for number, term in enumerate(("query_key", "bias_key", "query_position", "bias_position"), 1):
        shown = [float(text) for text in figures.nth(number).locator("text.small").all_text_contents()]
        assert shown == pytest.approx(head["terms"][term], abs=0.0051)
    page.locator(".attention select").select_option("35")
    expect(label).to_contain_text(re.compile("Head 35 is (position-based|content-based|mixed|unselective)"))
    page.get_by_text("How heads are labelled").click()
    expect(page.locator(".criterion")).to_contain_text("named after position or content")


def test_the_chosen_cell_moves_on_the_plane(window: Visit):
    page = window.open()
    points = ask(window.address, "/path", expression=EXAMPLE, row=0, column=6)["points"]
    plane = page.locator(".plane svg")
    expect(plane.locator(".centroid")).to_have_count(10)
    expect(page.locator(".roundness")).to_contain_text(re.compile(r"go around (once|\d times) \(fit [01]\.\d\d"))
    places = []
    for step in (0, 4, 8):
        go_to(page, step)
        line = plane.locator(".path").get_attribute("points")
        assert line is not None
        assert len(line.split()) == step + 1
        places.append([float(plane.locator(".here").get_attribute(f"c{axis}") or "nan") for axis in "xy"])
    # One scale for both axes, upwards positive.
    (x0, y0), (x4, y4), _ = places
    scale = (x4 - x0) / (points[4]["x"] - points[0]["x"])
    assert scale > 0
    assert y4 - y0 == pytest.approx(-scale * (points[4]["y"] - points[0]["y"]), abs=0.3)
    page.locator(".computation g.cell").first.click()
    window.settle()
    expect(plane.locator(".here")).to_be_visible()
    assert float(plane.locator(".here").get_attribute("cx") or "nan") != places[-1][0]


def test_two_models_side_by_side(window: Visit, untrained: str):
    page = window.open()
    window.ask("58+67")
    page.get_by_label("Compare with").select_option(untrained)
    expect(page.locator(".answer")).to_have_count(2)
    window.settle()
    first, second = page.locator(".answer").all()
    expect(first.locator(".mark")).to_have_text("✓ right")
    expect(second.locator(".mark")).to_have_text("✗ wrong: the sum is 125")
    tops = page.locator(".computation").evaluate_all("panels => panels.map(panel => panel.getBoundingClientRect().y)")
    beside = tops[0] == tops[1]
    assert beside == (page.viewport_size == DESKTOP)
    last = int(page.get_by_label("Step", exact=True).get_attribute("max") or 0)
    traces = [ask(window.address, "/trace", expression="58+67", model=model) for model in ("base", untrained)]
    assert last == max(trace["steps"] for trace in traces)
    for step in (0, 1, last):
        go_to(page, step)
        for panel, trace in zip(page.locator(".computation").all(), traces, strict=True):
            assert symbols(panel) == trace["readings"][min(step, trace["steps"])]["symbols"]
    page.get_by_label("Compare with").select_option("")
    expect(page.locator(".answer")).to_have_count(1)


def test_one_fails_where_the_other_does_not(window: Visit):
    """A chosen cell is the same in both."""
    page = window.open("#model=base&compare=base-digits")
    window.ask("12+34+56+78+90")
    assert page.locator(".answer .mark").all_text_contents() == ["✓ right", "✗ wrong: the sum is 270"]
    first, second = page.locator(".computation").all()
    first.locator("g.cell").nth(1).click()
    window.settle()
    for computation in (first, second):
        expect(computation).to_contain_text("row 1, column 2, reads")
    assert window.errors == []


def test_a_model_that_does_not_choose_when_to_halt(desktop: Visit, fixed: str):
    page = desktop.open()
    page.get_by_label("Model", exact=True).select_option(fixed)
    desktop.settle()
    expect(page.locator(".halting .legend")).to_contain_text("has no probability of stopping")
    expect(page.locator(".halting polyline.change")).to_have_count(1)
    expect(page.locator(".facts")).to_contain_text("12 steps")
    expect(page.get_by_label("Throw no.")).to_be_hidden()
    expect(page.locator(".terms figure")).to_have_count(5)


def test_another_rule_and_another_throw(desktop: Visit):
    page = desktop.open()
    page.get_by_label("Stop", exact=True).select_option("median")
    desktop.settle()
    steps = ask(desktop.address, "/solve", expression=EXAMPLE, halting="median")["steps"]
    expect(page.locator(".facts")).to_contain_text(f"{steps} steps, stopped by the rule ‘median’")
    expect(page.get_by_label("Throw no.")).to_be_hidden()
    page.get_by_label("Stop", exact=True).select_option("")
    page.get_by_label("Throw no.").fill("7")
    page.get_by_label("Throw no.").press("Enter")
    desktop.settle()
    steps = ask(desktop.address, "/solve", expression=EXAMPLE, seed=7)["steps"]
    expect(page.locator(".facts")).to_contain_text(f"{steps} steps, stopped by the rule ‘sampled’")


def test_a_link_reopens_the_view(desktop: Visit, untrained: str):
    page = desktop.open()
    desktop.ask("99+1")
    page.get_by_label("Compare with").select_option(untrained)
    desktop.settle()
    go_to(page, 4)
    page.locator(".computation").first.locator("g.cell").nth(3).click()
    page.locator(".heads").first.locator("g.tile").nth(9).click()
    desktop.settle()
    seen = (".said", ".chosen", ".label", "#step-name", ".mark")
    before = [page.locator(selector).all_inner_texts() for selector in seen]
    page.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    page.get_by_role("button", name="Link").click()
    expect(page.locator("#kept")).to_have_text("link copied")
    link = page.evaluate("window.copied")
    page.goto("about:blank")
    page.goto(link)
    desktop.settle()
    expect(page.locator(".label").first).to_contain_text("Head 9 is")
    assert [page.locator(selector).all_inner_texts() for selector in seen] == before


def test_a_broken_link_is_no_trap(desktop: Visit):
    page = desktop.open("#expression=58%2B67&model=gone&step=99999&row=-4&column=77&head=999&seed=x")
    expect(page.locator(".said")).to_have_text("125")
    expect(page.locator("#step-name")).to_have_text(re.compile(r"Step (\d+) of \1$"))


def saved_by(page: Page, button: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    assert download.value.suggested_filename == f"gridsum-523-102-9416.{button.lower()}"
    return Path(download.value.path()).read_bytes()


def test_the_view_is_kept_as_a_picture_and_the_trace_as_json(window: Visit):
    page = window.open()
    go_to(page, 8)
    window.settle()
    picture = ElementTree.fromstring(saved_by(page, "SVG"))
    texts = "|".join(element.text or "" for element in picture.iter("{http://www.w3.org/2000/svg}text"))
    steps = ask(window.address, "/trace", expression=EXAMPLE)["steps"]
    answered = ("base: 523+102+9416=10041", f"right, after {steps} steps")
    for told in (*answered, "Halting", "Q·K", "stopped", "Representation"):
        assert told in texts
    assert "var(" not in ElementTree.tostring(picture, "unicode")  # styles are the picture's own
    png = saved_by(page, "PNG")
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (2 * int(picture.attrib["width"]), 2 * int(picture.attrib["height"]))
    assert json.loads(saved_by(page, "JSON")) == ask(window.address, "/trace", expression=EXAMPLE)


def test_nothing_leaves_the_machine(window: Visit):
    page = window.open()
    window.ask("12+34")
    go_to(page, 3)
    page.locator(".computation g.cell").first.click()
    saved = page.locator("#svg")
    saved.click()
    window.settle()
    page.goto(f"{window.address}/docs")
    expect(page.locator(".operation").first).to_be_visible()
    assert len(window.requests) > 15
    outside = [url for url in window.requests if not url.startswith((window.address, "blob:", "data:"))]
    assert outside == []


def test_the_documentation_has_every_operation(window: Visit):
    window.page.goto(f"{window.address}/docs")
    with urllib.request.urlopen(f"{window.address}/openapi.json") as answer:
        paths = json.load(answer)["paths"]
    operations = window.page.locator(".operation")
    expect(operations).to_have_count(sum(len(methods) for methods in paths.values()))
    assert {"/solve", "/trace", "/models"} <= paths.keys()
    for path in paths:
        expect(operations.filter(has_text=path).first).to_be_visible()
    expect(window.page.locator("#limits li")).to_have_count(5)
    assert window.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def contrast(first: str, second: str) -> float:
    """The contrast of two CSS colours, as accessibility guidelines define it."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_readable(browser: Browser, server: str, scheme: str):
    for window in visit(browser, server, DESKTOP, color_scheme=scheme):
        page = window.open()
        panel = page.locator(".panel").first.evaluate("element => getComputedStyle(element).backgroundColor")
        brightness = sum(int(part) for part in re.findall(r"\d+", panel)[:3]) / 3
        assert (brightness > 128) == (scheme == "light")
        for selector in (".said", ".mark", ".caption", ".legend", ".facts", ".label .name", ".roundness"):
            colour = page.locator(selector).first.evaluate("element => getComputedStyle(element).color")
            assert contrast(colour, panel) >= 4.5, selector


def test_large_grids_become_an_overview(window: Visit):
    terms = "+".join(["7" * 300, "8" * 300, "9" * 300])
    page = window.open("#expression=" + terms.replace("+", "%2B"))
    computation = page.locator(".computation")
    expect(computation.locator("svg.overview")).to_be_visible()
    assert computation.locator("g.cell").count() <= 720
    box = computation.locator("svg.overview").bounding_box()
    assert box is not None
    computation.locator("svg.overview").click(position={"x": box["width"] * 0.1, "y": box["height"] * 0.5})
    expect(computation.locator(".chosen")).to_contain_text(re.compile("row 2, column 3[01],"))
    reading = ask(window.address, "/trace", expression=terms)["readings"][0]["symbols"]
    first = [line.strip() or " " for line in symbols(computation)]
    assert all(shown in line for shown, line in zip(first, reading, strict=True))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_scrubbing_a_large_grid_makes_nothing_anew(desktop: Visit):
    """What a step costs is what the browser has to make anew: the cells stay, and are only told what they show."""
    terms = "+".join(str(digit % 9 + 1) * 57 for digit in range(11))
    page = desktop.open("#expression=" + terms.replace("+", "%2B"))
    assert page.locator(".computation g.cell").count() == 12 * 60
    last = int(page.get_by_label("Step", exact=True).get_attribute("max") or 0)
    made = page.evaluate(
        """async last => {
          const slider = document.getElementById("step");
          let made = 0;
          const observer = new MutationObserver((records) => {
            for (const { addedNodes } of records) {
              made += [...addedNodes].filter((node) => node.nodeType === Node.ELEMENT_NODE).length;
            }
          });
          observer.observe(document.body, { childList: true, subtree: true });
          for (let turn = 0; turn < 10; turn += 1) {
            slider.value = turn % (last + 1);
            slider.dispatchEvent(new Event("input"));
            await new Promise(requestAnimationFrame);
          }
          return made;
        }""",
        last,
    )
    assert made < 10 * 12 * 60 / 4
