"""A learned rule as a finite table, and as a file.

A cell of the network `exact` holds m bits and sees its own symbol and the bits of its left, right and lower neighbour,
so a step is a function on finitely many contexts. From a start with all bits off only a few states (bit patterns) ever
appear; on these the rule is a table, closed under its own steps.
"""

import base64
import hashlib
import json
import math
import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gridsum.tasks import PAD, Alphabet, Task, TaskError, find

_DEFAULT = find()
FORMAT = "gridsum-rule-1"
WRITE, OPEN, SKIP = range(3)
"""What placement does with a symbol: it writes it and moves left, opens a row, or goes on."""
MOST_BITS, MOST_STATES = 12, 255
"""Of a cell, and of a table, whose entries are bytes; one stands for `outside`."""


def usual_actions(alphabet: Alphabet) -> tuple[int, ...]:
    """Digits are written, signs open rows, and the rest is skipped."""
    return (SKIP, *[WRITE] * alphabet.base, *[OPEN] * len(alphabet.signs), SKIP)


class TableError(ValueError):
    """A rule that cannot be read; the message says what to mend."""


@dataclass(frozen=True)
class RuleTable:
    """States by their number, which is 0 for the state that every cell starts with; `outside` stands for no cell."""

    bits: int
    states: tuple[int, ...]
    """The bit pattern of each state: bit k of the integer is bit k of the cell."""
    steps: np.ndarray
    """uint8 [x, n+1, n+1, n+1]: own symbol (a digit, the sign, nothing), left, right, below → the state after the step;
    n is `outside`."""
    outputs: tuple[int, ...]
    """The symbol of Σ that the output layer reads in each state."""
    actions: tuple[int, ...]
    """What placement does with each symbol of Σ."""
    task: Task = _DEFAULT

    def __post_init__(self) -> None:
        states, side, alphabet = len(self.states), len(self.states) + 1, self.task.alphabet
        numbers = (self.bits, *self.states, *self.outputs, *self.actions)
        fits = (
            all(type(number) is int for number in numbers)
            and 0 < self.bits <= MOST_BITS
            and 0 < states <= MOST_STATES
            and len(set(self.states)) == states
            and all(0 <= pattern < 2**self.bits for pattern in self.states)
            and self.steps.shape == (len(alphabet.cell_symbols), side, side, side)
            and int(self.steps.max()) < states
            and len(self.outputs) == states
            and set(self.outputs) <= set(range(len(alphabet)))
            and len(self.actions) == len(alphabet)
            and set(self.actions) <= {0, 1, 2}
        )
        if not fits:
            raise TableError(
                f"parts of the rule do not fit together, or it is beyond {MOST_BITS} bits and {MOST_STATES} states"
            )

    @property
    def outside(self) -> int:
        return len(self.states)

    def by_reading(self) -> "RuleTable":
        """The same rule, its states in the order of what they read as; that makes a shorter file. The start stays
        first."""
        order = [0, *sorted(range(1, self.outside), key=lambda state: (self.outputs[state], self.states[state]))]
        number, places = np.argsort(order).astype(np.uint8), np.array([*order, self.outside])
        states, outputs = (tuple(part[state] for state in order) for part in (self.states, self.outputs))
        steps = number[self.steps[np.ix_(np.arange(len(self.steps)), places, places, places)]]
        return replace(self, states=states, steps=steps, outputs=outputs)

    @cached_property
    def flat(self) -> bytes:
        """`steps` laid flat, with one symbol more, which stands where there is no cell and always stays `outside`."""
        stays = np.full(self.steps[:1].shape, self.outside, np.uint8)
        return np.concatenate((self.steps, stays)).tobytes()

    def text(self, state: int) -> str:
        """What a state reads as: a digit, or a dot where it is blank."""
        symbol = self.outputs[state]
        return "·" if symbol == PAD else self.task.alphabet.symbols[symbol]

    def content(self) -> dict[str, Any]:
        """All but the task, as JSON holds it."""
        packed = base64.b64encode(zlib.compress(self.steps.tobytes(), 9)).decode()
        lists = {name: list(getattr(self, name)) for name in ("states", "outputs", "actions")}
        return {"bits": self.bits, **lists, "steps": packed}

    def to_json(self) -> str:
        """One line, with a checksum over everything that decides an answer."""
        content = {"format": FORMAT, **self.content()}
        if self.task.name != _DEFAULT.name:
            content["task"] = self.task.name
        return json.dumps({**content, "checksum": _checksum(content)})

    @classmethod
    def from_json(cls, text: str) -> "RuleTable":
        try:
            content: dict[str, Any] = json.loads(text)
            if content.pop("checksum") != _checksum(content) or content["format"] != FORMAT:
                raise ValueError("its checksum or its format differs")
            task = find(content.get("task", _DEFAULT.name))
            states, outputs, actions = (tuple(content[key]) for key in ("states", "outputs", "actions"))
            shape = (len(task.alphabet.cell_symbols), *[len(states) + 1] * 3)
            # No more is unpacked than the table takes, however much a damaged file would become.
            unpacked = zlib.decompressobj().decompress(base64.b64decode(content["steps"]), math.prod(shape) + 1)
            steps = np.frombuffer(unpacked, np.uint8).reshape(shape)
            return cls(content["bits"], states, steps, outputs, actions, task)
        except TaskError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError, zlib.error) as error:
            raise TableError(
                f"this is not a rule as gridsum wrote it ({error}); write it again with: gridsum export --to json"
            ) from None


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
