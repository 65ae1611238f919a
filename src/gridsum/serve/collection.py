"""The models that are served, and what is worked out once for each or kept for the next request."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from gridsum.automaton.run import AT_REST, answer_by_rule, size_of, states
from gridsum.automaton.table import RuleTable
from gridsum.automaton.tracing import trace_of_rule
from gridsum.evaluation.solving import Answer, PlacementRule, solve, solve_watched, solving_size, trace_expression
from gridsum.model.inference import HALTING_RULES, HaltingRule, check_rule, default_rule, step_cap
from gridsum.model.rollout import Trace
from gridsum.model.store import Model, facts
from gridsum.page.data import inside_script, model_script
from gridsum.page.inside import Inside
from gridsum.serve.workshop import GoOn

# Cells of a grid up to which a sum is a short one.
_SHORT = 200
# Grids kept for the next request about the same sum.
_KEPT_BYTES = 256 << 20


Timed = tuple[Answer, float]
"""An answer, and the seconds of the computation that it came from."""


class RequestError(ValueError):
    """A request that cannot be met as it stands; the message says what to change."""


class Rule(NamedTuple):
    """A model that answers by a table."""

    name: str
    table: RuleTable
    about: dict[str, Any]
    """Its name, variant, seed, parameters and epochs."""


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


class ServedRule:
    """A rule. It answers in milliseconds, so nothing is asked on the way."""

    def __init__(self, rule: Rule) -> None:
        self.name, self.table, self.about = rule
        self.task = self.table.task

    def shape(self) -> dict[str, Any]:
        return {"heads": 0, "kernel": 3, "halting_rules": {AT_REST: "halt when a step changes nothing"}}

    def check(self, asked: Asked) -> None:
        if asked.halting is not None or asked.placement == "soft":
            raise RequestError(f"{self.name} halts at rest and places by certain actions; leave both out")

    def cells(self, terms: tuple[str, ...]) -> int:
        height, width = size_of(terms, self.task)
        return height * width

    def most_steps(self, terms: tuple[str, ...]) -> int:
        """Exactly as many as it takes: the rule's solver is quick enough to ask it."""
        return answer_by_rule(self.table, terms).steps

    def solve(self, asked: Sequence[Asked], _: GoOn) -> list[Answer]:
        return [answer_by_rule(self.table, each.terms) for each in asked]

    def trace(self, asked: Asked, _: GoOn) -> tuple[Answer, Trace]:
        answer = answer_by_rule(self.table, asked.terms)
        codes = np.stack(list(states(self.table, asked.terms, answer.steps)))
        return answer, trace_of_rule(self.table, asked.terms, codes)

    def warm_up(self) -> None:
        answer_by_rule(self.table, ("1", "1"))


class ServedNetwork:
    """A network of the paper, with what is measured on it when it is first asked for."""

    def __init__(self, model: Model) -> None:
        self.model, self.name, self.about = model, model.name, facts(model)
        self.task = model.config.task.task
        self.inside = Inside(model)
        self._lock = threading.Lock()
        self._scripts: dict[str, str] = {}

    def shape(self) -> dict[str, Any]:
        config = self.model.network.config
        return {"heads": config.heads, "kernel": config.kernel, "halting_rules": self._halting_rules()}

    def _halting_rules(self) -> dict[str, str]:
        """The rules that this model can follow, its own first."""
        able = {}
        for rule in sorted(HALTING_RULES, key=lambda rule: rule != default_rule(self.model.network)):
            try:
                check_rule(self.model.network, rule)
            except ValueError:
                continue
            able[rule] = HALTING_RULES[rule]
        return able

    def check(self, asked: Asked) -> None:
        if asked.halting is not None:
            try:
                check_rule(self.model.network, asked.halting)
            except ValueError as error:
                raise RequestError(str(error)) from None

    def cells(self, terms: tuple[str, ...]) -> int:
        size = solving_size(len(terms), max(map(len, terms)), self.model.config)
        return size.height * size.width

    def most_steps(self, _: tuple[str, ...]) -> int:
        return step_cap(self.model.network.config)

    def solve(self, asked: Sequence[Asked], go_on: GoOn) -> list[Answer]:
        return list(solve(self.model, [each.terms for each in asked], *asked[0].how, watch=lambda _: go_on()))

    def trace(self, asked: Asked, go_on: GoOn) -> tuple[Answer, Trace]:
        return solve_watched(self.model, asked.terms, lambda _: go_on(), *asked.how)

    def heads(self) -> dict[str, Any]:
        return self._measured(self.inside.heads)

    def plane(self) -> dict[str, Any]:
        return self._measured(self.inside.plane)

    def project(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors [...,E] on the plane of the digits."""
        return self._measured(lambda: self.inside.ring.plane.project(vectors))

    def script(self, part: str) -> str:
        """What the page loads of this network: its `weights`, or its `inside`."""
        if part not in self._scripts:
            make = (lambda: model_script(self.model)) if part == "weights" else lambda: inside_script(self.inside)
            self._scripts[part] = self._measured(make)
        return self._scripts[part]

    def _measured(self, make: Callable[[], Any]) -> Any:
        with self._lock:  # whoever comes second finds it done
            try:
                return make()
            except ValueError as error:
                raise RequestError(str(error)) from None

    def warm_up(self) -> None:
        trace_expression(self.model, ("1", "1"), 1)


class Collection:
    """The models by name, the first being the one that is meant if none is named."""

    def __init__(self, models: Sequence[Model | Rule], kept_bytes: int = _KEPT_BYTES) -> None:
        made = [ServedRule(model) if isinstance(model, Rule) else ServedNetwork(model) for model in models]
        self._served = {served.name: served for served in made}
        self._kept_bytes = kept_bytes
        self._kept: OrderedDict[Asked, Worked] = OrderedDict()
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[ServedRule | ServedNetwork]:
        return iter(self._served.values())

    def find(self, name: str | None) -> ServedRule | ServedNetwork:
        if name is None:
            return next(iter(self._served.values()))
        if name not in self._served:
            raise RequestError(f"there is no model {name!r} here; the models are: {', '.join(self._served)}")
        return self._served[name]

    def network(self, name: str | None) -> ServedNetwork:
        """A model that keeps vectors in its cells; if none is named, the first such."""
        networks = [served for served in self if isinstance(served, ServedNetwork)]
        found = self.find(name) if name is not None else next(iter(networks), None)
        if not isinstance(found, ServedNetwork):
            known = ", ".join(served.name for served in networks) or "none here"
            raise RequestError(f"this looks at vectors, and a rule keeps bits in its cells; networks are: {known}")
        return found

    def solve(self, asked: Sequence[Asked], go_on: GoOn) -> list[Timed]:
        """The answers to sums that differ in their terms alone."""
        start = time.perf_counter()
        answers = self.find(asked[0].model).solve(asked, go_on)
        return [(answer, time.perf_counter() - start) for answer in answers]

    def at_once(self, asked: Asked) -> Timed | None:
        """The answer of a rule to a short sum. It takes a millisecond or two, so it need not wait for a worker."""
        served = self.find(asked.model)
        if isinstance(served, ServedNetwork) or served.cells(asked.terms) > _SHORT:
            return None
        return self.solve([asked], lambda: None)[0]

    def kind(self, asked: Asked) -> Hashable:
        """Sums of one kind can be solved together: short ones of equal shape, by one model in one way."""
        if self.find(asked.model).cells(asked.terms) > _SHORT:
            return object()
        return asked.model, len(asked.terms), max(map(len, asked.terms)), asked.how

    def work(self, asked: Asked, go_on: GoOn) -> Worked:
        """The computation, from what is kept or anew."""
        with self._lock:
            worked = self._kept.get(asked)
            if worked is not None:
                self._kept.move_to_end(asked)
                return worked
        start = time.perf_counter()
        answer, trace = self.find(asked.model).trace(asked, go_on)
        worked = Worked(answer, trace, time.perf_counter() - start)
        self._keep(asked, worked)
        return worked

    def _keep(self, asked: Asked, worked: Worked) -> None:
        with self._lock:
            self._kept[asked] = worked
            while sum(map(_bytes, self._kept.values())) > self._kept_bytes:
                self._kept.popitem(last=False)

    def warm_up(self) -> None:
        """The first computation of a process is slow: make it before the first visitor."""
        for served in self:
            served.warm_up()


def _bytes(worked: Worked) -> int:
    parts: tuple[torch.Tensor, ...] = (worked.trace.grids, worked.trace.decoded)
    return sum(part.nbytes for part in parts)
