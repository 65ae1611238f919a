"""What a model is asked, and how it is to work: read and checked, with messages that say what to do."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from gridsum.tasks import ExpressionError, Task

if TYPE_CHECKING:
    from gridsum.evaluation.solving import PlacementRule
    from gridsum.model.inference import HaltingRule


class ModelError(ValueError):
    """A model that cannot be had or cannot do as asked; the message says what to do."""


class How(NamedTuple):
    """How a model is to work. What is not said is as the model was made for."""

    halting: "HaltingRule | None" = None
    placement: "PlacementRule" = "auto"
    seed: int = 0
    """Of the draws of sampled halting."""
    network: bool = False
    """Whether the network itself answers, where its rule would."""


def read_expression(text: str, task: Task) -> tuple[str, ...]:
    """The terms of one sum."""
    if not isinstance(text, str):
        raise ExpressionError(f"{text!r} is no text; write a sum such as '58+67'")
    return task.parse(text)


def read_expressions(texts: Iterable[str], task: Task) -> list[tuple[str, ...]]:
    """The terms of several sums; a message says which of them cannot be read."""
    if not isinstance(texts, Iterable) or isinstance(texts, bytes):
        raise ExpressionError(f"{texts!r} is no text; write a sum such as '58+67', or a list of them")
    found = []
    for number, text in enumerate(texts, 1):
        try:
            found.append(read_expression(text, task))
        except ExpressionError as error:
            raise ExpressionError(f"expression {number}: {error}") from None
    return found
