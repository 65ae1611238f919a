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


def test_the_last_part_takes_over_when_the_others_are_done():
    """Between two computations of the module, and while its gradient is computed."""
    torch.set_num_threads(2)
    module = nn.Linear(2, 2)
    side_by_side = SideBySide(2, module)
    may_end = threading.Event()
    seen = []

    def end_the_other(_=None):
        may_end.set()
        until = time.monotonic() + PATIENCE
        while not side_by_side.others[0].done() and time.monotonic() < until:
            time.sleep(0.001)

    def compute(part, in_gradient):
        if part == 0:
            assert may_end.wait(PATIENCE)
            return None
        x = torch.ones(2, 2, requires_grad=True) * 1
        x.register_hook(lambda _: seen.append(torch.get_num_threads()))
        result = module(x)
        seen.append(torch.get_num_threads())
        if in_gradient:
            result = result * 1
            result.register_hook(end_the_other)
        else:
            end_the_other()
            module(x)
            seen.append(torch.get_num_threads())
        result.sum().backward()
        return None

    side_by_side(lambda part: compute(part, in_gradient=False))
    assert seen == [1, 2, 2]
    may_end.clear()
    seen.clear()
    side_by_side(lambda part: compute(part, in_gradient=True))
    assert seen == [1, 2]
    assert torch.get_num_threads() == 2


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
