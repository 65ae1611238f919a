"""A rule made by hand from what a task's columns do: what such cells can express, with its states."""

from itertools import product

import numpy as np

from gridsum.automaton.rows import Rows
from gridsum.automaton.table import MOST_STATES, RuleTable, TableError, usual_actions
from gridsum.tasks import FIRST_DIGIT, PAD, Task


def construct(task: Task) -> RuleTable:
    """A state is a digit with what is carried, shown or, where a 0 may lead a number, left blank; of several signs, it
    has its row's, too, which a digit takes from its left.

    Of what stands beside a cell its carry counts, None at the border; of what lies below its digit, None over a blank.
    """
    rows, symbols = Rows.of(task), len(task.alphabet.cell_symbols)
    row, held, signs = rows.row, (*rows.owns, None), range(rows.signs)
    states, after = {((0, row.nothing), True, 0): 0}, {}
    besides: list[int | None] = [None, row.nothing]
    for beside in besides:  # which grow as they are found
        for own, below, sign in product(held, (*range(rows.base), None), signs):
            if own is None or own // rows.base == sign:
                # The first term is as it is; and where a rule says that something never happens, anything will do.
                meaning = row.column(own, below, beside or 0) or ((own or 0) % rows.base, row.nothing)
                leads = rows.none(meaning) and (row.rightward or own is None or beside is not None)
                each = [states.setdefault((meaning, hides, sign), len(states)) for hides in (False, leads)]
                after[own, beside, below, sign] = each
                besides += [meaning[1]] if meaning[1] not in besides else []
            if len(states) > MOST_STATES:
                raise TableError(f"by hand, {task.name} takes more than {MOST_STATES} states; choose a smaller base")
    outside = len(states)
    by_beside = [*(besides.index(carry) for (_, carry), *_ in states), 0]
    by_below = [*(None if hides else digit for (digit, _), hides, _ in states), None]
    by_sign = np.array([*(sign for *_, sign in states), 0])
    steps = np.zeros((symbols, *[outside + 1] * 3), np.uint8)
    # A 0 leads a number if nothing is left of it; where carries go right, its own carry says that, but for the last 0.
    leads = np.array([row.rightward or hides for _, hides, _ in states] + [not row.rightward])
    by_carry = steps.swapaxes(1, 2) if row.rightward else steps
    for x, sign in product(range(symbols), signs):
        its = max(0, x - rows.base) % rows.signs  # a sign's own, and none where nothing is held
        own, which, here = (x + rows.base * sign, sign, by_sign == sign) if x < rows.base else (None, its, True)
        number = np.array([[after[own, beside, below, which] for below in by_below] for beside in besides])[by_beside]
        for hides in (False, True):
            by_carry[x, (leads == hides) & here] = number[..., int(hides)]
    outputs = (PAD if hides else FIRST_DIGIT + digit for (digit, _), hides, _ in states)
    bits, actions = (outside - 1).bit_length(), usual_actions(task.alphabet)
    return RuleTable(bits, tuple(range(outside)), steps, tuple(outputs), actions, task)
