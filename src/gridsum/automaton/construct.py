"""A rule made by hand from what a task's columns do: what such cells can express, with its states."""

from itertools import product

import numpy as np

from gridsum.automaton.rows import Rows
from gridsum.automaton.table import MOST_STATES, RuleTable, TableError, usual_actions
from gridsum.tasks import FIRST_DIGIT, PAD, Task


def construct(task: Task) -> RuleTable:
    """A state is a digit with what is carried, shown or, where a 0 may lead a number, left blank."""
    rows, alphabet = Rows.of(task), task.alphabet
    row, base, blank = rows.row, rows.base, ((0, rows.row.nothing), True)
    states, after, meanings = [blank], {}, set[tuple[int, int]]()
    for _, meaning in rows.cases():  # each takes a state at least
        meanings.add(meaning)
        _refuse_beyond_a_table(task, len(meanings))
    known = 0
    while known < len(states):
        known = len(states)
        # Carries come from `beside`, None at the border; what lies outside below is blank.
        for own, beside, below in product((*range(base), None), (*states, None), states[:]):
            digit = None if below[1] else below[0][0]
            # The first term is as it is; and where a rule says that something never happens, anything will do.
            meaning = row.column(own, digit, beside[0][1] if beside else 0) or (own or 0, row.nothing)
            leads = rows.none(meaning) and (row.rightward or own is None or beside is not None)
            after[own, beside, below] = (meaning, False), (meaning, leads)
            states += [state for state in dict.fromkeys(after[own, beside, below]) if state not in states]
            _refuse_beyond_a_table(task, len(states))
    outside, number = len(states), {state: place for place, state in enumerate(states)}
    steps = np.zeros((len(alphabet.cell_symbols), *[outside + 1] * 3), np.uint8)
    # A 0 leads a number if nothing is left of it; where carries go right, its own carry says that, but for the last 0.
    leads = range(outside) if row.rightward else [*(place for place, state in enumerate(states) if state[1]), outside]
    by_carry = steps.swapaxes(1, 2) if row.rightward else steps
    for x, (c, beside), (b, below) in product(
        range(len(steps)), enumerate((*states, None)), enumerate((*states, blank))
    ):
        shown, leading = after[x if x < base else None, beside, below]
        by_carry[x, :, c, b] = number[shown]
        by_carry[x, leads, c, b] = number[leading]
    outputs = (PAD if hides else FIRST_DIGIT + digit for (digit, _), hides in states)
    bits, actions = (outside - 1).bit_length(), usual_actions(alphabet)
    return RuleTable(bits, tuple(range(outside)), steps, tuple(outputs), actions, task)


def _refuse_beyond_a_table(task: Task, states: int) -> None:
    if states > MOST_STATES:
        raise TableError(f"by hand, {task.name} takes more than {MOST_STATES} states; choose a smaller base")
