"""Sums and options that a model is given, read and checked, with messages that say what to do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gridsum.data.answers import HaltingRule, PlacementRule
from gridsum.io.names import MODELS
from gridsum.tasks import ExpressionError, Task


class ModelError(ValueError):
    """A model that cannot be had or cannot do as asked; the message says what to do."""


@dataclass(frozen=True)
class SolveOptions:
    """How a model solves; by default as it was trained to."""

    halting: HaltingRule | None = None
    placement: PlacementRule = "auto"
    seed: int = 0
    """Random seed for sampled halting."""
    network: bool = False
    """Whether the network itself answers, where its rule would."""

    def __post_init__(self) -> None:
        check_seed(self.seed)


def check_seed(seed: Any) -> None:
    if not isinstance(seed, int):
        raise ModelError(f"{seed!r} is not a seed; write a whole number. A device has a name: device='cuda'")


def read_expression(text: str, task: Task) -> tuple[str, ...]:
    """The terms of one sum."""
    if not isinstance(text, str):
        raise ExpressionError(f"{text!r} is not text; write a sum such as '58+67'")
    if text in MODELS:
        raise ExpressionError(f"{text!r} is a model, not a sum; the sum comes first: gridsum.solve('58+67', {text!r})")
    return task.parse(text)


def read_expressions(texts: Iterable[str], task: Task) -> list[tuple[str, ...]]:
    """The terms of several sums; a message says which of them cannot be read."""
    if not isinstance(texts, Iterable) or isinstance(texts, bytes):
        raise ExpressionError(f"{texts!r} is not text; write a sum such as '58+67', or a list of them")
    found = []
    for number, text in enumerate(texts, 1):
        try:
            found.append(read_expression(text, task))
        except ExpressionError as error:
            raise ExpressionError(f"expression {number}: {error}") from None
    return found
