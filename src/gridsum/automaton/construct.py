"""A rule made by hand from what a task's columns do: what such cells can express, with its states."""

from itertools import product

import numpy as np

from gridsum.automaton.rows import Rows
from gridsum.automaton.table import MOST_STATES, RuleTable, TableError, usual_actions
from gridsum.tasks import FIRST_DIGIT, PAD, Task


def construct(task: Task) -> RuleTable:
    """A state is a digit with what is carried, shown or, where a 0 may lead a number, left blank.

    Of what stands beside a cell its carry counts, None at the border; of what lies below its digit, None over a blank.
    """
    rows, symbols = Rows.of(task), len(task.alphabet.cell_symbols)
    row, held = rows.row, (*range(rows.base), None)
    states, after = {((0, row.nothing), True): 0}, {}
    besides: list[int | None] = [None, row.nothing]
    for beside in besides:  # which grow as they are found
        for own, below in product(held, held):
            # The first term is as it is; and where a rule says that something never happens, anything will do.
            meaning = row.column(own, below, beside or 0) or (own or 0, row.nothing)
            leads = rows.none(meaning) and (row.rightward or own is None or beside is not None)
            after[own, beside, below] = [states.setdefault((meaning, hides), len(states)) for hides in (False, leads)]
            besides += [meaning[1]] if meaning[1] not in besides else []
            if len(states) > MOST_STATES:
                raise TableError(f"by hand, {task.name} takes more than {MOST_STATES} states; choose a smaller base")
    outside = len(states)
    number = np.array([[[after[own, beside, below] for below in held] for beside in besides] for own in held])
    by_beside = [*(besides.index(carry) for (_, carry), _ in states), 0]
    by_below = [*(-1 if hides else digit for (digit, _), hides in states), -1]
    shown, leading = np.moveaxis(number[:, by_beside][:, :, by_below], 3, 0)
    steps = np.zeros((symbols, *[outside + 1] * 3), np.uint8)
    # A 0 leads a number if nothing is left of it; where carries go right, its own carry says that, but for the last 0.
    leads = range(outside) if row.rightward else [*(place for (_, hides), place in states.items() if hides), outside]
    by_carry, own = steps.swapaxes(1, 2) if row.rightward else steps, np.arange(symbols).clip(max=rows.base)
    by_carry[:] = shown[own, None]
    by_carry[:, leads] = leading[own, None]
    outputs = (PAD if hides else FIRST_DIGIT + digit for (digit, _), hides in states)
    bits, actions = (outside - 1).bit_length(), usual_actions(task.alphabet)
    return RuleTable(bits, tuple(range(outside)), steps, tuple(outputs), actions, task)
