"""A single carry on its way: one cell changes in each step, and its neighbour in the next.

Such a wave passes a million cells in a million steps. Where only one cell changes, what the next one becomes depends on
it alone, as all else stands still. So a long stretch is first worked out as if nothing but the wave moved. Then all
cells beside its path are checked at once, and the stretch counts up to the first of them that would have changed.
"""

import numpy as np

from gridsum.automaton.table import RuleTable

_PATIENCE = 24
"""Steps of a wave that are taken one by one before its path is worked out ahead."""
_FIRST, _LONGEST = 1 << 9, 1 << 16


class Wave:
    """Follows which cells change, and runs ahead where one cell after the other does.

    `codes` and `symbols` are a grid as it lies flat, with `stride` places a row.
    """

    def __init__(self, table: RuleTable, codes: np.ndarray, symbols: np.ndarray, stride: int) -> None:
        self._rule, self._bytes, self._side = table.flat, table.flat_bytes, table.outside + 1
        self._codes, self._symbols, self._stride = codes, symbols, stride
        self._place, self._direction, self._streak = -1, 0, 0
        self._patience, self._length = _PATIENCE, _FIRST
        self.computed = 0

    def follow(self, place: int, most: int) -> int:
        """Tell where alone the last step changed a cell; returns how many steps have been run ahead, `most` at most.

        The cell that the last of them changed is `place` moved by as many in `direction`.
        """
        moved = place - self._place
        self._streak = self._streak + 1 if moved == self._direction else 0
        self._place, self._direction = place, moved if moved in (-1, 1) else 0
        if self._streak < self._patience or not self._direction or not most:
            return 0
        done = self._run_ahead(place, self._direction, min(self._length, most))
        if done == self._length:
            self._length = min(2 * self._length, _LONGEST)
            self._patience = 0
        else:  # it was stopped: the next time, look longer before running
            self._length = _FIRST
            self._patience = _PATIENCE if done > _PATIENCE else min(2 * max(self._patience, _PATIENCE), 1 << 16)
            self._streak = 0
        self._place += done * self._direction
        return done

    @property
    def direction(self) -> int:
        return self._direction

    def _run_ahead(self, place: int, direction: int, length: int) -> int:
        side, codes, rule = self._side, self._codes, self._bytes
        first, last = place + direction, place + direction * length
        low, high = min(first, last), max(first, last) + 1
        low, high = max(low, self._stride), min(high, len(codes) - self._stride)
        behind, ahead = (side, side * side) if direction < 0 else (side * side, side)
        # What the rule sees of each cell but for the one behind it, in the order in which the wave comes.
        contexts = self._symbols[low:high].astype(np.intp) * side**3 + codes[low + self._stride : high + self._stride]
        contexts += codes[low + direction : high + direction].astype(np.intp) * ahead
        path = slice(None, None, direction)
        new, code = [], int(codes[place])
        for context, old in zip(contexts[path].tolist(), codes[low:high][path].tolist(), strict=True):
            code = rule[context + code * behind]
            if code == old:
                break
            new.append(code)
        done = len(new)
        if not done:
            return 0
        # The wave and the cell it started from, in their order; those behind them and above them must not change.
        places = place + direction * np.arange(done)
        path_places = places + direction
        before = codes[path_places]
        codes[path_places] = new
        left_behind = self._stays(places - direction) & self._stays(places - self._stride)
        self.computed += 3 * done
        if not left_behind.all():
            done = int(left_behind.argmin())
            codes[path_places[done:]] = before[done:]
        return done

    def _stays(self, places: np.ndarray) -> np.ndarray:
        context = self._symbols[places].astype(np.intp)
        for distance in (-1, 1, self._stride):
            context *= self._side
            context += self._codes[places + distance]
        return self._rule[context] == self._codes[places]
