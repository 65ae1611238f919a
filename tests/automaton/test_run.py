"""The solver computes only where something changes; the oracle computes every cell at every step."""

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gridsum.automaton import run
from gridsum.automaton.run import Run, frames, grid_size, most_steps
from gridsum.automaton.solve import solve
from gridsum.automaton.table import RuleTable, TableError
from gridsum.io.limits import TooLargeError
from gridsum.model.rule import RuleNetwork
from gridsum.model.store import load
from gridsum.tasks import FIRST_DIGIT
from tests.oracles.column_addition import (
    ADD,
    EMPTY_CELL,
    USUAL_ACTIONS,
    column_addition,
    random_table,
    shipped,
    states_slowly,
)

RULE = column_addition()
LIMIT = 25

# Digits that repeat make long carries and zeros that lead.
digits = st.sampled_from("0123456789") | st.sampled_from("09")
terms = st.lists(st.text(digits, min_size=1, max_size=9), min_size=1, max_size=6).map(tuple)
ways = st.sampled_from([1, 8, 10**9])  # cell by cell, now one and now the other, whole stretches


def every_state(table: RuleTable, sum_: Sequence[str], limit: int) -> list[list[list[int]]]:
    return states_slowly(table, sum_, *grid_size(len(sum_), max(map(len, sum_))), limit)


@given(terms, st.none() | st.integers(0, 10**6), st.integers(2, 5), ways)
def test_every_state_is_the_oracles(sum_, seed, codes, chosen):
    """Of column addition, and of rules without sense."""
    table = RULE if seed is None else random_table(codes, seed)
    size = grid_size(len(sum_), max(map(len, sum_)))
    expected = every_state(table, sum_, most_steps(size))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_FEW", chosen)
        for steps, state in enumerate(expected[: LIMIT + 1]):
            at_work = Run.of(table, sum_)
            at_work.advance(steps)
            assert (at_work.steps, at_work.grid.tolist()) == (steps, state)
        found = solve(table, sum_)
    assert [state.tolist() for state in frames(table, sum_)] == expected
    assert found.steps == len(expected) - 1
    assert found.capped == (len(expected) > most_steps(size))
    symbols = [table.outputs[code] for code in expected[-1][0]]
    assert found.answer == "".join(ADD.alphabet.symbols[symbol] for symbol in symbols if symbol)
    assert found.correct or seed is not None


@given(
    terms,
    st.lists(st.integers(0, 2), min_size=len(ADD.alphabet.symbols), max_size=len(ADD.alphabet.symbols)),
    st.integers(0, 99),
)
def test_placement_follows_any_actions(sum_, actions, seed):
    actions[ADD.alphabet.equals_symbol] = 2
    table = random_table(3, seed, actions)
    assert [state.tolist() for state in frames(table, sum_, 8)] == every_state(table, sum_, 8)


def test_a_placement_that_writes_the_equals_sign_is_refused():
    actions = tuple(
        0 if symbol == ADD.alphabet.equals_symbol else action for symbol, action in enumerate(USUAL_ACTIONS)
    )
    with pytest.raises(TableError, match="'='"):
        solve(RuleTable(RULE.bits, RULE.states, RULE.steps, RULE.outputs, actions), ("1", "2"))


def test_a_carry_through_ten_thousand_nines_takes_as_many_steps():
    for sum_ in (("9" * 10**4, "1"), ("1", "9" * 10**4)):
        found = Run.of(RULE, sum_)
        found.advance()
        assert found.read() == [b"1" + b"0" * 10**4]
        assert 10**4 <= found.steps <= 10**4 + 3
        assert found.cells_computed < 20 * 10**4  # and not 10^5 steps × 3·10^5 cells


def test_a_sum_beyond_the_memory_is_refused_before_any_work(monkeypatch):
    tall, variable = ("9" * 2000,) * 2000, "GRIDSUM_MEMORY"
    monkeypatch.setenv(variable, "10MB")
    with pytest.raises(TooLargeError, match=f"rows × .* columns takes about .* of memory.*{variable}=") as refused:
        solve(RULE, tall)
    assert solve(RULE, ("9" * 2000, "1")).answer == "1" + "0" * 2000
    monkeypatch.setenv(variable, str(refused.value).rpartition("=")[2])
    assert run.size_of(tall).height == len(tall) + 1, "what the message tells to allow is enough"
    monkeypatch.delenv(variable)
    assert run.size_of(("9" * 10**6,) * 40).height == 41, "wide grids take minutes"


# Against the network itself: whole grids of bits, cell by cell and step by step


@torch.no_grad()
def network_states(network: RuleNetwork, symbols: torch.Tensor, steps: int) -> list[list[list[int]]]:
    """Codes as integers of bits, before any step and after each one; `symbols` [H,W] are those of cells."""
    written = network.embedding.weight[:, (symbols + FIRST_DIGIT).clamp(max=len(network.embedding.weight[0]) - 1)]
    vectors = torch.where((symbols == EMPTY_CELL)[None, ..., None], 0.0, written)[:, None]
    cell, query = network.meet(vectors)
    bits = torch.full((1, 1, *symbols.shape, network.config.bits), -1.0)
    powers = 2 ** torch.arange(network.config.bits)
    found = []
    for _ in range(steps + 1):
        found.append(((bits[0, 0] > 0).long() * powers).sum(-1).tolist())
        bits = torch.where(network.step(cell, query, bits) > 0, 1.0, -1.0)
    return found


@pytest.mark.parametrize("expression", ["7", "0+9999", "99999+1", "523+102+9416", "5+0+31+0+2", "00+0009"])
def test_the_shipped_network_takes_the_steps_of_its_table(expression: str):
    """On the way as at rest: consolidation keeps it within its codes."""
    network = load("exact").network
    table, terms = shipped(), ADD.parse(expression)
    found = [[[table.states[code] for code in row] for row in state.tolist()] for state in frames(table, terms, 10_000)]
    symbols = torch.tensor(Run.of(table, terms).symbols.astype(int))
    assert len(found) > 1
    assert network_states(network, symbols, len(found)) == [*found, found[-1]]
