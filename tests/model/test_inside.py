import dataclasses

import torch
from hypothesis import given
from hypothesis import strategies as st

from gridsum.model.inside import SHARED, Trace
from gridsum.tasks import PAD
from tests.oracles.column_addition import ADD
from tests.oracles.seq2grid import place


def shown(symbols: torch.Tensor) -> list[str]:
    return [
        "".join("?" if code == SHARED else ADD.alphabet.symbols[code] for code in row).strip()
        for row in symbols.tolist()
    ]


def test_the_papers_example_is_written_as_columns(traces):
    for placement in ("soft", "hard"):
        lines = shown(traces[0].written(placement))
        assert [line.removeprefix("+") for line in lines] == ["9416", "102", "523", ""], "a row is to spare"


@given(st.integers(0, 10**6), st.integers(0, 6))
def test_shares_are_the_papers_recurrence_on_symbols(seed, count):
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.randint(1, 13, (6,), generator=generator)
    actions = torch.rand(6, 3, dtype=torch.float64, generator=generator)
    actions = actions / actions.sum(-1, keepdim=True)
    grids = torch.zeros(1, 3, 4, 8)
    trace = Trace(symbols, actions, grids, torch.zeros(1, 3, 4, 13), None, None, ADD.alphabet.symbols)
    one_hot = torch.eye(13, dtype=torch.float64)[symbols]
    shares = trace.shares("soft", count)
    assert torch.allclose(shares, place(one_hot[:count], actions[:count], 3, 4))


def test_a_cell_without_a_majority_is_shared(traces):
    undecided = dataclasses.replace(traces[1], actions=torch.full_like(traces[1].actions, 1 / 3))
    found = undecided.written("soft")
    shares = undecided.shares("soft")
    full = shares.sum(-1) > 0.5
    assert full.any()
    assert (found[full & (shares.amax(-1) <= 0.5)] == SHARED).all()
    assert (found[~full] == PAD).all()
