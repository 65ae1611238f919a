"""Subtraction of two numbers, the larger first, in any base from 2 to 36."""

from collections.abc import Sequence
from typing import Any

from gridsum.tasks.alphabet import LETTERS, Alphabet
from gridsum.tasks.task import ExpressionError, Task

_DECIMAL = 10


class Subtraction(Task):
    """One whole number less another that is not larger; or a number alone.

    >>> subtract = Subtraction()
    >>> subtract.answer(subtract.parse("100-1"))
    '99'
    """

    most_terms = 2
    suites = ("[1,2]x[1,10]", "2x15", "2x100")

    def __init__(self, base: int = _DECIMAL) -> None:
        self.alphabet = Alphabet(base, "-")
        self.name = "subtract" if base == _DECIMAL else f"subtract:base={base}"
        self.meaning = "differences" if base == _DECIMAL else f"differences in base {base}"

    def check(self, terms: Sequence[str]) -> None:
        super().check(terms)
        if len(terms) == 2 and _value(terms[1]) > _value(terms[0]):
            raise ExpressionError(
                f"{terms[1]} is larger than {terms[0]}, and negative results are not part of the task; swap them"
            )

    def answer(self, terms: Sequence[str]) -> str:
        first, second = terms[0], terms[1] if len(terms) > 1 else "0"
        borrow, digits = 0, []
        for place in range(1, max(len(first), len(second)) + 1):
            value = _digit(first, place) - _digit(second, place) - borrow
            borrow = int(value < 0)
            digits.append(LETTERS[value % self.alphabet.base])
        return "".join(reversed(digits)).lstrip("0") or "0"

    def columns(self, terms: int, digits: int) -> int:  # noqa: ARG002
        return digits

    def result(self, digits: Any, columns: int) -> list[Any]:
        base = self.alphabet.base
        less = digits[..., 0, :] * 2 - digits.sum(-2)  # the first term's digits less the second's
        borrow = less[..., 0] * 0
        result = []
        for column in range(columns):
            value = less[..., column] - borrow if column < less.shape[-1] else -borrow
            result.append(value % base)
            borrow = (value < 0) * 1
        return result

    def arrange(self, lengths: Any, digits: Any) -> tuple[Any, Any]:
        """The larger of two terms comes first."""
        if digits.shape[-2] < 2:
            return lengths, digits
        order = lengths[..., 0] * 0
        for place in range(digits.shape[-1]):
            written = [digits[..., term, place] * (place < lengths[..., term]) for term in range(2)]
            first, second = written
            order = (first > second) * 1 - (first < second) * 1 + order * (first == second)
        swap = (order < 0) * 1
        return (
            lengths + swap[..., None] * (lengths.flip(-1) - lengths),
            digits + swap[..., None, None] * (digits.flip(-2) - digits),
        )


def _digit(term: str, place: int) -> int:
    return LETTERS.index(term[-place]) if place <= len(term) else 0


def _value(term: str) -> tuple[int, str]:
    """Compares as the number does; letters come after numerals, as their values do."""
    significant = term.lstrip("0")
    return len(significant), significant
