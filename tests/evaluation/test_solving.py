"""Sums in, answers out."""

from dataclasses import replace
from statistics import fmean

import pytest

from gridsum.config.fields import override
from gridsum.config.variants import variant
from gridsum.data.answers import SolveOptions
from gridsum.data.problems import Space
from gridsum.evaluation import solving
from gridsum.evaluation.evaluate import evaluate, paper_subject
from gridsum.evaluation.solving import choose_placement, solve
from gridsum.evaluation.suites import find
from gridsum.model.inference import UnsoundError
from gridsum.model.rollout import Network
from gridsum.model.store import load, load_runs, save_run
from gridsum.ops.grids import GridSize
from tests.oracles.column_addition import ADD
from tests.oracles.sizes import SMALLEST


def answers(model, *expressions, **options):
    return list(solve(model, [ADD.parse(expression) for expression in expressions], SolveOptions(**options)))


SUMS = {"523+102+9416": "10041", "7": "7", "58+67": "125", "999+1": "1000", "99999+1": "100000"}


@pytest.mark.parametrize("name", ["base", "noGroups", "SASA", "fixedTime", "ponderReg"])
def test_every_variant_solves_what_it_was_trained_on(name):
    """The paper's example, and others; on the grids that solving gives it: not only on those of evaluation."""
    found = answers(load(name), *SUMS)
    right = [answer.answer == total for answer, total in zip(found, SUMS.values(), strict=True)]
    assert [answer.correct for answer in found] == right
    assert sum(right) >= len(SUMS) - (name != "base")
    assert not any(answer.capped for answer in found)


def test_an_answer_does_not_depend_on_what_else_is_asked(base):
    expressions = ["12+34", "99+1", "5", "88+77", "123+4+5"]
    alone = [answer for expression in expressions for answer in answers(base, expression)]
    assert list(map(vars, answers(base, *expressions))) == list(map(vars, alone))


def test_what_solving_delivers_is_what_is_measured():
    """ponderReg often halts before a single term has lost its leading zeros: as often by `solve` as in evaluation."""
    model, (suite,) = load("ponderReg"), find("1x3")
    problems = suite.problems(0, 64, 0).expressions()
    solved = answers(model, *(problem.removesuffix("=") for problem in problems))
    (record,) = evaluate(paper_subject(model), suite, 64)
    assert fmean(answer.steps for answer in solved) == pytest.approx(record.steps_mean, abs=1)
    assert fmean(answer.correct for answer in solved) == pytest.approx(record.seq, abs=0.15)


def test_grids_hold_the_result_and_are_the_smallest_of_training():
    task, spaces = variant("base").task, (Space((1, 4), (1, 10)), Space((2000, 2000), (2, 2)))
    assert [task.grid(space) for space in spaces] == [(5, 13), (2001, 6)]
    assert variant("base", "text").task.grid(spaces[0], 3, 1) == (7, 13)
    for asked, size in (((1, 7), (3, 10)), ((2, 7), (3, 10)), ((12, 7), (13, 10)), ((20_000, 7), (20_001, 12))):
        assert task.solving_grid(*asked) == size
    assert variant("base", "text").task.solving_grid(1, 7) == (2, 9)
    # Of evaluation: 2,000 terms of 2 digits need 6 columns, one more than D + F_W where R is 0.
    assert {task.grid(find("2000x2")[0].space, 0, drawn)[1] for drawn in range(4)} == {6, 7, 8}


def test_automatic_placement_is_soft_until_that_is_slow(base):
    short, long = (GridSize(*base.config.task.solving_grid(2, digits)) for digits in (1000, 100_000))
    assert choose_placement("auto", 2002, short) == "soft"
    assert choose_placement("auto", 200_002, long) == "hard"
    assert choose_placement("hard", 2002, short) == "hard"


@pytest.mark.parametrize("name", ["base", "fixedTime"])
def test_a_fleets_records_are_those_of_its_runs_however_the_work_is_divided(name, base, tmp_path, monkeypatch):
    """In parts, run by run where one is work enough, and of runs that are loaded alone."""
    config = override(variant(name), SMALLEST | {"model.max_evaluation_steps": 12, "model.fixed_steps": 4})
    model = replace(base, config=config, network=Network(config.model, (0, 1)), seeds=(0, 1))
    (suite,), taken, infer = find("[1,3]x[1,5]"), [], solving.infer
    monkeypatch.setattr(solving, "infer", lambda net, *rest: taken.append(net.runs) or infer(net, *rest))
    fleet = paper_subject(model, grids="published")
    together = evaluate(fleet, suite, 15)
    assert [record.seed for record in together] == [0, 1]
    assert taken == [2] * 5
    with monkeypatch.context() as patch:
        patch.setattr(solving, "_CELLS_AT_ONCE", 50)
        assert evaluate(fleet, suite, 15) == together
    assert len(taken) > 2 * 5
    with monkeypatch.context() as patch:
        patch.setattr("gridsum.evaluation.evaluate._CELLS_OF_A_RUN", 1)
        assert evaluate(fleet, suite, 15) == together
    assert taken[-10:] == [1] * 10
    for seed, record in enumerate(together):
        path = tmp_path / f"{seed}.safetensors"
        save_run(path, model.network, seed, model.config, seed)
        assert evaluate(paper_subject(load_runs("base", [path]), grids="published"), suite, 15) == [record]


def test_an_answer_says_that_the_cap_ended_it_and_numbers_that_are_none_are_no_answer(base):
    """Weights may be finite and still too large to compute with."""
    config = override(base.config, {"model.max_evaluation_steps": 1})
    network = Network(config.model)
    network.load_state_dict(base.network.state_dict())
    model = replace(base, config=config, network=network)
    (answer,) = answers(model, "123456+98765")
    assert (answer.capped, answer.steps) == (True, 1)
    network.output.weight.data.fill_(3e38)
    with pytest.raises(UnsoundError, match="produced NaN after"):
        answers(model, "1+2")
