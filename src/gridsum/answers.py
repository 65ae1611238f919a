"""What a model said to one expression."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """An answer, how it came about, and the truth beside it."""

    expression: str
    answer: str
    exact: str
    steps: int
    halting: str
    placement: str
    capped: bool
    """Whether the largest number of steps ended the computation, and not the halting rule."""

    @property
    def correct(self) -> bool:
        return self.answer == self.exact
