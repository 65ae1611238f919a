"""The solver computes only where something changes; the oracle computes every cell at every step."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gridsum.automaton import front, run, wave
from gridsum.automaton.run import MOST_CELLS, SizeError, grid_size, most_steps, states
from gridsum.automaton.solve import answer_by_rule, solve
from gridsum.automaton.table import RuleTable, TableError
from gridsum.data.symbols import ALPHABET, EQUALS, PLUS, exact_sum, parse
from tests.oracles.column_addition import USUAL_ACTIONS, column_addition, random_table, states_slowly

RULE = column_addition()
LIMIT = 60

# Digits that repeat make long carries and zeros that lead.
digits = st.sampled_from("0123456789") | st.sampled_from("09")
terms = st.lists(st.text(digits, min_size=1, max_size=9), min_size=1, max_size=6).map(tuple)
ways = st.sampled_from([(0, 0.0), (0, 2.0), (10**9, 2.0), (3, 0.2)])


def damage(table: RuleTable, share: float, seed: int) -> RuleTable:
    """A share of the contexts lead to a code of chance."""
    numbers = np.random.default_rng(seed)
    nonsense = numbers.integers(0, table.outside, table.steps.shape, np.uint8)
    steps = np.where(numbers.random(table.steps.shape) < share, nonsense, table.steps)
    return dataclasses.replace(table, steps=steps)


def by_changes(table: RuleTable, sum_: Sequence[str], limit: int) -> list[list[list[int]]]:
    """Every state on the way of the fast form, which computes only where something has changed."""
    at_work, found = run.Run(table, sum_), list[list[list[int]]]()
    while not at_work.at_rest:
        if at_work.steps == len(found):
            found.append(at_work.grid.tolist())
        if at_work.steps == limit:
            break
        at_work.advance(at_work.steps + 1)
    return found


def every_state(table: RuleTable, sum_: Sequence[str], limit: int) -> list[list[list[int]]]:
    return states_slowly(table, sum_, *grid_size(len(sum_), max(map(len, sum_))), limit)


@given(terms)
def test_column_addition_adds(sum_):
    found = solve(RULE, sum_)
    assert found.answer == exact_sum(sum_)
    assert not found.capped


@given(terms, ways)
def test_every_state_is_the_oracles(sum_, chosen):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_FEW", chosen[0])
        patch.setattr(run, "_DENSE", chosen[1])
        expected = every_state(RULE, sum_, 10**6)
        assert by_changes(RULE, sum_, 10**6) == expected
        assert [state.tolist() for state in states(RULE, sum_)] == expected
        assert solve(RULE, sum_).steps == len(expected) - 1


@given(terms, st.integers(2, 5), st.integers(0, 10**6), ways)
def test_a_rule_without_sense_is_run_as_it_is(sum_, codes, seed, chosen):
    table = random_table(codes, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_FEW", chosen[0])
        patch.setattr(run, "_DENSE", chosen[1])
        expected = every_state(table, sum_, LIMIT)
        assert by_changes(table, sum_, LIMIT) == expected
        assert [state.tolist() for state in states(table, sum_, LIMIT)] == expected
        found = solve(table, sum_, LIMIT)
    assert found.steps == len(expected) - 1
    assert found.capped == (len(expected) > LIMIT)
    symbols = [table.reading[code] for code in expected[-1][0]]
    assert found.answer == "".join(ALPHABET[symbol] for symbol in symbols if symbol)


def spreading(to_the_left: bool) -> RuleTable:
    """A 1 spreads along a row; a 5 stops it, an 8 it has passed becomes 2, a 7 above it becomes 1."""
    steps = np.zeros((12, 4, 4, 4), np.uint8)
    for x, left, right, below in np.ndindex(*steps.shape):
        behind, ahead = (right, left) if to_the_left else (left, right)
        spreads = behind in (1, 2) and x != 5
        steps[x, left, right, below] = (
            2 if x == 8 and spreads and ahead == 1 else x == 1 or spreads or (x == 7 and below == 1)
        )
    return RuleTable(2, (0, 1, 2), steps, (1, 2, 3), USUAL_ACTIONS)


# Mostly zeros, which a wave passes, and here and there what reacts to it.
obstacles = st.lists(st.tuples(st.integers(1, 25), st.sampled_from("578")), max_size=3)
fields = obstacles.map(lambda found: "".join("0" * free + digit for free, digit in found) + "0" * 5)


@given(
    st.lists(fields, min_size=1, max_size=3),
    st.integers(0, 2),
    st.booleans(),
    st.integers(0, 3),
    st.sampled_from([2, 5, 64]),
)
@example(["0" * 30, "0" * 10 + "7" + "0" * 15], 0, True, 2, 64)  # what the wave passes below reacts
@example(["0" * 30, "0" * 10 + "5" + "0" * 15], 1, True, 2, 64)
@example(["0" * 8 + "8" + "0" * 15], 0, True, 2, 64)
@example(["0" * 15 + "5" + "0" * 8], 0, False, 2, 64)
def test_moving_a_wave_ahead_changes_nothing(rows, source, to_the_left, patience, longest):
    source %= len(rows)
    rows[source] = rows[source] + "1" if to_the_left else "1" + rows[source]
    table, sum_ = spreading(to_the_left), tuple(rows)
    expected = every_state(table, sum_, 10**4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wave, "_PATIENCE", patience)
        patch.setattr(wave, "_LONGEST", longest)
        for until in (*range(0, len(expected), 5), len(expected) - 1):
            at_work = run.Run(table, sum_)
            at_work.advance(until)
            assert at_work.steps == until
            assert at_work.grid.tolist() == expected[until]
        assert solve(table, sum_).steps == len(expected) - 1


def test_a_rule_that_never_rests_is_stopped_and_says_so():
    steps = np.zeros((12, 3, 3, 3), np.uint8)
    steps[:, :, 0] = 1  # with 0 on the right it becomes 1, with 1 on the right 0
    steps[:, :, 2] = 1
    steps[0, :, 2] = 0
    steps[:, 0, 2] = 1
    steps[:, 1, 2] = 0
    table = RuleTable(1, (0, 1), steps, (1, 2), USUAL_ACTIONS)
    found = solve(table, ("1", "1"))
    assert found.capped
    assert found.steps == most_steps(grid_size(2, 1))
    assert answer_by_rule(table, ("1", "1")).capped


@given(terms, st.lists(st.integers(0, 2), min_size=len(ALPHABET), max_size=len(ALPHABET)), st.integers(0, 99))
def test_placement_follows_any_actions(sum_, actions, seed):
    actions[EQUALS] = 2
    table = random_table(3, seed, actions)
    assert [state.tolist() for state in states(table, sum_, 8)] == every_state(table, sum_, 8)


def test_a_placement_that_writes_the_equals_sign_is_refused():
    actions = tuple(0 if symbol == EQUALS else action for symbol, action in enumerate(USUAL_ACTIONS))
    with pytest.raises(TableError, match="'='"):
        solve(RuleTable(RULE.bits, RULE.codes, RULE.steps, RULE.reading, actions), ("1", "2"))


def test_the_top_row_holds_the_last_term_with_its_plus():
    rows = run.placed(RULE, ("523", "7"), grid_size(2, 3))
    assert rows == [b"   +7", b"  523", b"     "]
    assert USUAL_ACTIONS[PLUS] == run.OPEN


@pytest.mark.parametrize("sum_", ["0+9999", "9999+0", "9999+1", "1+9999", "0", "000", "00+0", "007+3", "5+5+90"])
def test_the_hard_families(sum_):
    assert solve(RULE, parse(sum_)).answer == exact_sum(parse(sum_))


def test_a_carry_through_a_hundred_thousand_nines_takes_as_many_steps():
    for sum_ in (("9" * 10**5, "1"), ("1", "9" * 10**5)):
        found = solve(RULE, sum_)
        assert found.answer == "1" + "0" * 10**5
        assert 10**5 <= found.steps <= 10**5 + 3
        assert found.cells_computed < 20 * 10**5  # and not 10^5 steps × 3·10^5 cells


@given(st.lists(st.text(digits, min_size=1, max_size=3), min_size=20, max_size=40).map(tuple))
def test_of_many_terms_only_the_rows_near_the_front_are_computed(sum_):
    size = grid_size(len(sum_), max(map(len, sum_)))
    found = front.solve_tall(RULE, sum_, size)
    whole = run.Run(RULE, sum_, size)
    whole.advance(10**6)
    if found is None:  # the steps could not be told from the rows near the front alone
        return
    assert found.answer == exact_sum(sum_)
    assert found.steps == whole.steps


def test_the_front_answers_for_sums_of_many_terms():
    numbers = np.random.default_rng(0)
    for count in (300, 1000):
        sum_ = tuple(str(number) for number in numbers.integers(0, 10**5, count))
        size = grid_size(count, 5)
        found = front.solve_tall(RULE, sum_, size)
        assert front.worthwhile(RULE, size)
        assert found is not None
        whole = run.Run(RULE, sum_, size)
        whole.advance(10**6)
        assert (found.answer, found.steps) == (exact_sum(sum_), whole.steps)
        assert found.cells_computed < whole.cells_computed / 2
        assert solve(RULE, sum_) == found


@given(
    st.lists(st.text(digits, min_size=1, max_size=2), min_size=20, max_size=40).map(tuple),
    st.integers(0, 10**6),
    st.sampled_from([0.01, 0.1]),
)
def test_the_front_is_never_wrong_about_a_damaged_rule(sum_, seed, share):
    table = damage(RULE, share, seed)
    size = grid_size(len(sum_), max(map(len, sum_)))
    found = front.solve_tall(table, sum_, size)
    if found is not None:
        whole = run.Run(table, sum_, size)
        whole.advance(10**4)
        assert whole.at_rest
        assert (found.answer, found.steps) == (run.read(table, whole.top_row), whole.steps)


def test_sums_beyond_the_limit_are_named_before_any_work():
    with pytest.raises(SizeError, match=f"{MOST_CELLS:,} cells"):
        solve(RULE, ("9" * (MOST_CELLS // 3), "1"))


@pytest.mark.parametrize(
    ("variable", "value", "said"), [("GRIDSUM_MEMORY", "10MB", "of memory"), ("GRIDSUM_TIME", "1s", "on this machine")]
)
def test_a_sum_beyond_the_memory_or_the_time_is_refused_before_any_work(variable, value, said, monkeypatch):
    monkeypatch.setenv(variable, value)
    with pytest.raises(SizeError, match=f"rows × .* columns takes about .* {said}.*{variable}="):
        solve(RULE, ("9" * 2000,) * 2000)
    assert solve(RULE, ("9" * 2000, "1")).answer == "1" + "0" * 2000


def test_a_grid_of_hours_is_refused_unless_time_is_given(monkeypatch):
    with pytest.raises(SizeError, match=r"takes about .* h on this machine, and the limit is 60 min"):
        run.size_of(("9" * 10_000,) * 10_000)
    monkeypatch.setenv("GRIDSUM_TIME", "9d")
    assert run.size_of(("9" * 10_000,) * 10_000).height == 10_001
    assert run.size_of(("9" * 10**6,) * 40).height == 41, "wide grids take minutes"


def test_an_answer_has_all_that_solving_tells():
    assert dataclasses.asdict(answer_by_rule(RULE, ("99", "1"))) == {
        "expression": "99+1=",
        "answer": "100",
        "expected": "100",
        "steps": 4,
        "halting": "fixed-point",
        "placement": "hard",
        "capped": False,
        "base": 10,
    }
