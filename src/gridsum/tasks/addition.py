"""Addition, in any base from 2 to 36."""

from collections.abc import Sequence
from typing import Any

from gridsum.tasks.alphabet import LETTERS, Alphabet
from gridsum.tasks.task import Task

_DECIMAL = 10
# Python refuses (and is slow at) conversions of very long integers, so sums are made in pieces of this size.
_PIECE = 4000


class Addition(Task):
    """Sums of any number of non-negative whole numbers.

    >>> add = Addition(2)
    >>> add.answer(add.parse("101 + 11"))
    '1000'
    """

    adds = True

    def __init__(self, base: int = _DECIMAL) -> None:
        self.alphabet = Alphabet(base, "+")
        self.name = "add" if base == _DECIMAL else f"add:base={base}"
        self.meaning = "sums" if base == _DECIMAL else f"sums in base {base}"

    @property
    def example(self) -> str:
        return "a sum such as 523+102" if self.alphabet.base == _DECIMAL else super().example

    def explain(self, character: str) -> str:
        if character == "-" or character in "−–":
            only = "signs are not part of the task: only sums of non-negative whole numbers can be solved"
            return f"{only}. Differences are the task subtract: gridsum train --task subtract"
        return super().explain(character)

    def carried(self, terms: Sequence[str]) -> int:
        """How many columns in a row pass on a carry that they would not have made by themselves; of 9999+1 it is 3."""
        carry = run = longest = 0
        for place in range(1, max(map(len, terms)) + 1):
            own = sum(LETTERS.index(term[-place]) for term in terms if place <= len(term))
            out = (own + carry) // self.alphabet.base
            run = run + 1 if out > own // self.alphabet.base else 0
            longest, carry = max(longest, run), out
        return longest

    def answer(self, terms: Sequence[str]) -> str:
        """The true sum without leading zeros, in time linear in the number of digits."""
        base = self.alphabet.base
        longest = max(len(term) for term in terms)
        if base != _DECIMAL:
            return self._by_column(terms, longest)
        pieces: list[str] = []
        carry = 0
        for low in range(0, longest, _PIECE):
            ends = (max(0, len(term) - low) for term in terms)
            column = carry + sum(
                int(term[max(0, end - _PIECE) : end] or "0") for term, end in zip(terms, ends, strict=True)
            )
            carry, rest = divmod(column, base**_PIECE)
            pieces.append(str(rest).zfill(_PIECE))
        pieces.append(str(carry))
        return "".join(reversed(pieces)).lstrip("0") or "0"

    def _by_column(self, terms: Sequence[str], longest: int) -> str:
        carry, digits = 0, []
        for place in range(1, longest + 1):
            carry += sum(LETTERS.index(term[-place]) for term in terms if place <= len(term))
            carry, digit = divmod(carry, self.alphabet.base)
            digits.append(LETTERS[digit])
        return (self.alphabet.write(carry) + "".join(reversed(digits))).lstrip("0") or "0"

    def columns(self, terms: int, digits: int) -> int:
        """The largest sum is n · (b^d − 1), which is (n − 1) · b^d and less than b^d more."""
        base, length = self.alphabet.base, self.alphabet.length
        if digits < length(terms):  # then it may be less; and it is small enough to be written out
            return length(terms * (base**digits - 1))
        return digits + (length(terms - 1) if terms > 1 else 0)

    def result(self, digits: Any, columns: int) -> list[Any]:
        base, totals = self.alphabet.base, digits.sum(-2)
        carry = totals[..., 0] * 0
        result = []
        for column in range(columns):
            value = carry + totals[..., column] if column < totals.shape[-1] else carry
            result.append(value % base)
            carry = value // base
        return result
