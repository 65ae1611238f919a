"""Tasks: what is asked, in which letters, and what the right answer is.

All that is particular to a task stands here, as data and functions that need no tensors: `find("add:base=2")`.
"""

from gridsum.tasks.alphabet import FIRST_DIGIT as FIRST_DIGIT
from gridsum.tasks.alphabet import PAD as PAD
from gridsum.tasks.alphabet import Alphabet as Alphabet
from gridsum.tasks.registry import DEFAULT as DEFAULT
from gridsum.tasks.registry import TaskError as TaskError
from gridsum.tasks.registry import find as find
from gridsum.tasks.registry import known_as as known_as
from gridsum.tasks.registry import register as register
from gridsum.tasks.sums import Addition as Addition
from gridsum.tasks.sums import Subtraction as Subtraction
from gridsum.tasks.task import ExpressionError as ExpressionError
from gridsum.tasks.task import RowRule as RowRule
from gridsum.tasks.task import Task as Task
