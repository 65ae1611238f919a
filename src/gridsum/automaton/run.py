"""A rule run on sums: every cell changes at once, step by step, until no cell changes any more.

`frames` computes all cells at every step, as a rule is defined. `Run` comes to the same frames, in as many steps,
without computing cells where nothing can change, of one sum or of many.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gridsum.automaton.table import OPEN, SKIP, RuleTable, TableError
from gridsum.io.limits import check_bytes, memory_limit
from gridsum.tasks import PAD, Task, find

# Of fewer changed cells than this, or than one in so many, their neighbours in plain Python are quicker than the whole
# stretch in numpy.
_FEW, _SPARSE = 40, 300
# What stays in a processor's cache.
_CHUNK = 1 << 15
# Above so many cells a sum may be too large for the memory; and the bytes that a cell takes.
LARGE, _BYTES = 10**6, 20
_DEFAULT = find()
_NEWLINE = ord("\n")
# What placement does with the end of a line, beside the actions of a table.
_END = SKIP + 1


class GridSize(NamedTuple):
    height: Any
    width: Any


@lru_cache(maxsize=4096)
def grid_size(terms: int, digits: int, task: Task = _DEFAULT) -> GridSize:
    """The grid for `terms` terms of up to `digits` digits: a row below them, and a column beside the result."""
    return GridSize(terms + 1, max(task.columns(terms, digits), digits + 1) + 1)


def size_of(terms: Sequence[str], task: Task = _DEFAULT) -> GridSize:
    """The grid of a sum, refused if memory is not enough for it."""
    size = grid_size(len(terms), task.longest(terms), task)
    cells = size.height * size.width
    if cells > LARGE:
        check_bytes(f"a grid of {size.height:,} rows × {size.width:,} columns", _BYTES * cells, memory_limit())
    return size


def most_steps(size: GridSize) -> Any:
    """A limit that no proved rule reaches: three times as many steps as there are cells, and a few more."""
    return 3 * size.height * size.width + 16


def line_of(terms: Sequence[str], task: Task) -> bytes:
    """A sum as placement reads it, but for the closing `=`."""
    return task.render(terms).removesuffix("=").encode()


def frames(table: RuleTable, terms: Sequence[str], limit: int | None = None) -> Iterator[np.ndarray]:
    """The state of every cell [H,W] before any step and after each one, until rest or the limit on steps.

    This is what a rule is: all cells are computed at every step. `Run` must come to the same.
    """
    size = size_of(terms, table.task)
    symbols, grid, before = Run.of(table, terms).symbols, np.zeros(size, np.uint8), None
    for _ in range((most_steps(size) if limit is None else limit) + 1):
        if before is not None and np.array_equal(grid, before):
            break
        yield grid
        around = np.pad(grid, ((0, 1), (1, 1)), constant_values=table.outside)
        before, grid = grid, table.steps[symbols, around[:-1, :-2], around[:-1, 2:], around[1:, 1:-1]]


class Run:
    """A rule at work on sums, each a line: only where something has just changed, as a step depends on nothing else.

    The grids lie flat one behind the other, row after row, the lowest first. What is no cell stays `outside`: a place
    behind each row, all that is left of a narrow grid, a row before and behind each grid. So every cell has a left, a
    right and a lower neighbour, at the same distances: −1, +1 and −`stride`.
    """

    def __init__(self, table: RuleTable, lines: Sequence[bytes], sizes: np.ndarray) -> None:
        """`sizes` [N,2] are those of the grids."""
        self._table, self._side = table, table.outside + 1
        self.sizes = height, width = GridSize(*sizes.T)
        self.steps = np.zeros(len(height), np.int64)
        self.capped = np.zeros(len(height), bool)
        """Whether a sum was ended by its limit."""
        self.cells_computed = 0
        self.stride = stride = int(width.max()) + 1
        behind = np.cumsum(height + 1)  # the row behind each grid
        self._top = behind - 1
        wide = np.append(0, np.repeat(width, height + 1))
        wide[behind] = 0
        self._owner = np.append(0, np.repeat(np.arange(len(height)), height + 1))
        cells = self._right_ends(wide)
        symbols = np.full(cells.shape, len(table.steps), np.uint8)
        symbols[cells] = table.task.alphabet.empty_cell
        self._place(b"\n".join((*lines, b"")), symbols)
        states = np.full(cells.shape, table.outside, np.uint8)
        states[cells] = 0
        self._symbols, self._states = symbols.tobytes(), bytearray(states)
        # What changed in the last step. At the first step every cell is computed.
        self._changed = np.arange(len(self._states) - stride - 1)

    @classmethod
    def of(cls, table: RuleTable, terms: Sequence[str]) -> "Run":
        """One sum."""
        return cls(table, [line_of(terms, table.task)], np.array([size_of(terms, table.task)]))

    def _right_ends(self, lengths: np.ndarray) -> np.ndarray:
        """Which places [rows,stride] are one of so many cells at the right end of their row."""
        place = np.arange(self.stride)
        found = place >= self.stride - 1 - lengths[:, None]
        found[:, -1] = False
        return found

    def _place(self, text: bytes, symbols: np.ndarray) -> None:
        """Write sums onto the grid as the placement's actions do.

        A symbol is written at the right end of the top row, which moves left, or pushes all rows down and begins a new
        top row, or is skipped. What moves over the left or the lower border is lost.
        """
        alphabet = self._table.task.alphabet
        if self._table.actions[alphabet.equals_symbol] != SKIP:
            raise TableError("this rule's placement writes '=' onto the grid, and no cell of it can hold one")
        does, number = np.full(256, _END, np.uint8), np.zeros(256, np.uint8)
        does[[ord(symbol) for symbol in alphabet.symbols]] = self._table.actions
        number[[ord(symbol) for symbol in alphabet.cell_symbols]] = np.arange(len(alphabet.cell_symbols))
        text = text.translate(None, np.flatnonzero(does == SKIP).astype(np.uint8).tobytes())
        done, held = (np.frombuffer(text.translate(part.tobytes()), np.uint8) for part in (does, number))
        cuts = np.flatnonzero(done >= OPEN)  # where a row of symbols ends, and the next begins
        ends = done[cuts] == _END
        begin = np.append(0, cuts[:-1] + ends[:-1])
        owner = np.cumsum(ends) - ends
        later = np.flatnonzero(ends)[owner] - np.arange(len(cuts))
        lengths = np.where(later < self.sizes.height[owner], np.minimum(cuts - begin, self.sizes.width[owner]), 0)
        kept = done != _END
        for one in np.flatnonzero(lengths < cuts - begin):
            kept[begin[one] : cuts[one] - lengths[one]] = False
        written = np.zeros(len(symbols), np.int64)
        written[(self._top[owner] - later)[lengths > 0]] = lengths[lengths > 0]
        symbols[self._right_ends(written)] = held[kept]

    @property
    def grid(self) -> np.ndarray:
        """The state of every cell [H,W] of a single sum."""
        return self._rows(self._states)[-2:0:-1, :-1]

    @property
    def symbols(self) -> np.ndarray:
        """The symbol of every cell [H,W] of a single sum."""
        return self._rows(self._symbols)[-2:0:-1, :-1]

    def _rows(self, flat: bytes | bytearray) -> np.ndarray:
        return np.frombuffer(bytes(flat), np.uint8).reshape(-1, self.stride)

    def read(self) -> list[bytes]:
        """What the top rows say; blanks are left out."""
        letters = np.zeros(256, np.uint8)
        for state, symbol in enumerate(self._table.outputs):
            letters[state] = 0 if symbol == PAD else ord(self._table.task.alphabet.symbols[symbol])
        tops = letters.take(self._rows(self._states)[self._top])
        tops[:, -1] = _NEWLINE
        return tops.tobytes().translate(None, b"\0").splitlines()

    def advance(self, limit: int | None = None) -> None:
        """Step after step until all are at rest, or a sum has come to its limit on steps (default: `most_steps`).

        The step that changes nothing is not counted.
        """
        limits = most_steps(self.sizes) if limit is None else np.full(len(self.steps), limit)
        most, least, ended = 0, int(limits.min()), False
        while len(self._changed):
            if most >= least:
                self.capped |= self._going() & (self.steps >= limits)
                self._changed = self._changed[~self.capped[self._owners()]]
                ended = bool(self.capped.any())
                if not len(self._changed):
                    break
            low = max(self.stride, int(self._changed.min()) - 1)
            high = min(len(self._states) - self.stride, int(self._changed.max()) + self.stride + 1)
            few = max(_FEW, (high - low) / _SPARSE)
            if len(self._changed) > few and not ended:  # a sum that was ended must stay as it is
                self._changed = self._sweep(low, high)
                self.steps[self._going()] += 1
                most += 1
            else:
                owners = self._owners()
                many = np.inf if ended else 2 * few
                rest = [
                    self._walk(one, self._changed[owners == one], int(limits[one]), many)
                    for one in set(owners.tolist())
                ]
                self._changed, most = np.concatenate(rest), int(self.steps.max())

    def _owners(self) -> np.ndarray:
        """The sum of each place that has changed."""
        return self._owner[self._changed // self.stride]

    def _going(self) -> np.ndarray:
        """Whether anything has changed in each sum."""
        going = np.zeros(len(self.steps), bool)
        # Of a single sum so many places may have changed that looking for the owner of each would take its time.
        going[self._owners() if len(going) > 1 else slice(len(self._changed))] = True
        return going

    def _sweep(self, low: int, high: int) -> np.ndarray:
        """One step of all cells from `low` to `high`, and which of them have changed."""
        states, symbols = np.frombuffer(self._states, np.uint8), np.frombuffer(self._symbols, np.uint8)
        rule, new = np.frombuffer(self._table.flat, np.uint8), np.empty(high - low, np.uint8)
        for start in range(low, high, _CHUNK):
            stop = min(high, start + _CHUNK)
            around = (states[start + distance : stop + distance] for distance in (-1, 1, -self.stride))
            context = symbols[start:stop].astype(np.intp)
            for beside in around:
                context *= self._side
                context += beside
            rule.take(context, mode="clip", out=new[start - low : stop - low])
        self.cells_computed += high - low
        changed = low + np.flatnonzero(new != states[low:high])
        states[low:high] = new
        return changed

    def _walk(self, one: int, places: np.ndarray, limit: int, many: float) -> np.ndarray:
        """Steps of one sum until many cells change, such as those of a carry on its way, in plain Python."""
        states, symbols, stride, side = self._states, self._symbols, self.stride, self._side
        rule = self._table.flat
        square, cube = side**2, side**3
        changed, steps = places.tolist(), int(self.steps[one])
        while changed and steps < limit and len(changed) <= many:
            near = {place + distance for place in changed for distance in (-1, 1, stride)}
            news = [
                (place, new)
                for place in near
                if states[place]
                != (
                    new := rule[
                        symbols[place] * cube
                        + states[place - 1] * square
                        + states[place + 1] * side
                        + states[place - stride]
                    ]
                )
            ]
            for place, new in news:
                states[place] = new
            changed = [place for place, _ in news]
            steps += bool(changed)
            self.cells_computed += len(near)
        self.steps[one] = steps
        return np.array(changed, np.intp)
