"""Tasks: what is asked, in which letters, and what the right answer is.

All that is particular to a task stands here, as data and functions that need no tensors: `find("add:base=2")`.
"""

from gridsum.tasks.alphabet import FIRST_DIGIT, PAD, Alphabet
from gridsum.tasks.registry import DEFAULT, TaskError, find, known_as, register
from gridsum.tasks.sums import Addition, Subtraction
from gridsum.tasks.task import ExpressionError, RowRule, Task

__all__ = [
    "DEFAULT",
    "FIRST_DIGIT",
    "PAD",
    "Addition",
    "Alphabet",
    "ExpressionError",
    "RowRule",
    "Subtraction",
    "Task",
    "TaskError",
    "find",
    "known_as",
    "register",
]
