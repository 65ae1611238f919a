"""A rule run on a sum: every cell changes at once, step by step, until no cell changes any more.

`frames` computes all cells at every step, as a rule is defined. `Run` comes to the same frames, in as many steps,
without computing cells where nothing can change.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gridsum.automaton.table import OPEN, SKIP, RuleTable, TableError
from gridsum.io.limits import check_bytes, memory_limit
from gridsum.tasks import PAD, Task, find

# Of fewer changed cells than this, plain Python is quicker than numpy's calls; of fewer than one in so many, picking
# their neighbours is quicker than computing the whole stretch.
_FEW, _SPARSE = 40, 12
# What stays in a processor's cache.
_CHUNK = 1 << 15
# Above so many cells a sum may be too large for the memory; and the bytes that a cell takes.
_LARGE, _BYTES = 10**6, 20
_DEFAULT = find()


class GridSize(NamedTuple):
    height: int
    width: int


def grid_size(terms: int, digits: int, task: Task = _DEFAULT) -> GridSize:
    """The grid for `terms` terms of up to `digits` digits: a row below them, and a column beside the result."""
    return GridSize(terms + 1, max(task.columns(terms, digits), digits + 1) + 1)


def size_of(terms: Sequence[str], task: Task = _DEFAULT) -> GridSize:
    """The grid of a sum, refused if memory is not enough for it."""
    size = grid_size(len(terms), task.longest(terms), task)
    cells = size.height * size.width
    if cells > _LARGE:
        check_bytes(f"a grid of {size.height:,} rows × {size.width:,} columns", _BYTES * cells, memory_limit())
    return size


def most_steps(size: GridSize) -> int:
    """A limit that no proved rule reaches: twice as many steps as there are cells, and a few for the smallest."""
    return 2 * size.height * size.width + 16


def frames(table: RuleTable, terms: Sequence[str], limit: int | None = None) -> Iterator[np.ndarray]:
    """The state of every cell [H,W] before any step and after each one, until rest or the limit on steps.

    This is what a rule is: all cells are computed at every step. `solve` must come to the same.
    """
    size = size_of(terms, table.task)
    symbols, grid, before = Run(table, terms, size).symbols, np.zeros(size, np.uint8), None
    for _ in range((most_steps(size) if limit is None else limit) + 1):
        if before is not None and np.array_equal(grid, before):
            break
        yield grid
        around = np.pad(grid, ((0, 1), (1, 1)), constant_values=table.outside)
        before, grid = grid, table.steps[symbols, around[:-1, :-2], around[:-1, 2:], around[1:, 1:-1]]


def read(table: RuleTable, states: bytes) -> str:
    """What a row of states says; blanks are left out."""
    blank = bytes(state for state, symbol in enumerate(table.outputs) if symbol == PAD)
    letters = "".join(table.task.alphabet.symbols[symbol] for symbol in table.outputs).encode()
    return states.translate(letters.ljust(256), blank).decode()


def placed(table: RuleTable, terms: Sequence[str], size: GridSize) -> list[bytes]:
    """The rows of the grid from the top, as the placement's actions write a sum: a character for each cell.

    A symbol is written at the right end of the top row, which moves left, or pushes all rows down and begins a new
    top row, or is skipped. What moves over the left or the lower border is lost.
    """
    text, letters = table.task.render(terms).encode(), table.task.alphabet.symbols
    skipped, openers = (
        bytes(ord(letters[symbol]) for symbol, done in enumerate(table.actions) if done == action)
        for action in (SKIP, OPEN)
    )
    text = text.translate(None, skipped)
    if b"=" in text:
        raise TableError("this rule's placement writes '=' onto the grid, and no cell of it can hold one")
    rows = re.split(b"(?=[" + re.escape(openers) + b"])", text) if openers else [text]
    rows = [row[-size.width :].rjust(size.width) for row in reversed(rows[-size.height :])]
    return rows + [b" " * size.width] * (size.height - len(rows))


class Run:
    """A rule at work on one sum: only where something has just changed, as a step depends on nothing else.

    The grid lies flat, row after row, with a place that is not a cell behind each row and rows of such places above
    and below. So every cell has a left, a right and a lower neighbour, at the same distances: −1, +1 and `stride`.
    """

    def __init__(self, table: RuleTable, terms: Sequence[str], size: GridSize | None = None) -> None:
        self.size = size or size_of(terms, table.task)
        self.steps = 0
        self.cells_computed = 0
        height, width = self.size
        self.stride = stride = width + 1
        self._table, self._side = table, table.outside + 1
        self._symbols = _flat_symbols(table, terms, self.size)
        border = bytes([table.outside]) * stride
        self._states = bytearray(border + (bytes(width) + border[:1]) * height + border)
        # What changed in the last step. At the first step every cell is computed.
        self._changed = np.arange(stride, (height + 1) * stride)

    @property
    def at_rest(self) -> bool:
        return not len(self._changed)

    @property
    def grid(self) -> np.ndarray:
        """The state of every cell [H,W]."""
        rows = np.frombuffer(bytes(self._states), np.uint8).reshape(-1, self.stride)
        return rows[1:-1, :-1]

    @property
    def symbols(self) -> np.ndarray:
        """The symbol of every cell [H,W]."""
        return np.frombuffer(self._symbols, np.uint8).reshape(-1, self.stride)[1:-1, :-1]

    @property
    def top_row(self) -> bytes:
        return bytes(self._states[self.stride : 2 * self.stride - 1])

    def advance(self, until: int) -> None:
        """Step after step until rest, or until `until` steps are done. The step that changes nothing is not counted."""
        while not self.at_rest and self.steps < until:
            low = max(self.stride, int(self._changed.min()) - self.stride)
            high = min((self.size.height + 1) * self.stride, int(self._changed.max()) + 2)
            if len(self._changed) * _SPARSE < high - low and len(self._changed) <= _FEW:
                self._walk(until)
                continue
            dense = len(self._changed) * _SPARSE >= high - low
            self._changed = self._sweep(low, high) if dense else self._pick()
            self.steps += not self.at_rest

    def _sweep(self, low: int, high: int) -> np.ndarray:
        """One step of all cells from `low` to `high`, and which of them have changed."""
        states, symbols = np.frombuffer(self._states, np.uint8), np.frombuffer(self._symbols, np.uint8)
        new = np.empty(high - low, np.uint8)
        for start in range(low, high, _CHUNK):
            stop = min(high, start + _CHUNK)
            around = (states[start + distance : stop + distance] for distance in (-1, 1, self.stride))
            new[start - low : stop - low] = self._after(symbols[start:stop], *around)
        self.cells_computed += high - low
        changed = low + np.flatnonzero(new != states[low:high])
        states[low:high] = new
        return changed

    def _after(self, symbols: np.ndarray, *around: np.ndarray) -> np.ndarray:
        """What cells become by their symbols and the states left, right and below."""
        context = symbols.astype(np.intp)
        for states in around:
            context *= self._side
            context += states
        return self._table.flat.take(context, mode="clip")

    def _pick(self) -> np.ndarray:
        """One step of the neighbours of what has changed, and which of them have changed."""
        states, symbols = np.frombuffer(self._states, np.uint8), np.frombuffer(self._symbols, np.uint8)
        near = np.concatenate([self._changed + distance for distance in (-1, 1, -self.stride)])
        near.sort()
        near = near[np.diff(near, prepend=-1) != 0]  # each once; np.unique takes ten times as long
        new = self._after(symbols[near], *(states[near + distance] for distance in (-1, 1, self.stride)))
        changed = new != states[near]
        states[near[changed]] = new[changed]
        self.cells_computed += len(near)
        return near[changed]

    def _walk(self, until: int) -> None:
        """Steps in which few cells change, such as those of one carry on its way, in plain Python."""
        states, symbols, stride, side = self._states, self._symbols, self.stride, self._side
        rule = self._table.flat_bytes
        square, cube = side**2, side**3
        changed: list[int] = self._changed.tolist()
        while changed and self.steps < until and len(changed) <= 2 * _FEW:
            near = {place + distance for place in changed for distance in (-1, 1, -stride)}
            news = [
                (place, new)
                for place in near
                if states[place]
                != (
                    new := rule[
                        symbols[place] * cube
                        + states[place - 1] * square
                        + states[place + 1] * side
                        + states[place + stride]
                    ]
                )
            ]
            for place, new in news:
                states[place] = new
            changed = [place for place, _ in news]
            self.steps += bool(changed)
            self.cells_computed += len(near)
        self._changed = np.array(changed, np.intp)


def _flat_symbols(table: RuleTable, terms: Sequence[str], size: GridSize) -> bytes:
    """The symbols of a grid as it lies flat; where there is no cell stands one symbol more, which stays outside."""
    symbols = "".join(table.task.alphabet.cell_symbols) + "#"
    border = b"#" * (size.width + 1)
    flat = border + b"".join(row + b"#" for row in placed(table, terms, size)) + border
    return flat.translate(bytes.maketrans(symbols.encode(), bytes(range(len(symbols)))))
