"""The models that are served, and what is worked out once for each or kept for the next request."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import NamedTuple

import torch

from gridsum.analysis.attention import HeadRule, head_rules
from gridsum.analysis.ring import Ring, rings
from gridsum.model.inference import HALTING_RULES, HaltingRule, check_rule, default_rule
from gridsum.model.unroll import Trace
from gridsum.serve.workshop import GoOn
from gridsum.solving import Answer, PlacementRule, solve, solve_watched, solving_size, trace_expression
from gridsum.store import Model
from gridsum.symbols import parse

REFERENCE = ("523+102+9416", "99999+1", "58+67", "1234567890+987654321", "7", "4096+88+350+61", "27182+81828")
"""The sums on which every head's rule is measured: of the size networks are trained on, with and without carries."""
_PLANE_PROBLEMS = 32
# Cells of a grid up to which a sum is a short one.
_SHORT = 200
# Grids kept for the next request about the same sum.
_KEPT_BYTES = 256 << 20


class RequestError(ValueError):
    """A request that cannot be met as it stands; the message says what to change."""


class Asked(NamedTuple):
    """What determines a computation."""

    model: str
    terms: tuple[str, ...]
    halting: HaltingRule | None
    seed: int
    placement: PlacementRule

    @property
    def how(self) -> tuple[HaltingRule | None, int, PlacementRule]:
        """All but what is asked and of whom, in the order in which `solve` takes it."""
        return self.halting, self.seed, self.placement


@dataclass(frozen=True)
class Worked:
    """A computation: what came out, and how."""

    answer: Answer
    trace: Trace
    seconds: float


class Served:
    """One model, with what is measured on it when it is first asked for."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._lock = threading.Lock()

    def halting_rules(self) -> dict[str, str]:
        """The rules that this model can follow, its own first."""
        able = {}
        for rule in sorted(HALTING_RULES, key=lambda rule: rule != default_rule(self.model.network)):
            try:
                check_rule(self.model.network, rule)
            except ValueError:
                continue
            able[rule] = HALTING_RULES[rule]
        return able

    def head_rules(self) -> list[HeadRule]:
        with self._lock:
            return self._head_rules

    def ring(self) -> Ring:
        with self._lock:
            return self._ring

    @cached_property
    def _head_rules(self) -> list[HeadRule]:
        traces = []
        for expression in REFERENCE:
            _, trace = solve_watched(self.model, parse(expression), lambda _: None)
            traces.append(trace)
        try:
            return head_rules(self.model.network.step.attention, traces)
        except ValueError as error:
            raise RequestError(str(error)) from None

    @cached_property
    def _ring(self) -> Ring:
        try:
            return rings(self.model, _PLANE_PROBLEMS)[0]
        except ValueError as error:
            raise RequestError(str(error)) from None


class Collection:
    """The models by name, the first being the one that is meant if none is named."""

    def __init__(self, models: Sequence[Model], kept_bytes: int = _KEPT_BYTES) -> None:
        self._served = {model.name: Served(model) for model in models}
        self._kept_bytes = kept_bytes
        self._kept: OrderedDict[Asked, Worked] = OrderedDict()
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served.values())

    def cells(self, name: str | None, terms: tuple[str, ...]) -> int:
        """Of the grid on which that model solves that sum."""
        size = solving_size(len(terms), max(map(len, terms)), self.find(name).model.config)
        return size.height * size.width

    def find(self, name: str | None) -> Served:
        if name is None:
            return next(iter(self._served.values()))
        if name not in self._served:
            raise RequestError(f"there is no model {name!r} here; the models are: {', '.join(self._served)}")
        return self._served[name]

    def solve(self, asked: Sequence[Asked], go_on: GoOn) -> list[Answer]:
        """The answers to sums that differ in their terms alone."""
        first = asked[0]
        model = self._able(first)
        return list(solve(model, [each.terms for each in asked], *first.how, watch=lambda _: go_on()))

    def kind(self, asked: Asked) -> Hashable:
        """Sums of one kind can be solved together: short ones of equal shape, by one model in one way."""
        if self.cells(asked.model, asked.terms) > _SHORT:
            return object()
        return asked.model, len(asked.terms), max(map(len, asked.terms)), asked.how

    def work(self, asked: Asked, go_on: Callable[[int], None]) -> Worked:
        """The computation, from what is kept or anew; `go_on` hears how many steps were taken, and may refuse more."""
        with self._lock:
            worked = self._kept.get(asked)
            if worked is not None:
                self._kept.move_to_end(asked)
                return worked
        model = self._able(asked)
        start = time.perf_counter()
        steps = count()
        answer, trace = solve_watched(model, asked.terms, lambda _: go_on(next(steps)), *asked.how)
        worked = Worked(answer, trace, time.perf_counter() - start)
        self._keep(asked, worked)
        return worked

    def _able(self, asked: Asked) -> Model:
        """The model, if it can follow the rule."""
        model = self.find(asked.model).model
        if asked.halting is not None:
            try:
                check_rule(model.network, asked.halting)
            except ValueError as error:
                raise RequestError(str(error)) from None
        return model

    def _keep(self, asked: Asked, worked: Worked) -> None:
        with self._lock:
            self._kept[asked] = worked
            while sum(map(_bytes, self._kept.values())) > self._kept_bytes:
                self._kept.popitem(last=False)

    def warm_up(self) -> None:
        """The first computation of a process is slow: make it before the first visitor."""
        for served in self:
            trace_expression(served.model, ("1", "1"), 1)


def _bytes(worked: Worked) -> int:
    parts: tuple[torch.Tensor, ...] = (worked.trace.grids, worked.trace.decoded)
    return sum(part.nbytes for part in parts)
