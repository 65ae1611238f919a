"""A few cells that change, and the same ones one place further on in the next step: a carry on its way.

Such a wave passes a million cells in a million steps. Where all that it meets is alike, so is each of its steps: what
changes next follows from the cells around it, and these are what they were one step and one place before. So it is
moved many places at once, up to the first place ahead that is not like the others.
"""

import numpy as np

Change = tuple[int, int, int]
"""A place, its code before and its code after."""
_PATIENCE = 24
"""Steps of a wave that are taken one by one before it is moved ahead."""
_CELLS = 8
"""The most cells that a wave changes in a step."""
_LONGEST = 1 << 16


class Wave:
    """Follows which cells change, and moves ahead what changes alike from place to place.

    `codes` and `symbols` are a grid as it lies flat, with `stride` places a row.
    """

    def __init__(self, codes: np.ndarray, symbols: np.ndarray, stride: int) -> None:
        self._codes, self._symbols, self._stride = codes, symbols, stride
        self._place, self._streak, self._patience = -1, 0, _PATIENCE
        self._shape: list[Change] = []
        self.direction = 0

    def follow(self, changes: list[Change], most: int) -> int:
        """Tell what the last step changed; returns how many steps have been taken at once, `most` at most.

        What the last of them changed is `changes` moved by as many places in `direction`.
        """
        if len(changes) > _CELLS:
            self._streak, self._shape = 0, []
            return 0
        changes = sorted(changes)
        place = changes[0][0]
        shape, moved = [(there - place, old, new) for there, old, new in changes], place - self._place
        again = shape == self._shape and moved == self.direction
        self._streak = self._streak + 1 if again else 0
        self._place, self._shape, self.direction = place, shape, moved if moved in (-1, 1) else 0
        if not again or not self.direction or self._streak < self._patience:
            return 0
        done = self._move(changes, min(most, _LONGEST))
        # Where it was stopped, look longer before moving the next time.
        self._patience = _PATIENCE if done > _PATIENCE else min(2 * max(self._patience, 1), _LONGEST)
        self._place += done * self.direction
        return done

    def _move(self, changes: list[Change], most: int) -> int:
        """Move the wave as far as it meets what it met in its last step.

        In each row it moves all that the next step depends on, from `low` to `high`. Cells that come in at the front
        must be like the one at the front now; those that fall out behind keep what the last one has.
        """
        direction, stretches = self.direction, self._seen([place for place, _, _ in changes])
        if not all(self._as_before(low, high, changes) for low, high in stretches):
            return 0
        steps = min([most, *(self._alike(low if direction < 0 else high - 1, most) for low, high in stretches)])
        for low, high in stretches if steps else ():
            wave, last = self._codes[low:high].copy(), self._codes[high - 1 if direction < 0 else low]
            passed = slice(high - steps, high) if direction < 0 else slice(low, low + steps)
            self._codes[passed] = last
            self._codes[low + direction * steps : high + direction * steps] = wave
        return steps

    def _seen(self, places: list[int]) -> list[tuple[int, int]]:
        """From where to where in each row, the end excluded, the next step looks, if these cells have just changed."""
        rows: dict[int, tuple[int, int]] = {}
        for place in places:
            for row, reach in ((-1, 1), (0, 2), (1, 1)):
                there = place + row * self._stride
                low, high = rows.get(there // self._stride, (there, there))
                rows[there // self._stride] = min(low, there - reach), max(high, there + reach + 1)
        return list(rows.values())

    def _as_before(self, low: int, high: int, changes: list[Change]) -> bool:
        """Whether all here is what it was one step and one place before."""
        direction, start = self.direction, low // self._stride * self._stride
        if min(low, low - direction) < start or max(high, high - direction) > start + self._stride:
            return False
        shifted = slice(low - direction, high - direction)
        before = self._codes[shifted].copy()
        for place, old, _ in changes:
            if shifted.start <= place < shifted.stop:
                before[place - shifted.start] = old
        same_symbols = np.array_equal(self._symbols[low:high], self._symbols[shifted])
        return same_symbols and np.array_equal(self._codes[low:high], before)

    def _alike(self, front: int, most: int) -> int:
        """How many places ahead of `front`, in its row, are like it."""
        start = front // self._stride * self._stride
        if self.direction < 0:
            ahead = slice(max(start, front - most), front)
        else:
            ahead = slice(front + 1, min(start + self._stride, front + 1 + most))
        same = (self._codes[ahead] == self._codes[front]) & (self._symbols[ahead] == self._symbols[front])
        same = same[:: self.direction]
        return len(same) if same.all() else int(same.argmin())
