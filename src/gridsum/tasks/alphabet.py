"""The letters of a task, and the numbers that a network knows them by."""

from dataclasses import dataclass
from functools import cached_property

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Digits, in the order of their values."""
PAD, FIRST_DIGIT = 0, 1
"""In every alphabet the blank comes first, then the digits from 0 on, then the signs between terms, then `=`."""


@dataclass(frozen=True)
class Alphabet:
    """Σ = {PAD, digits, signs, =}.

    >>> Alphabet(2, "+").symbols
    (' ', '0', '1', '+', '=')
    """

    base: int
    signs: str
    """Those that stand between terms, mostly one."""

    def __post_init__(self) -> None:
        if not 2 <= self.base <= len(LETTERS):
            raise ValueError(f"the base must lie between 2 and {len(LETTERS)}")
        if not self.signs or set(self.signs) & set(LETTERS + " =") or len(set(self.signs)) < len(self.signs):
            raise ValueError(
                f"the signs between terms are letters, but not digits, a blank or '=', each once: not {self.signs!r}"
            )

    @property
    def digits(self) -> str:
        return LETTERS[: self.base]

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        return (" ", *self.digits, *self.signs, "=")

    def __len__(self) -> int:
        return self.base + len(self.signs) + 2

    @property
    def sign_symbol(self) -> int:
        """The first sign's."""
        return FIRST_DIGIT + self.base

    @property
    def equals_symbol(self) -> int:
        return self.sign_symbol + len(self.signs)

    @cached_property
    def cell_symbols(self) -> tuple[str, ...]:
        """What a cell of a grid can hold once symbols are placed: a digit, a sign, nothing."""
        return (*self.digits, *self.signs, " ")

    @property
    def empty_cell(self) -> int:
        return self.base + len(self.signs)

    def encode(self, text: str) -> list[int]:
        return [self.symbols.index(letter) for letter in text]

    def write(self, number: int) -> str:
        """A number in this alphabet's digits."""
        import numpy as np

        return str(number) if self.base == 10 else np.base_repr(number, self.base).lower()

    def __str__(self) -> str:
        """The digits in words: 0-9, or 0-9 a-f."""
        numerals, letters = self.digits[:10], self.digits[10:]
        return f"0-{numerals[-1]}" + (f" a-{letters[-1]}" if letters else "")
