"""Column addition as a rule, written by hand from arithmetic; and a rule run by plain loops, cell by cell."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from gridsum.automaton.files import shipped_rules
from gridsum.automaton.table import RuleTable
from gridsum.tasks import FIRST_DIGIT, PAD, Task, find

ADD = find()
_DECIMAL = ADD.alphabet
TEN, PLUS_CELL, EMPTY_CELL = _DECIMAL.base, _DECIMAL.base, _DECIMAL.empty_cell
CELL_SYMBOLS = _DECIMAL.cell_symbols
BLANK = 0
CODES = 1 + 2 * TEN
OUTSIDE = CODES
USUAL_ACTIONS = (2, *[0] * TEN, 1, 2)


def code(digit: int, carry: int) -> int:
    return 1 + digit + TEN * carry


def digit_of(number: int) -> int:
    return 0 if number in (BLANK, OUTSIDE) else (number - 1) % TEN


def carry_of(number: int) -> int:
    return 0 if number in (BLANK, OUTSIDE) else (number - 1) // TEN


@cache
def by_columns(task: Task) -> RuleTable:
    """d = x + below + the carry from the right; a zero with nothing to its left is blank, but for a term's units.

    Code 0 is a blank, then come digits without and with a carry. The bits of a code are its digit in the lowest; then
    one that says that it is not a blank, and one for its carry.
    """
    base = task.alphabet.base
    outside = 2 * base + 1
    x, left, right, below = np.indices((base + 2, *[outside + 1] * 3))
    none = (BLANK, outside)
    own = np.where(x < base, x, 0)
    under = np.where(np.isin(below, none), 0, (below - 1) % base)
    carried = np.where(np.isin(right, none), 0, (right - 1) // base)
    carry, digit = np.divmod(own + under + carried, base)
    units = (right == outside) & (x < base)
    blank = (digit == 0) & (carry == 0) & np.isin(left, none) & ~units
    steps = np.where(blank, BLANK, 1 + digit + base * carry).astype(np.uint8)
    bits = (base - 1).bit_length()
    patterns = (0, *(2**bits + digit + 2 ** (bits + 1) * carry for carry in (0, 1) for digit in range(base)))
    reading = (PAD, *(FIRST_DIGIT + digit for _ in (0, 1) for digit in range(base)))
    return RuleTable(bits + 2, patterns, steps, reading, (2, *[0] * base, 1, 2), task)


def column_addition() -> RuleTable:
    return by_columns(ADD)


def changed(table: RuleTable, entries: Mapping[tuple[Any, ...], Any]) -> RuleTable:
    """A rule with other states in some entries (symbol, left, right, below), each one number, several, or None: all."""
    steps = table.steps.copy()
    for entry, after in entries.items():
        steps[tuple(slice(None) if part is None else part for part in entry)] = after
    return dataclasses.replace(table, steps=steps)


@cache
def shipped() -> RuleTable:
    """The rule of `exact`."""
    return shipped_rules()["exact"]


def random_table(codes: int, seed: int, actions: Sequence[int] = USUAL_ACTIONS) -> RuleTable:
    """A rule without any sense."""
    numbers = np.random.default_rng(seed)
    steps = numbers.integers(0, codes, (12, codes + 1, codes + 1, codes + 1), np.uint8)
    reading = tuple(int(symbol) for symbol in numbers.integers(0, 11, codes))
    return RuleTable(8, tuple(range(codes)), steps, reading, tuple(actions))


def place_slowly(table: RuleTable, terms: Sequence[str], height: int, width: int) -> list[list[int]]:
    """Symbol by symbol: 0 writes at the right end of the top row, 1 pushes all rows down, 2 skips."""
    grid = [[EMPTY_CELL] * width for _ in range(height)]
    for letter in ADD.render(terms):
        symbol = ADD.alphabet.symbols.index(letter)
        cell = PLUS_CELL if symbol == ADD.alphabet.sign_symbol else symbol - FIRST_DIGIT
        if table.actions[symbol] == 0:
            grid[0] = [*grid[0][1:], cell]
        elif table.actions[symbol] == 1:
            grid = [[*[EMPTY_CELL] * (width - 1), cell], *grid[:-1]]
    return grid


def states_slowly(table: RuleTable, terms: Sequence[str], height: int, width: int, limit: int) -> list[list[list[int]]]:
    """Every state from the first to rest, or to `limit` steps."""
    x = place_slowly(table, terms, height, width)
    found = [[[0] * width for _ in range(height)]]

    def at(i: int, j: int) -> int:
        return found[-1][i][j] if i < height and 0 <= j < width else table.outside

    def after(i: int, j: int) -> int:
        return int(table.steps[x[i][j], at(i, j - 1), at(i, j + 1), at(i + 1, j)])

    for _ in range(limit):
        new = [[after(i, j) for j in range(width)] for i in range(height)]
        if new == found[-1]:
            break
        found.append(new)
    return found


@cache
def column_addition_with_two_meanings() -> RuleTable:
    """Column addition, but a 1 made by a carry alone, over a blank, has the code of a 1 that gives a carry.

    No harm is done: what stands to its left stands over a blank as well, and takes no carry from it there.
    """
    plain, both = column_addition(), code(1, 1)
    with_carry = tuple(number for number in range(CODES) if carry_of(number))
    made = {(x, None, with_carry, BLANK): both for x in (PLUS_CELL, EMPTY_CELL)}
    return changed(plain, made | {(EMPTY_CELL, None, both, BLANK): plain.steps[EMPTY_CELL, :, code(1, 0), BLANK]})


def column_addition_in_other_codes(seed: int) -> RuleTable:
    """Column addition with two more blanks, one for the lowest row and one that no sum shows, in patterns of chance."""
    plain = column_addition()
    lowest, never = CODES, CODES + 1
    same = np.array([*range(CODES), BLANK, BLANK, OUTSIDE])  # the code that each behaves as
    steps = plain.steps[:, same][:, :, same][:, :, :, same]
    border = len(same) - 1
    bottom = steps[:, :, :, border]
    steps[:, :, :, border] = np.where(bottom == BLANK, lowest, bottom)
    patterns = np.random.default_rng(seed).permutation(2**7)[: border - 1] + 128
    codes = (0, *(int(pattern) for pattern in patterns))
    assert never == border - 1
    return RuleTable(8, codes, steps, (*plain.outputs, PAD, PAD), plain.actions)
