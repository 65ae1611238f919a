"""What the columns of a task do: the row rule, by which a rule that was learned can be proved.

The first term stands as it is. Every other term changes the number in the row below, column by column.
Training and consolidation never see this; the checker does.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RowRule:
    """A transducer from right to left, or from left to right. Carries are numbers, and 0 comes in at the border."""

    column: Callable[[int | None, int | None, int], tuple[int, int] | None]
    """Own digit, the digit below, the carry that comes in → digit and carry; None where this never happens. There is
    no own digit at a sign or where a cell is empty, and no digit below over a blank."""
    nothing: int = 0
    """The carry of a digit of the first term, and of a blank."""
    rightward: bool = False
    """Whether carries go to the right. Then the first term is treated as the others are."""
    name: Callable[[int], str] = str
    """What a carry is called, in a few letters."""
    coq: str = ""
    """What the theorem about it is called in `proof/`, and the rule there; empty where there is none."""
