"""Parts of a step are computed at the same time, each with its share of torch's threads."""

import threading
import time

import pytest
import torch
from torch import nn

from gridsum.training.cores import SideBySide

# A test that waits for another thread gives up after so many seconds.
PATIENCE = 20


@pytest.fixture(autouse=True)
def restored():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("parts", [2, 3])
def test_parts_are_computed_at_the_same_time(parts):
    torch.set_num_threads(parts)
    together = threading.Barrier(parts)

    def compute(part):
        together.wait(PATIENCE)
        return part * 10

    side_by_side = SideBySide(parts, nn.Identity())
    for _ in range(2):
        assert side_by_side(compute) == [part * 10 for part in range(parts)]


@pytest.mark.parametrize(("parts", "threads"), [(1, 2), (2, 1), (3, 2)])
def test_too_few_threads_compute_in_turn(parts, threads):
    torch.set_num_threads(threads)
    found = SideBySide(parts, nn.Identity())(lambda part: (part, threading.current_thread(), torch.get_num_threads()))
    assert found == [(part, threading.current_thread(), threads) for part in range(parts)]


@pytest.mark.parametrize(("threads", "shares"), [(2, [1, 1]), (5, [2, 3])])
def test_threads_are_shared_and_given_back(threads, shares):
    torch.set_num_threads(threads)
    together = threading.Barrier(2)

    def compute(_):
        together.wait(PATIENCE)  # before it, none is done
        share = torch.get_num_threads()
        together.wait(PATIENCE)
        return share

    assert SideBySide(2, nn.Identity())(compute) == shares
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(("other", "expected"), [(1, [2, 2, 2, 2, 2]), (3, [1, 1, 2, 2, 2]), (5, [1, 1, 1, 1, 1])])
@pytest.mark.parametrize("slow", [0, 1])
def test_the_last_part_takes_over_once_it_has_done_as_much_as_the_other(other, expected, slow):
    """Four tenths of a part's work are done when its gradient begins, whichever part is slow."""
    torch.set_num_threads(2)
    module = nn.Linear(2, 2)
    seen = []

    def compute(part):
        if part == slow:
            time.sleep(0.05)
        x = torch.ones(1, 2)
        for _ in range((other, 5)[part]):
            x = module(x)
            if part == 1:
                x.register_hook(lambda _: seen.append(torch.get_num_threads()))
        assert torch.get_num_threads() == 1
        torch.autograd.grad(x.sum(), module.weight)
        if part == slow:
            time.sleep(0.05)
        return torch.get_num_threads()

    assert SideBySide(2, module)(compute) == [1, expected[-1]]
    assert seen == expected
    assert torch.get_num_threads() == 2


def test_a_part_without_gradients_is_waited_for():
    torch.set_num_threads(2)
    module = nn.Linear(2, 2)

    def compute(part):
        with torch.set_grad_enabled(part == 1):
            result = module(torch.ones(1, 2))
        return float(torch.autograd.grad(result.sum(), module.bias)[0].sum()) if part == 1 else part

    assert SideBySide(2, module)(compute) == [0, 2.0]


@pytest.mark.parametrize("wrong", [0, 1])
def test_an_error_in_a_part_is_raised(wrong):
    torch.set_num_threads(2)

    def compute(part):
        if part == wrong:
            raise ArithmeticError(part)
        return part

    side_by_side = SideBySide(2, nn.Identity())
    with pytest.raises(ArithmeticError):
        side_by_side(compute)
    assert torch.get_num_threads() == 2
    assert side_by_side(lambda part: part) == [0, 1]
