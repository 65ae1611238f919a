"""What the columns of a task do: the row rule, by which a rule that was learned can be proved.

The first term stands as it is. Every other term changes the number in the row below, column by column from the right.
Training and consolidation never see this; the checker does.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RowRule:
    """A transducer from right to left. Carries are numbers, and 0 comes to the last column."""

    column: Callable[[int | None, int | None, int], tuple[int, int] | None]
    """Own digit, the digit below, the carry from the right → digit and carry; None where this never happens. There is
    no own digit at a sign or where a cell is empty, and no digit below over a blank."""
    nothing: int = 0
    """The carry of a digit of the first term, and of a blank."""
    coq: str = ""
    """What the theorem about it is called in `proof/`, and the rule there; empty where there is none."""
