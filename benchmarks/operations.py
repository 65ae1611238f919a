"""The commands of gridsum with two operations more, each written as a reader would: one file, and `register`.

python benchmarks/operations.py train --variant exact --setting small --task nim:base=4 --seeds 0-4 --out FOLDER
"""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from gridsum.__main__ import main
from gridsum.tasks import ExpressionError, RowRule, Task, register
from gridsum.tasks.task import BLANKS_COUNT


class Nim(Task):
    """Sums without carries, as docs/tasks.md has them.

    >>> Nim(4).answer(("123", "311"))
    '30'
    """

    kind, signs, asks = "nim", "+", "sums without carries"
    settings = MappingProxyType(BLANKS_COUNT)

    def columns(self, terms: int, digits: int) -> int:  # noqa: ARG002
        return digits

    def result(self, digits: Any, columns: int, *signs: Any) -> list[Any]:  # noqa: ARG002
        return [digits.sum(-2)[..., column] % self.alphabet.base for column in range(columns)]

    @property
    def row(self) -> RowRule:
        return RowRule(lambda own, below, carry: (((own or 0) + (below or 0)) % self.alphabet.base, carry))


class Both(Task):
    """Numbers that are added and one-digit factors, in one expression, from left to right.

    >>> both = Both()
    >>> both.answer(both.parse("12+3*2+100"))
    '130'
    """

    kind, signs, asks = "both", "+*", "sums and products from left to right"
    unwritten = -1  # a factor that is not there is not a 0
    settings = MappingProxyType({**BLANKS_COUNT, "phases.place.steps": 4000, "rule.bits": 10})

    def check(self, terms: Sequence[str]) -> None:
        super().check(terms)
        if any(term[0] == "*" and len(term) > 2 for term in terms):
            raise ExpressionError("a factor has more than one digit, and both takes factors of one")

    def columns(self, terms: int, digits: int) -> int:
        return digits + terms - 1

    def result(self, digits: Any, columns: int, *signs: Any) -> list[Any]:
        written = digits * (digits >= 0)
        found = [written[..., 0, min(place, digits.shape[-1] - 1)] for place in range(columns)]
        found = [digit * (place < digits.shape[-1]) for place, digit in enumerate(found)]
        for term in range(1, digits.shape[-2]):
            times = signs[0][..., term] * (digits[..., term, 0] >= 0)
            factor, carry = 1 + times * (written[..., term, 0] - 1), 0
            for place in range(columns):
                added = (1 - times) * written[..., term, place] if place < digits.shape[-1] else 0
                value = found[place] * factor + added + carry
                found[place], carry = value % self.alphabet.base, value // self.alphabet.base
        return found

    def arrange(self, lengths: Any, digits: Any, *signs: Any) -> tuple[Any, Any]:
        """Factors have one digit. A 0 or 1, which makes a product say little, is drawn again."""
        factor = signs[0][..., 1:] == 1
        lengths[..., 1:] -= factor * (lengths[..., 1:] - lengths[..., 1:].clamp(max=1))
        digits[..., 1:, 0] += factor * (digits[..., 1:, 0] < 2) * (digits[..., 1:, -1] - digits[..., 1:, 0])
        return lengths, digits


if __name__ == "__main__":
    for task in (Nim, Both):
        register(task.kind, task)
    main()
