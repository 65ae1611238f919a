import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gridsum.ops.placement.cpu import place_hard, place_soft
from gridsum.ops.placement.plain import NLP, NOP, TLU, seq2grid
from tests.oracles import seq2grid as oracle

SIZES = [(1, 1), (1, 4), (4, 1), (2, 3), (3, 5), (6, 4)]


def random_input(runs: int, problems: int, length: int, features: int = 3, seed: int = 0):
    """Vectors, and logits whose softmax prefers some actions but excludes none."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(runs, problems, length, features, generator=generator, dtype=torch.float64)
    logits = 2 * torch.randn(runs, problems, length, 3, generator=generator, dtype=torch.float64)
    return x, logits


def by_recurrence(x, actions, height: int, width: int):
    grids = [
        oracle.place(vectors, chosen, height, width)
        for vectors, chosen in zip(x.flatten(0, 1), actions.flatten(0, 1), strict=True)
    ]
    return torch.stack(grids).unflatten(0, x.shape[:2])


def one_hot(actions) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.as_tensor(actions), 3).double()


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("length", [1, 2, 9])
def test_soft_placement_is_the_recurrence(height, width, length):
    """Nine symbols overflow the smaller grids, downwards and to the left."""
    x, logits = random_input(2, 2, length)
    actions = logits.softmax(-1)
    expected = by_recurrence(x, actions, height, width)
    torch.testing.assert_close(place_soft(x, actions, height, width), expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(seq2grid(x, actions, height, width), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("length", [256, 600])
def test_long_sequences(length):
    """Symbols are gathered in blocks; what lies across their borders must not be lost, nor its gradient."""
    x, logits = random_input(1, 1, length, features=2)
    logits = logits + torch.tensor([0.0, -2.0, 4.0])  # mostly NOP, so that early symbols stay on the grid
    x.requires_grad_()
    actions = logits.softmax(-1)
    grid = place_soft(x, actions, 3, 8)
    torch.testing.assert_close(grid, by_recurrence(x, actions, 3, 8), rtol=1e-10, atol=1e-12)
    grid.sum().backward()
    assert (x.grad != 0).all()


@given(
    st.lists(st.lists(st.sampled_from([TLU, NLP, NOP]), min_size=6, max_size=6), min_size=2, max_size=2),
    st.sampled_from(SIZES),
)
def test_hard_placement_is_the_recurrence(actions, size):
    """Every order of actions, with NOPs, several NLPs in a row and grids too small for what is written."""
    x, _ = random_input(1, 2, 6)
    chosen = one_hot(actions)[None]
    expected = by_recurrence(x, chosen, *size)
    assert torch.equal(place_hard(x, chosen, *size), expected)
    torch.testing.assert_close(place_soft(x, chosen, *size), expected, rtol=0, atol=1e-15)
