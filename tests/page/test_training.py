"""How a run learned, on the page: the small networks of the slider compute what torch computes."""

import json
import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, expect

from benchmarks import slider
from gridsum.automaton.files import read_rule
from gridsum.automaton.rule import LearnedRule
from gridsum.config.registry import find
from gridsum.model.store import SHIPPED, WEIGHTS, configuration_of, load_runs, save_run
from gridsum.page.data import facts_of
from gridsum.page.site import TRAINING
from gridsum.training.folders import kept_weights, write_outcome
from gridsum.training.loop import held_out_problems
from tests.browser import visiting
from tests.page.conftest import Node

SMALL = {"rule.width": 32, "rule.hidden": 32, "discovery.keep_epochs": 30}


@pytest.fixture(scope="module", params=["add", "add:base=2"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that kept weights of three epochs; they are random ones."""
    folder = tmp_path_factory.mktemp("run")
    config = find("exact").configure(None, request.param, SMALL)
    for seed, name in enumerate([kept_weights(9), kept_weights(30), kept_weights(60), WEIGHTS]):
        save_run(folder / name, find("exact").build(config, [seed]), 0, config, 0)
    write_outcome(folder / find("exact").outcome, {"device": "a machine; torch 2"})
    return folder


def test_its_networks_step_as_torch_does(run: Path, node: Node, tmp_path: Path):
    """Weights are rounded on the page: bits that torch decides clearly are the same."""
    (tmp_path / "training.js").write_text(slider.training_script(run))
    rule = LearnedRule(load_runs("run", [run / WEIGHTS]).network)
    base, generator = rule.task.alphabet.base, torch.Generator().manual_seed(0)
    x = torch.randint(base + 2, (400,), generator=generator)
    contexts = torch.randint(rule.outside + 1, (400, 3), generator=generator)
    script = """
      const network = await gridsum.LearnedNetwork.from(gridsum.training.moments.at(-1), gridsum.training.shape, "it");
      const usual = (x) => (x < network.base ? x : x - network.base + 10);
      for (const [x, ...around] of input) told.push(network.after(usual(x), ...around));
      told.push(network.symbols.length, [...network.symbols]);"""
    *found, count, symbols = node(script, torch.cat((x[:, None], contexts), 1).tolist(), (tmp_path / "training.js",))
    z = rule.logits(x, contexts).detach()
    ours = z > 0
    theirs = (torch.tensor(found)[:, None] >> torch.arange(rule.bits)) & 1 == 1
    clear = z.abs() > 0.25
    assert clear.double().mean() > 0.8
    assert torch.equal(ours[clear], theirs[clear])
    assert count == rule.outside
    wanted = [symbol if symbol <= base else symbol - base + 10 for symbol in rule.outputs().tolist()]
    assert symbols == wanted


def test_the_run_that_ships_learns_to_carry_and_stays_right_when_rounded(node: Node):
    """The share of held-out problems right is that of weights that were not rounded; the page's are about as good."""
    script = SHIPPED / TRAINING
    told = json.loads(script.read_text().partition(" = ")[2].rstrip(";\n"))
    assert 12 <= len(told["moments"]) <= 20
    assert told["heldOut"][0] < 0.1
    assert told["heldOut"][-1] == 1
    config = find("exact").configure("small")
    assert told["command"].startswith("gridsum train --variant exact --setting small --seeds 0 ")
    sums = ["99999+1", *held_out_problems(config, torch.device("cpu"))[0].expressions()][:32]
    chosen = [0, len(told["at"]) // 2 + 1, len(told["at"]) - 1]
    solve = """
      for (const index of input.chosen) {
        const { moments, shape } = gridsum.training;
        const network = await gridsum.LearnedNetwork.from(moments[index], shape, "it");
        const done = input.sums.map((sum) => new gridsum.LearnedComputation(network, gridsum.parse(sum)));
        told.push(done.map(({ answer, exact }) => answer === exact));
      }"""
    found = node(solve, {"chosen": chosen, "sums": sums}, (script,))
    for index, right in zip(chosen, found, strict=True):
        assert sum(right) / len(right) == pytest.approx(told["heldOut"][index], abs=0.2)
    assert all(found[-1])


def test_a_slider_shows_it(browser: Browser, address: str):
    with visiting(browser, address) as visit:
        page = visit.open("#view=training")
        told = page.locator(".learned")
        expect(told).to_contain_text("After polishing (consolidation) It had seen")
        expect(page.locator("#training-command")).to_contain_text("gridsum train --variant exact --setting small")
        page.get_by_label("Moment of the training").fill("0")
        expect(told).to_contain_text(re.compile(r"After 0 of [\d,]+ training steps · short sums: where symbols go"))
        page.get_by_label("A sum for it").fill("1+1+1")
        page.get_by_role("button", name="Try").click()
        answer = "gridsum.app.figures.find((one) => one.slider).player.film.computation"
        expect(page.locator("#learning .moment")).to_contain_text(page.evaluate(f"{answer}.exact"))
        assert page.evaluate(f"{answer}.terms") == ["1", "1", "1"]


def test_the_page_counts_what_the_shipped_run_saw():
    """Not what one of today's recipe would see."""
    config = configuration_of(SHIPPED / "exact.safetensors")
    told = facts_of(read_rule(SHIPPED / "exact.rule.json"))
    assert told["examples"] == config.steps * config.discovery.batch == 768_000
