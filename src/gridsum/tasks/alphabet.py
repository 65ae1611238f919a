"""The letters of a task, and the numbers that a network knows them by."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Digits, in the order of their values."""
PAD, FIRST_DIGIT = 0, 1
"""In every alphabet the blank comes first, then the digits from 0 on, then the sign between terms, then `=`."""


@dataclass(frozen=True)
class Alphabet:
    """Σ = {PAD, digits, sign, =}.

    >>> Alphabet(2, "+").symbols
    (' ', '0', '1', '+', '=')
    """

    base: int
    sign: str

    def __post_init__(self) -> None:
        if not 2 <= self.base <= len(LETTERS):
            raise ValueError(f"a base lies between 2 and {len(LETTERS)}, not {self.base}")
        if len(self.sign) != 1 or self.sign in LETTERS + " =":
            raise ValueError(
                f"the sign between terms is one letter, but not a digit, a blank or '=': not {self.sign!r}"
            )

    @property
    def digits(self) -> str:
        return LETTERS[: self.base]

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        return (" ", *self.digits, self.sign, "=")

    def __len__(self) -> int:
        return self.base + 3

    @property
    def sign_code(self) -> int:
        return FIRST_DIGIT + self.base

    @property
    def equals_code(self) -> int:
        return FIRST_DIGIT + self.base + 1

    @cached_property
    def cell_symbols(self) -> tuple[str, ...]:
        """What a cell of a grid can hold once symbols are placed: a digit, the sign, nothing."""
        return (*self.digits, self.sign, " ")

    @property
    def sign_cell(self) -> int:
        return self.base

    @property
    def empty_cell(self) -> int:
        return self.base + 1

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {symbol: code for code, symbol in enumerate(self.symbols)}

    def encode(self, text: str) -> list[int]:
        return [self._codes[letter] for letter in text]

    def decode(self, codes: Iterable[int]) -> str:
        """The letters of codes, PAD left out."""
        return "".join(self.symbols[code] for code in codes if code != PAD)

    def length(self, number: int) -> int:
        """How many digits a number has."""
        count = 1
        while number >= self.base:
            number //= self.base
            count += 1
        return count

    def write(self, number: int) -> str:
        """A number in this alphabet's digits."""
        if self.base == len("0123456789"):
            return str(number)
        digits = []
        while number or not digits:
            number, digit = divmod(number, self.base)
            digits.append(LETTERS[digit])
        return "".join(reversed(digits))

    def __str__(self) -> str:
        """The digits in words: 0-9, or 0-9 a-f."""
        numerals, letters = self.digits[:10], self.digits[10:]
        return f"0-{numerals[-1]}" + (f" a-{letters[-1]}" if letters else "")
