"""Sums in, answers out."""

import itertools
from dataclasses import replace
from statistics import fmean

import pytest
import torch

from gridsum.config.fields import override
from gridsum.config.variants import variant
from gridsum.evaluation import solving
from gridsum.evaluation.evaluate import PaperSubject, evaluate
from gridsum.evaluation.solving import choose_placement, solve, solve_watched, trace_expression
from gridsum.evaluation.suites import find
from gridsum.model.inference import Outcome, UnsoundError
from gridsum.model.rollout import Network
from gridsum.model.store import load, load_runs, save_run
from gridsum.ops.grids import GridSize
from gridsum.tasks import Addition
from tests.oracles.sizes import SMALLEST

ADD = Addition()


@pytest.fixture(scope="module")
def base():
    return load("base")


def answers(model, *expressions, **options):
    return list(solve(model, [ADD.parse(expression) for expression in expressions], **options))


def test_the_shipped_model_adds(base):
    """The paper's example, and sums like those it was trained on."""
    given = answers(base, "523+102+9416", "7", "58+67", "999+1", "99999+1", "9234567890+987654321", halting="median")
    assert [answer.answer for answer in given] == ["10041", "7", "125", "1000", "100000", "10222222211"]
    assert all(answer.correct and not answer.capped for answer in given)


def test_an_answer_does_not_depend_on_what_else_is_asked(base):
    expressions = ["12+34", "99+1", "5", "88+77", "123+4+5"]
    together = answers(base, *expressions)
    assert together == [answer for expression in expressions for answer in answers(base, expression)]


def small(base, name="base", runs=1):
    """A model of random weights that thinks for a few steps."""
    config = override(variant(name), SMALLEST | {"model.max_evaluation_steps": 30})
    seeds = tuple(range(runs))
    return replace(base, config=config, network=Network(config.model, seeds), seeds=seeds)


def test_what_solving_delivers_is_what_is_measured():
    """ponderReg often halts before a single term has lost its leading zeros: as often by `solve` as in evaluation."""
    model, (suite,) = load("ponderReg"), find("leading-zeros:1x3")
    problems = suite.problems(0, 64, 0).expressions()
    solved = answers(model, *(problem.removesuffix("=") for problem in problems))
    (record,) = evaluate(PaperSubject(model), suite, 64)
    assert fmean(answer.steps for answer in solved) == pytest.approx(record.steps_mean, abs=1)
    assert fmean(answer.correct for answer in solved) == pytest.approx(record.seq, abs=0.15)


def test_parts_change_nothing(base, monkeypatch):
    model, suite = small(base), find("[1,4]x[1,10]")[0]
    whole = evaluate(PaperSubject(model), suite, 40)
    monkeypatch.setattr(solving, "_CELLS_AT_ONCE", 300)
    assert evaluate(PaperSubject(model), suite, 40) == whole


def test_grids_for_solving_are_the_smallest_of_training_and_hold_the_result():
    config = variant("base")
    assert config.task.solving_grid(1, 7) == (3, 10)
    assert config.task.solving_grid(2, 7) == (3, 10)
    assert config.task.solving_grid(12, 7) == (13, 10)
    assert config.task.solving_grid(20_000, 7) == (20_001, 12)
    assert variant("base", "text").task.solving_grid(1, 7) == (2, 9)


@pytest.mark.parametrize("name", ["base", "noGroups", "SASA", "fixedTime", "ponderReg"])
def test_every_variant_solves_what_it_was_trained_on(name):
    """On the grids that solving gives it: not only on those of evaluation."""
    expressions = ["12+34", "58+67", "523+102+9416", "99999+1", "7+8+9+10"]
    found = list(solve(load(name), [ADD.parse(expression) for expression in expressions]))
    assert sum(answer.correct for answer in found) >= 4


def test_automatic_placement_is_soft_until_that_is_slow(base):
    assert choose_placement("auto", 2002, GridSize(*base.config.task.solving_grid(2, 1000))) == "soft"
    assert choose_placement("auto", 200002, GridSize(*base.config.task.solving_grid(2, 100000))) == "hard"
    assert choose_placement("hard", 8, GridSize(*base.config.task.solving_grid(2, 3))) == "hard"
    with pytest.raises(ValueError, match="auto, soft, hard"):
        choose_placement("firm", 8, GridSize(*base.config.task.solving_grid(2, 3)))  # pyright: ignore[reportArgumentType]


def test_what_is_watched_is_the_computation(base):
    """Every grid with its λ, from before any step on, and the trace is made of them."""
    seen = []
    answer, trace = solve_watched(base, ADD.parse("58+67"), seen.append, seed=3)
    assert [answer] == answers(base, "58+67", seed=3)
    assert len(seen) == answer.steps + 1
    again = trace_expression(base, ADD.parse("58+67"), answer.steps)
    assert again.halting is not None
    for n, grid, _, halting in seen:
        assert torch.equal(grid[0, 0], trace.grids[n])
        assert torch.allclose(trace.grids[n], again.grids[n], rtol=1e-3, atol=1e-3)
        assert torch.allclose(halting[0, 0], again.halting[n], rtol=1e-3, atol=1e-3)
    assert torch.allclose(trace.decoded, again.decoded, rtol=1e-2, atol=1e-2)
    assert torch.allclose(trace.actions, again.actions)
    assert trace.attention.numel() == 0


def test_work_is_given_up_between_steps(base):
    class EnoughError(Exception):
        pass

    def stop_after(readings):
        count = itertools.count(1)

        def watch(_):
            if next(count) > readings:
                raise EnoughError

        return watch

    fixed = Network(replace(base.config.model, halting="fixed", fixed_steps=10**5))
    endless = replace(base, network=fixed)
    with pytest.raises(EnoughError):
        answers(endless, "1+1", watch=stop_after(3))
    (undisturbed,) = answers(base, "58+67")
    with pytest.raises(EnoughError):
        answers(base, "58+67", watch=stop_after(undisturbed.steps))
    assert answers(base, "58+67", watch=stop_after(undisturbed.steps + 1)) == [undisturbed]


def test_every_run_of_a_model_is_evaluated_on_the_same_problems(tmp_path, base):
    """A fleet's records are those of its runs alone."""
    model = small(base, runs=2)
    for seed in (0, 1):
        save_run(tmp_path / f"{seed}.safetensors", model.network, seed, model.config, seed)
    suite = find("[1,4]x[1,10]")[0]
    both = load_runs("x", [tmp_path / "0.safetensors", tmp_path / "1.safetensors"])
    fleet = evaluate(PaperSubject(both), suite, 24)
    single = [load_runs("x", [tmp_path / f"{seed}.safetensors"]) for seed in (0, 1)]
    alone = [evaluate(PaperSubject(model), suite, 24)[0] for model in single]
    assert [record.seed for record in fleet] == [0, 1]
    assert fleet == alone


@pytest.mark.parametrize("name", ["base", "fixedTime"])
def test_runs_go_alone_where_one_is_work_enough(name, base, monkeypatch):
    """They come to the same, and none takes steps that only another needs."""
    fleet, taken, infer = small(base, name, runs=3), [], solving.infer
    monkeypatch.setattr(solving, "infer", lambda net, *rest: taken.append(net.runs) or infer(net, *rest))
    together = evaluate(PaperSubject(fleet), find("3x5")[0], 24)
    parts = len(taken)
    monkeypatch.setattr("gridsum.evaluation.evaluate._CELLS_OF_A_RUN", 1)
    alone = evaluate(PaperSubject(fleet), find("3x5")[0], 24)
    assert taken == [3] * parts + [1] * 3 * parts
    assert alone == together
    assert fleet.network.alone(1).output.weight.data_ptr() == fleet.network.output.weight[1].data_ptr()


def test_evaluation_grids_are_never_too_narrow_for_the_result(base, monkeypatch):
    """2,000 terms of 2 digits need 6 columns, one more than D + F_W where R is 0."""
    widths = []

    def look(_network, symbols, size, *_):
        widths.append(size.width)
        nothing = torch.zeros(symbols.shape[:2], dtype=torch.int64)
        return Outcome(nothing[..., None].expand(-1, -1, size.width), nothing, nothing.bool())

    monkeypatch.setattr("gridsum.evaluation.evaluate.infer_in_parts", look)
    evaluate(PaperSubject(base), find("2000x2")[0], 16)
    assert set(widths) == {6, 7, 8}, "and every wider one that R allows"


def test_an_answer_says_that_the_cap_ended_it(base):
    config = override(base.config, {"model.max_evaluation_steps": 1})
    network = Network(config.model)
    network.load_state_dict(base.network.state_dict())
    (answer,) = answers(replace(base, config=config, network=network), "123456+98765")
    assert (answer.capped, answer.steps) == (True, 1)


def test_numbers_that_are_none_are_no_answer(base):
    """Weights may be finite and still too large to compute with."""
    network = Network(base.config.model)
    network.load_state_dict(base.network.state_dict())
    network.output.weight.data.fill_(3e38)
    with pytest.raises(UnsoundError, match="produced NaN after"):
        next(solve(replace(base, network=network), [("1", "2")]))
