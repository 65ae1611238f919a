"""Which part of a training step an operation belongs to, forwards and backwards.

While `Parts` is entered, the functions that compute a part say so as they are called. An operation belongs to the
innermost part around it. A node of autograd's graph belongs to the part that made it, so what the gradient computes is
told apart as well: nodes are numbered in their order, and a part is a stretch of these numbers.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest import mock

import torch
from torch.profiler import record_function

from gridsum.data.streams import Stream
from gridsum.model.dropout import Dropout, Dropouts
from gridsum.model.engine import bits, eager
from gridsum.model.paper import FeedForward, Transition
from gridsum.model.rule import Looking, RuleNetwork
from gridsum.training import discovery, gradients
from gridsum.training.optimiser import AdamW

FEED_FORWARD, ATTENTION, NORMS = "FFN_3", "local attention", "norms and residuals"
PLACEMENT, CONTEXT, RANDOM = "placement", "context and halting", "random numbers and dropout"
LOSS, BITS, OPTIMISER, OTHER = "reading and loss", "bits of a cell", "optimiser", "copies and other"
BETWEEN = "Python, between operations"
PARTS = (FEED_FORWARD, ATTENTION, NORMS, PLACEMENT, CONTEXT, RANDOM, LOSS, BITS, OPTIMISER, OTHER, BETWEEN)

MARK = "gridsum: "
"""What the names of parts begin with among a profiler's events."""

_MARKED: list[tuple[Any, str, str]] = [
    (eager.Eager, "place", PLACEMENT),
    (eager.Eager, "attend", ATTENTION),
    (eager.Eager, "transition", NORMS),
    (eager.Eager, "feed", FEED_FORWARD),
    (eager.EagerCourse, "decide", CONTEXT),
    (eager, "block_matrix", ATTENTION),
    (Dropouts, "of", RANDOM),
    (Dropouts, "of_problems", RANDOM),
    (Dropout, "kept", RANDOM),
    (Dropout, "exclude", RANDOM),
    (Stream, "bits", RANDOM),
    (Stream, "lanes", RANDOM),
    (Stream, "normal", RANDOM),
    (Stream, "fold", RANDOM),
    (Transition, "forward", NORMS),
    (FeedForward, "forward", FEED_FORWARD),
    (bits.Packed, "__init__", ATTENTION),
    (bits.Packed, "step", ATTENTION),
    (bits.Whole, "step", ATTENTION),
    (RuleNetwork, "meet", ATTENTION),
    (RuleNetwork, "react", BITS),
    (RuleNetwork, "read", LOSS),
    (Looking, "forward", ATTENTION),
    (discovery, "soft_bits", BITS),
    (discovery, "place", PLACEMENT),
    (discovery.Discovery, "_update", OPTIMISER),
    (gradients, "cost", LOSS),
    (gradients, "sampled_success", LOSS),
    (AdamW, "update", OPTIMISER),
]


def _marked() -> list[tuple[Any, str, str]]:
    """With what only a machine with Triton has. There one kernel after another makes FFN_3 and the norms of a step."""
    try:
        from gridsum.model.engine.cuda import course
        from gridsum.model.engine.cuda.context import Readings
        from gridsum.model.engine.cuda.dropout import PackedDropouts
    except ImportError:
        return _MARKED
    return [
        *_MARKED,
        (course.Cuda, "attend_to", ATTENTION),
        (course.CudaCourse, "take", FEED_FORWARD),
        (course.CudaCourse, "decide", CONTEXT),
        (course, "packed_transition", FEED_FORWARD),
        (Readings, "of", CONTEXT),
        (Readings, "begin", CONTEXT),
        (PackedDropouts, "of", RANDOM),
    ]


OF_KERNELS = {"_leave": CONTEXT, "_keep": RANDOM}
"""Kernels that no operation of torch launches: a profiler does not say what they belong to."""


class Parts:
    """The parts that are being computed, outermost first, and which nodes of autograd's graph belong to which."""

    def __init__(self) -> None:
        self.open = [OTHER]
        self._starts, self._names = [0], [OTHER]

    @contextmanager
    def watching(self) -> Iterator["Parts"]:
        """Until it is left, the functions of `_marked` say which part they are."""
        with ExitStack() as stack:
            for owner, name, part in _marked():
                stack.enter_context(self._patched(owner, name, part))
            yield self

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self.open.append(name)
        self._turn()
        try:
            with record_function(MARK + name):
                yield
        finally:
            self.open.pop()
            self._turn()

    def current(self) -> str:
        """The part of an operation that is computed now."""
        node = torch._C._current_autograd_node()
        return self.open[-1] if node is None else self.of_node(node._sequence_nr())

    def of_node(self, number: int) -> str:
        """Of the node with this number. Nodes of no number collect gradients, and belong to no part."""
        return OTHER if number < 0 else self._names[bisect_right(self._starts, number) - 1]

    def _turn(self) -> None:
        self._starts.append(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]
        self._names.append(self.open[-1])

    def _patched(self, owner: Any, name: str, part: str) -> Any:
        found = vars(owner)[name]
        function = found.__func__ if isinstance(found, classmethod) else found
        wrapped = self._wrapped(function, part)
        return mock.patch.object(owner, name, classmethod(wrapped) if isinstance(found, classmethod) else wrapped)

    def _wrapped(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            # The feed-forward networks of placement and of the context are parts of these, not FFN_3.
            if part == FEED_FORWARD and self.open[-1] in (PLACEMENT, CONTEXT):
                return function(*arguments, **named)
            with self.part(part):
                return function(*arguments, **named)

        return call
