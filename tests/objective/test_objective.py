import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from gridsum.config.paper import ObjectiveConfig
from gridsum.data.streams import Stream
from gridsum.model.paper import Readout, halting_distribution
from gridsum.objective.paper import (
    character_accuracy,
    cost,
    explore_reinforce,
    kl_from_geometric,
    sampled_success,
)
from gridsum.tasks import PAD
from tests.oracles import objective as oracle

READINGS, RUNS, PROBLEMS, WIDTH = 6, 2, 3, 4
NARROWER = torch.tensor([[False, True, True, True], [False, False, True, True]])
distributions = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=10)


def logits_and_halting(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(READINGS, RUNS, PROBLEMS, WIDTH, 13, generator=generator, dtype=torch.float64)
    logits[..., PAD] += 2  # so that PAD is often predicted
    halting = torch.rand(READINGS, RUNS, PROBLEMS, generator=generator, dtype=torch.float64)
    return logits, halting


def rollout_of(logits: torch.Tensor, halting: torch.Tensor) -> Readout:
    p, truncation = halting_distribution(halting, 0.05)
    return Readout(range(len(halting)), logits, halting, p, truncation)


def targets_of(seed: int = 1) -> torch.Tensor:
    """Results of one to four digits, PAD on the left."""
    generator = torch.Generator().manual_seed(seed)
    targets = torch.randint(1, 11, (RUNS, PROBLEMS, WIDTH), generator=generator)
    lengths = torch.randint(1, WIDTH + 1, (RUNS, PROBLEMS, 1), generator=generator)
    return torch.where(torch.arange(WIDTH) >= WIDTH - lengths, targets, PAD)


def inside_of(columns: torch.Tensor | None, run: int) -> list[bool]:
    return [True] * WIDTH if columns is None else columns[run].tolist()


def by_problem(rollout: Readout, of: Callable[[int, int, list[float]], float]) -> torch.Tensor:
    """[R,B] of a function of the run, the problem, and its p."""
    p = rollout.probability
    values = [[of(run, b, p[:, run, b].tolist()) for b in range(PROBLEMS)] for run in range(RUNS)]
    return torch.tensor(values, dtype=p.dtype)


def success_of(
    rollout: Readout, targets: torch.Tensor, columns: torch.Tensor | None, draws: torch.Tensor | None = None
) -> torch.Tensor:
    """a by the oracle, [R,B]: the accuracy expected under p, or that of the reading that a number draws from it."""

    def of(run: int, b: int, p: list[float]) -> float:
        readings, target = rollout.logits[:, run, b].argmax(-1).tolist(), targets[run, b].tolist()
        found = [oracle.character_accuracy(reading, target, inside_of(columns, run)) for reading in readings]
        if draws is None:
            return sum(x * accuracy for x, accuracy in zip(p, found, strict=True))
        return found[next(n for n in range(READINGS) if sum(p[: n + 1]) > draws[run, b])]

    return by_problem(rollout, of)


@pytest.mark.parametrize("normalise", ["batch", "running"])
@pytest.mark.parametrize("columns", [None, NARROWER], ids=["whole", "masked"])
@pytest.mark.parametrize("pad_weight", [0.1, 1.0])
def test_expected_loss_is_the_definition(normalise, columns, pad_weight):
    rollout, targets = rollout_of(*logits_and_halting()), targets_of()
    config = ObjectiveConfig(normalise=normalise, pad_weight=pad_weight, regulariser="none")
    spent = cost(rollout, targets, config, columns)
    for run in range(RUNS):
        running = [[n <= rollout.truncation[run, b].item() for b in range(PROBLEMS)] for n in range(READINGS)]
        expected = oracle.expected_loss(
            rollout.logits[:, run].tolist(),
            rollout.probability[:, run].tolist(),
            targets[run].tolist(),
            pad_weight=pad_weight,
            columns=inside_of(columns, run),
            running=running if normalise == "running" else None,
        )
        assert spent.expected_loss[run].item() == pytest.approx(expected, rel=1e-6)
        assert spent.total[run].item() == pytest.approx(expected, rel=1e-6)
        assert spent.regulariser[run] == 0


@pytest.mark.parametrize("columns", [None, NARROWER], ids=["whole", "masked"])
@pytest.mark.parametrize(("success", "weight"), [("expected", 0.05), ("sampled", 5e-4)])
def test_explore_reinforce_in_the_cost(columns, success, weight):
    """β times the mean of −(1 − a)·H(p) + a·E[log(1 + N_h)].

    a is the accuracy expected under p, or that of a reading drawn from p, over the columns of a run's own grid.
    """
    rollout, targets = rollout_of(*logits_and_halting()), targets_of()
    numbers = Stream.of_seeds([3, 4]).uniform(PROBLEMS)
    sampled, expected = sampled_success(rollout, targets, numbers, columns), success_of(rollout, targets, columns)
    spent = cost(rollout, targets, ObjectiveConfig(weight=weight, success=success), columns, sampled)
    torch.testing.assert_close(sampled.double(), success_of(rollout, targets, columns, numbers), rtol=1e-6, atol=0)
    a = sampled if success == "sampled" else expected
    regulariser = by_problem(rollout, lambda run, b, p: oracle.explore_reinforce(p, float(a[run, b]))).mean(1)
    steps = by_problem(rollout, lambda _, __, p: sum(n * x for n, x in enumerate(p))).mean(1)
    assert ((expected.mean(1) > 0) & (expected.mean(1) < 1)).all()
    torch.testing.assert_close(spent.regulariser, regulariser, rtol=1e-5, atol=0)
    torch.testing.assert_close(spent.accuracy, expected.mean(1), rtol=1e-5, atol=0)
    torch.testing.assert_close(spent.steps, steps, rtol=1e-6, atol=0)
    torch.testing.assert_close(spent.total, spent.expected_loss + weight * spent.regulariser)


@pytest.mark.parametrize("truncated", [False, True])
def test_kl_in_the_cost(truncated):
    rollout, targets = rollout_of(*logits_and_halting()), targets_of()
    spent = cost(rollout, targets, ObjectiveConfig(regulariser="kl", prior=0.1, truncate_prior=truncated))
    last = rollout.truncation.tolist()
    divergences = by_problem(rollout, lambda run, b, p: oracle.kl_from_geometric(p, last[run][b], 0.1, truncated))
    torch.testing.assert_close(spent.regulariser, divergences.mean(1), rtol=1e-6, atol=0)
    torch.testing.assert_close(spent.total, spent.expected_loss + 0.05 * spent.regulariser)


def test_fixed_halting_costs_its_one_reading():
    logits, _ = logits_and_halting()
    targets = targets_of()
    certain = torch.ones(1, RUNS, PROBLEMS, dtype=torch.float64)
    rollout = Readout(range(12, 13), logits[:1], None, certain, 12 * certain[0].long())
    weight = torch.ones(13, dtype=torch.float64)
    weight[PAD] = 0.1
    whole = [F.cross_entropy(logits[0, run].flatten(0, 1), targets[run].flatten(), weight) for run in range(RUNS)]
    for normalise in ("batch", "running"):
        spent = cost(rollout, targets, ObjectiveConfig(regulariser="none", normalise=normalise))
        torch.testing.assert_close(spent.total, torch.stack(whole), rtol=1e-6, atol=0)
        assert (spent.steps == 12).all()


@pytest.mark.parametrize(
    ("predicted", "target", "judged", "accuracy"),
    [
        ([0, 0, 2, 3], [0, 0, 2, 3], 4, 1),
        ([0, 1, 2, 3], [0, 0, 2, 3], 4, 2 / 3),  # a digit where there should be none
        ([0, 0, 0, 3], [0, 0, 2, 3], 4, 1 / 2),  # none where there should be one
        ([4, 5, 6, 7], [0, 0, 0, 3], 4, 0),
        ([0, 0, 0, 0], [0, 0, 0, 3], 4, 0),
        ([0, 11, 12, 3], [0, 0, 0, 3], 4, 1 / 3),  # signs are not PAD either
        ([5, 5, 2, 3], [0, 0, 2, 4], 2, 1 / 2),  # masked columns are not judged
    ],
)
def test_character_accuracy(predicted, target, judged, accuracy):
    inside = [column >= 4 - judged for column in range(4)]
    ours = character_accuracy(torch.tensor([[[predicted]]]), torch.tensor([[target]]), torch.tensor([[inside]]))
    assert ours.shape == (1, 1, 1)
    assert ours.item() == pytest.approx(accuracy)
    assert oracle.character_accuracy(predicted, target, inside) == pytest.approx(accuracy)


@given(distributions, st.floats(0, 1))
def test_explore_reinforce_is_the_closed_form(halting, success):
    p, truncation = halting_distribution(torch.tensor(halting, dtype=torch.float64), 0.05)
    value = explore_reinforce(p, torch.tensor(success, dtype=torch.float64), torch.arange(len(p)))
    assert value.item() == pytest.approx(oracle.explore_reinforce(p.tolist(), success), abs=1e-9)
    bound = math.log(1 + truncation.item()) + 1e-9
    assert -(1 - success) * bound <= value.item() <= success * bound


@given(distributions, st.sampled_from([0.1, 0.5]), st.booleans())
def test_kl_is_the_closed_form(halting, prior, truncated):
    p, truncation = halting_distribution(torch.tensor(halting, dtype=torch.float64), 0.05)
    value = kl_from_geometric(p, truncation, prior, truncated)
    expected = oracle.kl_from_geometric(p.tolist(), int(truncation), prior, truncated)
    assert value.item() == pytest.approx(expected, abs=1e-5)
    assert value.item() >= -1e-6


def test_success_carries_no_gradient():
    """The gradient is that of ER with the number a put in by hand."""
    targets, gradients = targets_of(), []
    for success in ("expected", "sampled"):
        logits, halting = logits_and_halting()
        rollout = rollout_of(logits, halting.requires_grad_())
        by_hand = success_of(rollout, targets, None)
        config = ObjectiveConfig(weight=1.0, success=success, normalise="batch")
        cost(rollout, targets, config, success=by_hand).total.sum().backward()
        gradients.append(halting.grad)
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-7)


def test_the_regulariser_leaves_the_logits_alone_and_parts_of_the_cost_carry_no_gradient():
    gradients = []
    for weight in (0.0, 3.0):
        logits, halting = logits_and_halting()
        rollout = rollout_of(logits.requires_grad_(), halting.requires_grad_())
        spent = cost(rollout, targets_of(), ObjectiveConfig(weight=weight, success="expected"))
        spent.total.sum().backward()
        gradients.append(logits.grad)
        parts = (spent.expected_loss, spent.regulariser, spent.accuracy, spent.steps)
        assert not any(part.requires_grad for part in parts)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=0)
    assert gradients[0].abs().max() > 1e-3


@pytest.mark.parametrize("regulariser", ["explore-reinforce", "kl"])
@pytest.mark.parametrize("sure", [[30.0, 0, 0, 0], [-30.0, 30.0, 0, 0], [-200.0, 0, 0, 0], [-200.0] * 4])
def test_sure_halting_has_a_finite_gradient(regulariser, sure):
    """In float32 a sigmoid becomes exactly 0 or 1, and then a step has exactly no probability."""
    scores = torch.tensor(sure).view(4, 1, 1).requires_grad_()
    rollout = rollout_of(torch.zeros(4, 1, 1, WIDTH, 13), scores.sigmoid())
    config = ObjectiveConfig(regulariser=regulariser, success="expected")
    cost(rollout, targets_of()[:1, :1], config).total.sum().backward()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("normalise", ["batch", "running"])
def test_readings_after_truncation_have_no_gradient(normalise):
    """A rollout may be longer than every sample needs; what is beyond must give exact zeros."""
    logits, _ = logits_and_halting()
    scores = torch.full((READINGS, RUNS, PROBLEMS), 4.0, dtype=torch.float64, requires_grad=True)
    rollout = rollout_of(logits.requires_grad_(), scores.sigmoid())
    assert rollout.truncation.max() < READINGS - 1
    cost(rollout, targets_of(), ObjectiveConfig(normalise=normalise, success="expected")).total.sum().backward()
    assert scores.grad.isfinite().all()
    last = int(rollout.truncation.max())
    assert (logits.grad[last + 1 :] == 0).all()
    assert (scores.grad[last + 1 :] == 0).all()
    assert (logits.grad[0] != 0).any()


def test_the_highest_draw_is_the_last_reading():
    """Rounding may leave the sum of p below the draw; that is no reason to take the first reading."""
    halting = torch.rand(20, 1, 400, generator=torch.Generator().manual_seed(0)) * 0.3
    logits = torch.zeros(20, 1, 400, 1, 13)
    logits[0, ..., 1] = 1.0  # only the first reading is right
    logits[1:, ..., 2] = 1.0
    rollout = rollout_of(logits, halting)
    targets = torch.ones(1, 400, 1, dtype=torch.int64)
    highest = torch.full((1, 400), 1 - 2.0**-24)  # that a stream can give
    assert (sampled_success(rollout, targets, highest) == 0).all()
