"""What a model said to one expression, and the ways in which it can be asked."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal

from gridsum.tasks import Task

HaltingRule = Literal["sampled", "median", "fixed"]
HALTING_RULES: dict[str, dict[HaltingRule, str]] = {
    "ponder": {
        "sampled": "at step n with probability λ_n, as the paper does (seeded)",
        "median": "at the first step by which it is more likely to have halted than not",
    },
    "fixed": {"fixed": "after the number of steps the model was trained with"},
}
"""When each kind of network can halt, its own rule first."""
FIXED_POINT = "fixed-point"
"""How a rule halts."""
PlacementRule = Literal["auto", "soft", "hard"]
PLACEMENT_RULES: dict[PlacementRule, str] = {
    "auto": "soft, but hard for sums too long for it",
    "soft": "spread as the action probabilities say, as in training",
    "hard": "by the most probable action, in time linear in the length",
}
"""How symbols get onto the grid of a network."""
_SHOWN = 60
"""Characters of a long answer that its short form shows."""


@dataclass(frozen=True)
class SolveOptions:
    """How a model solves; by default as it was trained to."""

    halting: HaltingRule | None = None
    placement: PlacementRule = "auto"
    seed: int = 0
    """Random seed for sampled halting."""
    network: bool = False
    """Whether the network itself answers, where its rule would."""


AS_TRAINED = SolveOptions()


@dataclass(frozen=True, repr=False, eq=False)
class Answer(str):
    """An answer, how it came about, and the truth beside it.

    It is the text of what was answered, and is compared, printed and written to JSON as such::

        >>> answer = Answer("58+67=", "125", "125", 3, "fixed-point", "hard", False, base=10)
        >>> print(answer)
        125
        >>> int(answer), answer == "125"
        (125, True)
        >>> answer
        <58+67=125, right, 3 steps>
    """

    expression: str
    answer: str
    expected: str
    steps: int
    halting: str
    placement: str
    capped: bool
    """Whether the largest number of steps ended the computation, and not the halting rule."""
    base: int
    """In which numbers are written: `int(answer)` is what is meant, not what is read."""

    def __new__(cls, expression: str, answer: str, *_: Any, **__: Any) -> "Answer":  # noqa: ARG004
        return super().__new__(cls, answer)

    def __reduce__(self) -> tuple[Any, ...]:
        return Answer, astuple(self)

    @property
    def correct(self) -> bool:
        return self.answer == self.expected

    def described(self, model: str) -> dict[str, Any]:
        """As JSON holds it, with the name of the model that gave it."""
        told = ("expression", "answer", "expected", "correct", "steps", "halting", "placement", "capped")
        return {name: getattr(self, name) for name in told} | {"model": model}

    def __int__(self) -> int:
        return int(self.answer, self.base)

    @property
    def taken(self) -> str:
        """How many steps, in words."""
        return f"{self.steps} step{'' if self.steps == 1 else 's'}"

    def __repr__(self) -> str:
        verdict = "right" if self.correct else f"wrong: it is {shortened(self.expected)}"
        return f"<{shortened(self.expression)}{shortened(self.answer) or 'nothing'}, {verdict}, {self.taken}>"


def answered(
    task: Task, terms: Sequence[str], said: str, steps: int, capped: bool, rule: str = FIXED_POINT, placed: str = "hard"
) -> Answer:
    """What was said to an expression, and the truth. A rule's steps count until the last in which a cell changed."""
    return Answer(task.render(terms), said, task.answer(terms), steps, rule, placed, capped, task.alphabet.base)


def shortened(text: str, room: int = _SHOWN) -> str:
    """A long text by its two ends."""
    if len(text) <= room:
        return text
    count = f" ({len(text)} symbols)"
    end = max(3, (room - len(count) - 1) // 2)
    ends = f"{text[:end]}…{text[-end:]}{count}"
    return ends if len(ends) < len(text) else text
