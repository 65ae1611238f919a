"""States at rest: the rule's labels are those of column addition, and what is measured finds what was put in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.analysis.states import Cells, Rest, balls, discreteness, expected_cells, first_errors, study
from gridsum.model.rollout import GridSize
from gridsum.problems import Space, batch_of
from gridsum.store import load
from gridsum.symbols import ALPHABET, FIRST_DIGIT, PAD, decode

TERMS = st.lists(st.text("0123456789", min_size=1, max_size=6), min_size=1, max_size=5).map(tuple)


@given(TERMS)
def test_every_row_holds_the_sum_of_its_term_and_those_below(terms: tuple[str, ...]):
    cells = expected_cells(batch_of([terms]), GridSize(6, 9))
    for row in range(6):
        below = terms[: max(len(terms) - row, 0)]
        assert decode(cells.symbol[0, row].tolist()) == (str(sum(map(int, below))) if below else "")
        assert bool(cells.present[0, row].all()) == bool(below)
        if below:
            assert decode(cells.own[0, row].tolist()) == below[-1]


@given(TERMS)
def test_the_rule_holds_in_every_cell(terms: tuple[str, ...]):
    """d = (x + d below + c) mod 10, where a carry comes from the right."""
    cells = expected_cells(batch_of([terms]), GridSize(len(terms), 9))
    own, digit = (np.maximum(part[0] - FIRST_DIGIT, 0) for part in (cells.own, cells.symbol))
    below = np.concatenate((digit[1:], np.zeros((1, 9), dtype=int)))
    total = own + below + cells.carry[0]
    assert np.array_equal(total % 10, digit)
    assert np.array_equal(total[:, 1:] // 10, cells.carry[0][:, :-1])
    assert total.max() < 20


def test_a_carry_is_where_it_comes_in():
    cells = expected_cells(batch_of([("99", "1")]), GridSize(2, 4))
    assert cells.carry[0].tolist() == [[0, 1, 1, 0], [0, 0, 0, 0]]


def test_labels_that_decide_a_state_explain_all_of_it():
    rng = np.random.default_rng(0)
    label, other = rng.integers(0, 4, 300), rng.integers(0, 3, 300)
    points = rng.normal(size=(12, 8)) * 10
    states = points[label * 3 + other]
    whole = discreteness(states, [label, other])
    assert whole.labels == 12
    assert whole.within == pytest.approx(0, abs=1e-12)
    assert whole.radius == pytest.approx(0, abs=1e-9)
    assert whole.nearest == 1
    assert 0.05 < discreteness(states, [label]).within < 1
    assert discreteness(states, [np.zeros(300, dtype=int)]).within == pytest.approx(1)
    assert balls(states, 0.01) == 12
    assert balls(states, 1e6) == 1
    assert balls(rng.normal(size=(300, 8)), 1e-9) == 300


@pytest.mark.parametrize("radius", [0.5, 1.0, 2.0, 4.0])
def test_balls_are_counted_as_by_their_definition(radius: float):
    rng = np.random.default_rng(1)
    states = 2 * rng.normal(size=(400, 5)) + 3
    left, count = states, 0
    while len(left):
        count += 1
        left = left[np.linalg.norm(left - left[0], axis=1) > radius]
    assert balls(states, radius) == count


def test_errors_begin_where_all_that_a_cell_depends_on_is_right():
    """A wrong digit in the bottom row that everything above inherits, and one of the top row's own."""
    shape = (1, 3, 5)
    right = np.full(shape, ALPHABET.index("1"))
    carry = np.zeros(shape, dtype=np.int64)
    carry[0, 0, 4] = 1
    cells = Cells(right, right, carry, np.ones(shape, dtype=bool))
    read = right.copy()
    read[0, :, 2] = ALPHABET.index("2")
    read[0, 0, 4] = PAD
    found = first_errors(Rest(np.zeros((*shape, 2)), read, cells))
    assert (found.problems, found.wrong) == (1, 1)
    assert found.by_height == ((5, 1), (5, 0), (5, 1))
    assert found.with_carry == found.blank == 0.5


def test_the_shipped_model_holds_the_sum_so_far_in_every_cell():
    found = study(load("exact"), Space((1, 4), (1, 10)), 8)
    assert found.right > 0.99
    assert found.explained["digit, carry and own symbol"].within < 0.15
    assert found.explained["digit of the sum so far"].within > 0.1, "digits alone leave much"
    assert len(found.points) == found.explained["what is read"].cells == len(found.wrong)
