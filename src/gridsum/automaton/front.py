"""Many terms: only the rows near the front are computed.

The sum of the rows goes up the grid by one row a step, so in a grid of ten thousand rows nearly all cells change at
nearly every step, long before their right value can reach them. What they hold then is mostly forgotten: it does not
matter for any later state. So a row is left alone until the front is some steps away. Then it begins as "any code", and
from there on a cell holds the *set* of the codes that it may have: the codes that the rule gives for any members of its
neighbours' sets. A set can only be too large, never wrong. When all sets have one member and nothing changes any more,
these are the codes at rest. The number of steps is known too if some cell changed for certain in the last step; if it
is not, there is no answer from here, and all rows are computed.
"""

from collections.abc import Sequence

import numpy as np

from gridsum.automaton.run import GridSize, RuleAnswer, flat_codes, flat_symbols, read
from gridsum.automaton.table import RuleTable

_SETS = 64
"""Different sets that are told apart; beyond these, and for sets of more members than `_MEMBERS`, any code is taken."""
_MEMBERS = 4
_MOST_CODES = 100
_LEAST_ROWS = 200
_MARGIN = 6


def worthwhile(table: RuleTable, size: GridSize) -> bool:
    """What a row once held can matter for as many steps as there are columns, so a grid has to be much higher."""
    return table.outside <= _MOST_CODES and size.height >= max(_LEAST_ROWS, 4 * size.width)


def solve_tall(table: RuleTable, terms: Sequence[str], size: GridSize) -> RuleAnswer | None:
    """The answer and the steps that computing all cells would give; None where they cannot be told in this way."""
    sets = _Sets(table)
    height, width = size
    stride = width + 1
    ahead = width + _MARGIN
    symbols = np.frombuffer(flat_symbols(table, terms, size), np.uint8)
    codes = np.frombuffer(bytearray(flat_codes(size, table.outside)), np.uint8)
    # The lowest rows are near the front from the start; above them stands "any code".
    begun = max(0, height - ahead)
    rows = codes.reshape(-1, stride)
    rows[1 : 1 + begun, :-1] = sets.any
    high = (height + 1) * stride
    computed, certain = 0, False
    for step in range(1, height + 4 * ahead):
        # All that lies below `high` is at rest.
        low = (begun + 1) * stride
        new = sets.step(
            symbols[low:high], codes[low - 1 : high - 1], codes[low + 1 : high + 1], codes[low + stride : high + stride]
        )
        computed += high - low
        old = codes[low:high]
        changed = np.flatnonzero(new != old)
        if not len(changed) and not begun:
            if not certain or np.any(rows[1:-1, :-1] >= table.outside):
                return None
            return RuleAnswer(read(table, codes[stride : 2 * stride - 1].tobytes()), step - 1, computed, False)
        certain = bool(sets.apart[old[changed], new[changed]].any())
        codes[low:high] = new
        begun = max(0, begun - 1)
        high = low + int(changed[-1]) + 2 if len(changed) else low
    return None


class _Sets:
    """Sets of codes by number: a code is the set of itself, `outside` is itself, and the rest are found on the way."""

    def __init__(self, table: RuleTable) -> None:
        codes = table.outside
        self._table = table
        self.any = codes + 1
        self._members: list[tuple[int, ...]] = [*((code,) for code in range(codes + 1)), tuple(range(codes))]
        self._places = [np.array(members) for members in self._members]
        self._numbers = {members: number for number, members in enumerate(self._members)}
        self._side = side = codes + 2 + _SETS
        self._unknown = 255
        self._rule = np.full((len(table.steps) + 1, side, side, side), self._unknown, np.uint8)
        self._rule[:-1, : codes + 1, : codes + 1, : codes + 1] = table.steps
        self._rule[-1] = codes
        self._flat = self._rule.reshape(-1)
        self.apart = np.zeros((side, side), bool)
        """Whether two sets have no member in common."""
        for number in range(len(self._members)):
            self._compare(number)

    def step(self, symbols: np.ndarray, left: np.ndarray, right: np.ndarray, below: np.ndarray) -> np.ndarray:
        index = symbols.astype(np.intp)
        for neighbour in (left, right, below):
            index *= self._side
            index += neighbour
        new = self._flat.take(index)
        if self._unknown in new:
            for context in set(index[new == self._unknown].tolist()):
                self._flat[context] = self._image(context)
            new = self._flat.take(index)
        return new

    def _image(self, context: int) -> int:
        """The set of what the rule makes of any members."""
        symbol, left, right, below = np.unravel_index(context, self._rule.shape)
        image = self._table.steps[symbol][
            self._places[left][:, None, None], self._places[right][:, None], self._places[below]
        ]
        members = tuple(np.flatnonzero(np.bincount(image.reshape(-1))).tolist())
        if members in self._numbers:
            return self._numbers[members]
        if len(members) > _MEMBERS or len(self._members) == self._side:
            return self.any
        self._numbers[members] = len(self._members)
        self._members.append(members)
        self._places.append(np.array(members))
        self._compare(len(self._members) - 1)
        return len(self._members) - 1

    def _compare(self, number: int) -> None:
        own = set(self._members[number])
        for other, members in enumerate(self._members):
            self.apart[number, other] = self.apart[other, number] = own.isdisjoint(members)
