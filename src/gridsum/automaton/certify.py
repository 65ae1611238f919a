"""A rule's table and certificate as a file for Coq, and what its kernel says to them.

The theorem stands in `proof/`, for any table that passes its checks. The checks are given a certificate: what `prove`
found each code to mean, and which codes stand at rest in the lowest row. A wrong certificate makes them fail; it cannot
make a false theorem. What must be trusted here is `_table`: that it writes the table as it is.
"""

from collections.abc import Callable, Iterable

from gridsum.automaton.proof import GROUND, Proof
from gridsum.automaton.table import RuleTable
from gridsum.tasks import FIRST_DIGIT, PAD

_KINDS = 7


def _list[Item](items: Iterable[Item], write: Callable[[Item], str] = str) -> str:
    return "[" + "; ".join(map(write, items)) + "]"
