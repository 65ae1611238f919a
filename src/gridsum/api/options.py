"""Sums and options that a model is given, read and checked, with messages that say what to do."""

from collections.abc import Iterable
from dataclasses import dataclass

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


def read_expression(text: str, task: Task) -> tuple[str, ...]:
    """The terms of one sum."""
    if text in MODELS:
        raise ExpressionError(f"{text!r} is a model, not a sum; the sum comes first: gridsum.solve('58+67', {text!r})")
    return task.parse(text)


def read_expressions(texts: Iterable[str], task: Task) -> list[tuple[str, ...]]:
    """The terms of several sums; a message says which of them cannot be read."""
    found = []
    for number, text in enumerate(texts, 1):
        try:
            found.append(read_expression(text, task))
        except ExpressionError as error:
            raise ExpressionError(f"expression {number}: {error}") from None
    return found
