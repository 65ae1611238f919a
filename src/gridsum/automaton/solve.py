"""Sums by a rule, each in the way that is quick for it. Answers and steps are those of `run.states`, which is the rule.

A grid of many cells is worked out by itself, where something changes (`run.Run`). Grids of few cells lie flat one
behind the other, in one array, each with its own width. A step is then a few operations of numpy on all cells, whether
they change or not. Sums that are at rest are left out as soon as they are half of those that are worked on.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gridsum.automaton.run import Run, grid_size, most_steps, read, size_of
from gridsum.automaton.table import RuleTable, usual_actions
from gridsum.data.answers import Answer, answered
from gridsum.tasks import PAD, Task

_SMALL = 1024
"""A grid of so many cells at most is small."""
TOGETHER = 2000
"""Sums that are worked on at once: more would not stay in a processor's cache. So memory has a limit, too."""
_NEWLINE = ord("\n")


def solve(table: RuleTable, terms: Sequence[str], limit: int | None = None) -> Answer:
    """The answer of a rule to one sum. `limit` is the largest number of steps (default: `most_steps`)."""
    size = size_of(terms, table.task)
    run = Run(table, terms, size)
    run.advance(most_steps(size) if limit is None else limit)
    return answered(table.task, terms, read(table, run.top_row), run.steps, not run.at_rest)


def solve_many(table: RuleTable, expressions: Iterable[Sequence[str]]) -> Iterator[Answer]:
    """The answers to sums in their order, as `solve` gives them one by one."""
    waiting: list[Sequence[str]] = []
    for terms in expressions:
        height, width = grid_size(len(terms), table.task.longest(terms), table.task)
        small = height * width <= _SMALL and _placed_as_usual(table)
        if small:
            waiting.append(terms)
        if waiting and (not small or len(waiting) == TOGETHER):
            yield from _together(table, waiting)
            waiting = []
        if not small:
            yield solve(table, terms)
    if waiting:
        yield from _together(table, waiting)


def answer_lines(table: RuleTable, lines: Sequence[bytes]) -> bytes | None:
    """The answers to sums that are lines of a file, a line each; None where one of them is not small and plain."""
    if not _placed_as_usual(table) or table.task.most_terms is not None or type(table.task).check is not Task.check:
        return None
    sign = re.escape(table.task.alphabet.signs.encode())
    if max((len(re.findall(b"[%b]" % sign, line)) + 2) * (len(line) + 3) for line in lines) > _SMALL:
        return None
    number, text = b"[%b]+" % table.task.alphabet.digits.encode(), b"\n".join((*lines, b""))
    return _solve(table, text)[0] if re.fullmatch(b"(?:%b(?:[%b]%b)*\n)*" % (number, sign, number), text) else None


def _placed_as_usual(table: RuleTable) -> bool:
    return table.actions == usual_actions(table.task.alphabet)


def _together(table: RuleTable, expressions: list[Sequence[str]]) -> Iterator[Answer]:
    lines = "".join(table.task.render(terms) for terms in expressions).replace("=", "\n")
    said, steps, capped = _solve(table, lines.encode())
    found = zip(expressions, said.decode().split("\n"), steps.tolist(), capped.tolist(), strict=False)
    return (answered(table.task, *one) for one in found)


def _solve(table: RuleTable, lines: bytes) -> tuple[bytes, np.ndarray, np.ndarray]:
    """A line for each answer; its steps, and whether it was ended by its limit."""
    grids = _laid_out(table, lines)
    steps, capped = _run(table, grids)
    letters = np.zeros(256, np.uint8)
    for state, symbol in enumerate(table.outputs):
        letters[state] = 0 if symbol == PAD else ord(table.task.alphabet.symbols[symbol])
    letters[table.outside] = _NEWLINE  # behind every top row
    said = letters[grids.states[_ranges(grids.starts, grids.widths + 1)]].tobytes().translate(None, b"\0")
    return said, steps, capped


@dataclass(frozen=True)
class _Grids:
    """Sums on their grids, cell behind cell; behind every row, and before the first, is a place that is no cell."""

    symbols: np.ndarray
    states: np.ndarray
    below: np.ndarray
    """How far it is to the place below; 0 in a lowest row."""
    owners: np.ndarray
    """The number of the sum that a place belongs to."""
    starts: np.ndarray
    """Where the grid of each sum begins."""
    widths: np.ndarray
    limits: np.ndarray
    """The largest number of steps of each sum."""


def _laid_out(table: RuleTable, lines: bytes) -> _Grids:
    """A line for each sum, of terms with signs between them."""
    alphabet = table.task.alphabet
    text = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(np.isin(text, [_NEWLINE, *map(ord, alphabet.signs)]))  # of terms
    lengths = np.diff(ends, prepend=-1) - 1
    last = np.flatnonzero(text[ends] == _NEWLINE)
    first = np.append(0, last[:-1] + 1)
    terms, digits = last - first + 1, np.maximum.reduceat(lengths, first)
    shapes, which = np.unique(terms * len(lines) + digits, return_inverse=True)
    sizes = [grid_size(shape // len(lines), shape % len(lines), table.task) for shape in shapes.tolist()]
    heights, widths = (np.array(part)[which] for part in zip(*sizes, strict=True))
    limits = np.array([most_steps(size) for size in sizes])[which]
    strides = widths + 1
    starts = 1 + np.cumsum(heights * strides) - heights * strides
    total = int(starts[-1] + heights[-1] * strides[-1])

    row_strides = np.repeat(strides, heights)
    row_ends = np.cumsum(row_strides)  # after the place before the first, this is where a row's last place lies
    symbols = np.full(total, alphabet.empty_cell, np.uint8)
    states = np.zeros(total, np.uint8)
    for places in (0, row_ends):
        symbols[places], states[places] = len(table.steps), table.outside
    down = row_strides.copy()
    down[np.cumsum(heights) - 1] = 0
    below = np.append(0, np.repeat(down, row_strides))
    owners = np.append(0, np.repeat(np.arange(len(heights)), heights * strides))

    # Every term stands at the right end of its row, the last one in the top row, the sign before it.
    owner = np.repeat(np.arange(len(terms)), terms)
    row = last[owner] - np.arange(len(ends))
    signed = np.ones(len(ends), np.int64)
    signed[first] = 0
    begin = starts[owner] + row * strides[owner] + widths[owner] - lengths - signed
    numbers = np.zeros(256, np.uint8)
    numbers[[ord(symbol) for symbol in alphabet.cell_symbols]] = np.arange(len(alphabet.cell_symbols))
    symbols[_ranges(begin, lengths + signed)] = numbers[text[text != _NEWLINE]]
    return _Grids(symbols, states, below, owners, starts, widths, limits)


def _ranges(begin: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The numbers from each beginning on, so many of each."""
    return np.repeat(begin - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())


def _run(table: RuleTable, grids: _Grids) -> tuple[np.ndarray, np.ndarray]:
    """All grids until rest, in place: the steps of each sum, and which were ended by their limit."""
    side = table.outside + 1
    steps = np.zeros(len(grids.starts), np.int64)
    capped = np.zeros(len(grids.starts), bool)
    places = np.arange(len(grids.states))
    active, number = len(steps), 0
    while active:
        # The place before the first belongs to no sum and stays.
        states, owners = grids.states[places], grids.owners[places]
        own = grids.symbols[places[1:-1]].astype(np.int32) * side**3
        down = grids.below[places[1:-1]]
        below = np.where(down > 0, np.arange(1, len(places) - 1) + down, 0)
        context, going = np.empty_like(own), np.zeros(len(steps), bool)
        while True:
            number += 1
            np.multiply(states[:-2], side, out=context, dtype=np.int32, casting="unsafe")
            context += states[2:]
            context *= side
            context += states.take(below)
            context += own
            new = table.flat.take(context)
            changed = np.flatnonzero(new != states[1:-1])
            states[1:-1] = new
            going[:] = False
            going[owners[1:-1][changed]] = True
            steps[going] = number
            ended = going & (grids.limits == number)
            if 2 * int(going.sum()) <= active or ended.any():
                break
        grids.states[places] = states
        capped |= ended
        going &= ~ended
        places = np.append(0, places[1:][going[owners[1:]]])
        active = int(going.sum())
    return steps, capped
