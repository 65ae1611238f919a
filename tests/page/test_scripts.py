"""What the page computes is what Python computes: sums, states of the rule, its proof, and the paper's networks."""

import base64
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from gridsum.automaton.files import read_rule, shipped_rules
from gridsum.automaton.proof import prove
from gridsum.automaton.rows import Rows
from gridsum.automaton.run import Run, frames
from gridsum.automaton.solve import solve
from gridsum.evaluation.solving import solve as solve_by_network
from gridsum.model.store import SHIPPED, load
from gridsum.page.data import network_script
from gridsum.tasks import ExpressionError, Task, find
from tests.oracles.column_addition import ADD, changed
from tests.oracles.traces import trace_expression
from tests.page.conftest import Node

TABLE = read_rule(SHIPPED / "exact.rule.json")
TABLES = {table.task.name: table for table in shipped_rules().values()}


def sums(count: int, terms: int, digits: int, seed: int) -> list[str]:
    """Sums of all shapes; half of them have few kinds of digits, so that carries are long."""
    chance = random.Random(seed)

    def term(letters: str) -> str:
        return "".join(chance.choices(letters, k=chance.randint(1, digits)))

    kinds = ("0123456789", "09", "019", "5", "0123456789")
    return ["+".join(term(chance.choice(kinds)) for _ in range(chance.randint(1, terms))) for _ in range(count)]


def problem_of(task: Task, text: str) -> str:
    """From a sum: its total less its terms but for the last; its digits in base 3; the last digits as factors."""
    first, *others = ADD.parse(text)
    if task.kind == "subtract":
        first, others = ADD.answer([first, *others]), [first, *others][:-1]
    joined = task.alphabet.signs.join([first, *(term[-1] if task.kind == "times" else term for term in others)])
    return joined.translate(str.maketrans("3456789", "0120122")) if task.alphabet.base == 3 else joined


@pytest.mark.parametrize("task", ["add", "subtract", "times:base=3", "max", "max:base=3"])
def test_every_cell_of_every_step_is_python_s_and_what_is_said_of_it_is_so(node: Node, task: str):
    """Over digits and blanks of the number below it is said to do what the row rule does, and at rest what is seen."""
    problems = [*sums(2500, 5, 8, 1), *sums(60, 3, 60, 2), *sums(30, 40, 4, 3), "9" * 300 + "+1", "0+" + "9" * 300]
    table, its = TABLES[task], TABLES[task].task
    problems, first = [problem_of(its, text) for text in problems], its.row.rightward or its.row.coq
    cases = [(seen, does) for seen, does in Rows.of(its).cases() if first or seen[0] is None or seen[1] is not None]
    script = """
      const its = await gridsum.ruleOf(input.task), does = (seen) => its.operation.column(its.base, ...seen);
      told.push(input.seen.map(does).map(({ write, hands }) => [write ?? 0, hands]));
      for (const sum of input.problems) {
        const done = new gridsum.RuleComputation(its, gridsum.parse(sum, its)).completeNow();
        const all = Buffer.concat(Array.from({ length: done.steps + 1 }, (_, n) => Buffer.from(done.at(n))));
        const text = (bytes) => Buffer.from(bytes).toString("base64"), { scene } = new gridsum.Film(done);
        const wrong = done.final.subarray(0, done.size.width * (done.terms.length - 1)).filter((_, index) => {
          const cell = scene.cell(done.final, index, done.steps), said = gridsum.columnAt(done, done.final, index);
          return said.write.replace("nothing", "0") !== (cell.text || "0") || said.hands !== cell.carry;
        });
        told.push([done.steps, done.answer, done.exact, text(all), text(done.settled.buffer), wrong.length]);
      }"""
    compared = 0
    columns, *found = node(script, {"task": task, "problems": problems, "seen": [seen for seen, _ in cases]})
    assert columns == [list(does) for _, does in cases]
    for problem, (steps, answer, exact, states, settled, wrong) in zip(problems, found, strict=True):
        terms = table.task.parse(problem)
        expected = np.stack(list(frames(table, terms)))
        assert (steps, wrong) == (len(expected) - 1, 0)
        assert answer == exact == table.task.answer(terms)
        assert base64.b64decode(states) == expected.tobytes()
        moved = np.diff(expected, axis=0, prepend=expected[:1]) != 0
        last = np.where(moved.any(0), len(expected) - 1 - moved[::-1].argmax(0), 0)
        assert (np.frombuffer(base64.b64decode(settled), "<u4").reshape(last.shape) == last).all()
        compared += expected.size
    assert compared > 500_000


def test_steps_of_a_large_sum_are_found_again_in_any_order(node: Node):
    """Not every state of a large grid is kept: those between are worked out again."""
    script = """
      const done = new gridsum.RuleComputation(rule, gridsum.parse(input.sum)).completeNow();
      told.push(done.steps, done.every, input.steps.map((n) => Buffer.from(done.at(n)).toString("base64")));"""
    wanted = [20_000, 3, 19_999, 12_345, 12_346, 12_300, 0]
    steps, every, found = node(script, {"sum": "9{20000}+1", "steps": wanted})
    assert steps == solve(TABLE, ("9" * 20_000, "1")).steps > 20_000
    assert every > 1
    for n, states in zip(wanted, found, strict=True):
        run = Run.of(TABLE, ("9" * 20_000, "1"))
        run.advance(n)
        assert base64.b64decode(states) == run.grid.tobytes()


def test_its_proof_counts_what_ours_counts(node: Node):
    script = """
      for (const [task, { kind, base }] of Object.entries(gridsum.data.rules)) {
        if (kind !== "add") continue;
        const proof = new gridsum.Proof(await gridsum.ruleOf(task));
        const states = new Set([...proof.meanings.keys()].map((key) => key % 256));
        told.push([base, proof.proved, proof.contexts.size, proof.evaluations, states.size]);
      }
      const { contexts, evaluations, states } = gridsum.data.facts;
      told.push([10, true, contexts, evaluations, states]);"""
    proofs = {table.task.alphabet.base: prove(table) for table in TABLES.values() if table.task.kind == "add"}
    ours = {base: [it.proved, it.contexts, it.evaluations, len(it.states)] for base, it in proofs.items()}
    told = node(script)
    assert len(told) == len(ours) + 1
    assert [base for base, *counted in told if counted != ours[base]] == []


def test_its_proof_fails_where_ours_fails(node: Node):
    """Entries that some sum meets, changed one at a time. Nobody reads the lowest row: a change there may pass."""
    script = """
      const contexts = [...new gridsum.Proof(rule).contexts.values()];
      const left = rule.meanings.findIndex(({ digit }, state) => state && digit === null);
      for (let index = 0; index < contexts.length; index += 211) {
        const { x, right, below } = contexts[index];
        const at = ((x * rule.side + left) * rule.side + right) * rule.side + below, before = rule.steps[at];
        rule.steps[at] = (before + 5) % rule.outside;
        told.push([at, rule.steps[at], below === rule.outside, new gridsum.Proof(rule).proved]);
        rule.steps[at] = before;
      }"""
    told = node(script)
    assert len(told) > 20
    assert not any(proved for _, _, ground, proved in told if not ground)
    for at, state, _, proved in told[:3]:
        entry = np.unravel_index(at, TABLE.steps.shape)
        assert prove(changed(TABLE, {entry: state})).proved == proved


_SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("noGroups", "SASA")]


@pytest.mark.parametrize("name", ["base", "fixedTime", *_SLOW])
def test_networks_compute_what_torch_computes(node: Node, tmp_path: Path, name: str):
    model = load(name)
    file = tmp_path / "model.js"
    file.write_text(network_script(model))
    problems = ["523+102+9416", "99999+1", "7", "1+1+1+1+1+1+11134"]
    script = """
      const network = new gridsum.PaperNetwork(Object.values(gridsum.models)[0].weights);
      for (const sum of input) {
        const done = new gridsum.PaperComputation(network, gridsum.parse(sum)).completeNow();
        const half = network.project(done.grids[0]);
        told.push({
          answer: done.answer, exact: done.exact, steps: done.steps, capped: done.capped, halting: done.halting,
          size: [done.size.height, done.size.width], grids: done.grids.map((grid) => [...grid]),
          confidence: done.readings.map(({ confidence }) => [...confidence]),
          symbols: done.readings.map(({ symbols }) => [...symbols]),
          weights: [...network.weights(half[0], half[1], done.size, 0, 0)],
        });
      }"""
    for problem, told in zip(problems, node(script, problems, (file,)), strict=True):
        terms = ADD.parse(problem)
        (answer,) = solve_by_network(model, [terms])
        traced = trace_expression(model, terms, answer.steps)
        assert told["size"] == list(model.config.task.solving_grid(len(terms), max(map(len, terms))))
        ours = [answer.answer, answer.expected, answer.steps, answer.capped]
        assert [told[name] for name in ("answer", "exact", "steps", "capped")] == ours
        grids = torch.tensor(told["grids"]).view_as(traced.grids)
        assert (grids - traced.grids).abs().max() < 1e-4
        confidence, symbols = traced.decoded.max(-1)
        assert (torch.tensor(told["confidence"]).view_as(confidence) - confidence).abs().max() < 1e-4
        assert torch.equal(torch.tensor(told["symbols"]).view_as(symbols), symbols)
        if traced.halting is not None:
            assert told["halting"] == pytest.approx(traced.halting.tolist(), abs=1e-4)
        if answer.steps:
            weights = model.network.step.attention.weights(traced.grids[None, :1])[:, 0, 0, 0, 0].flatten()
            assert (torch.tensor(told["weights"]) - weights).abs().max() < 1e-4


@pytest.mark.parametrize("task", [ADD, *map(find, ("subtract", "times:base=3", "max"))], ids=str)
def test_sums_are_read_as_python_reads_them(node: Node, task: Task):
    chance, signs = random.Random(0), f"{2 * task.alphabet.signs}{'-' if task is ADD else '+'}"
    texts = ["".join(chance.choices(f"0019{signs}= x,\n", k=chance.randint(0, 9))) for _ in range(3000)]
    script = """
      for (const text of input.texts) {
        try { told.push(gridsum.parse(text, gridsum.data.rules[input.task])); } catch (error) {
          if (!(error instanceof gridsum.SumError)) throw error;
          told.push(null);
        }
      }"""
    for text, terms in zip(texts, node(script, {"texts": texts, "task": task.name}), strict=True):
        try:
            expected = list(task.parse(text))
        except ExpressionError:
            expected = None
        assert terms == expected, text


def test_long_sums_have_a_short_form(node: Node):
    script = """
      for (const text of input) {
        const terms = gridsum.parse(text);
        told.push([gridsum.brief(terms), gridsum.exactSum(terms)]);
      }"""
    texts = ["9{12}+1", "1234567890+00000000000", "7{40}+" + "8" * 40, "+".join(["9" * 30] * 500)]
    briefs = ["9{12}+1", "1234567890+0{11}", "7{40}+8{40}", "+".join(["9{30}"] * 500)]
    full = [("9" * 12, "1"), ("1234567890", "0" * 11), ("7" * 40, "8" * 40), ("9" * 30,) * 500]
    assert node(script, texts) == [[brief, ADD.answer(terms)] for brief, terms in zip(briefs, full, strict=True)]
    assert solve(TABLE, full[2]).answer == ADD.answer(full[2])
