"""Prefix sums modulo two: at every place, whether the ones so far are odd in number."""

from collections.abc import Sequence
from typing import Any

from gridsum.tasks.alphabet import Alphabet
from gridsum.tasks.task import Task


class Prefix(Task):
    """Of one row of bits; zeros before the first one stay unwritten, as in every answer.

    >>> prefix = Prefix()
    >>> prefix.answer(prefix.parse("0110"))
    '100'
    """

    name = "prefix"
    meaning = "prefix sums modulo 2 of a row of bits"
    most_terms = 1
    suites = ("1x32", "1x128", "1x512")

    def __init__(self) -> None:
        self.alphabet = Alphabet(2, "+")

    def answer(self, terms: Sequence[str]) -> str:
        odd, written = 0, []
        for bit in terms[0]:
            odd ^= int(bit)
            written.append(str(odd))
        return "".join(written).lstrip("0") or "0"

    def columns(self, terms: int, digits: int) -> int:  # noqa: ARG002
        return digits

    def result(self, digits: Any, columns: int, *signs: Any) -> list[Any]:  # noqa: ARG002
        odd, written = digits[..., 0, 0] * 0, []
        for place in reversed(range(columns)):
            odd = (odd + digits[..., 0, place]) % 2 if place < digits.shape[-1] else odd
            written.append(odd)
        return written[::-1]
