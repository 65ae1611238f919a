"""`exact` as an entry of the registry: a network of bits, trained on results by phases, consolidated and proved."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from gridsum.automaton.rule import LearnedRule
from gridsum.automaton.settle import settle
from gridsum.config.exact import ExactConfig, Phase
from gridsum.config.fields import Changes, override
from gridsum.config.paper import ConfigError
from gridsum.config.registry import GradientSource, Trainable
from gridsum.config.variants import SMALL
from gridsum.data.problems import Batch
from gridsum.data.streams import Stream
from gridsum.model.rule import RuleNetwork
from gridsum.model.runs import as_written
from gridsum.objective.exact import Cost, cost
from gridsum.ops.devices import Replayed, on_gpu
from gridsum.ops.forms import served
from gridsum.ops.grids import side_by_side
from gridsum.tasks import DEFAULT
from gridsum.training.discovery import at_step, draw, grid_of, rate, recurrent_steps, roll_out
from gridsum.training.gradients import Gradients
from gridsum.training.optimiser import named_rows

# How much of what decides about hardening and new draws is of the last training step.
_RECENT = 0.05
# The share of problems right below which a run is drawn anew. Half of those of `place` ask only for a number again.
_HOPELESS = 0.25
# Bytes that a recurrent step keeps for a gradient, for each feature of a cell or of FFN_3.
_BYTES = 8
_QUANTITIES = tuple(Cost.__dataclass_fields__)


class _Objective(nn.Module):
    """The cost of a training step as the forward of a module, so that it can be called with other weights."""

    def __init__(self, network: RuleNetwork, config: ExactConfig) -> None:
        super().__init__()
        self.network, self.config = network, config

    def forward(self, phase: Phase, steps: int, stream: Stream) -> Cost:
        shared = self.config.discovery
        certain = max(1, int(shared.hard_share * shared.batch))
        problems = draw(phase, shared, stream, self.network.task)
        logits = roll_out(self.network, phase, stream, steps, problems, certain)
        return cost(logits, problems.targets, problems.inside[:, :, 0, :, 0], certain, phase.pad_weight)


class ExactGradients(GradientSource):
    """Training steps of `exact`; beside weights and moments a step depends on a few switches."""

    def __init__(self, network: RuleNetwork, config: ExactConfig, seeds: tuple[int, ...]) -> None:
        self.network, self.config, self.objective = network, config, _Objective(network, config)
        self.device = next(network.parameters()).device
        self.stream = Stream.of_seeds(seeds, self.device)
        self.certain = torch.zeros(len(seeds), device=self.device)
        self.results = torch.zeros(len(seeds), device=self.device)
        self.replayed: dict[tuple[str, int], Replayed] = {}
        self.pool: Any = None

    def __call__(self, step: int) -> Gradients:
        name, phase, _ = at_step(self.config, step)
        steps = recurrent_steps(phase, step)
        rows: Callable[..., Tensor] = partial(self._rows, phase, steps)
        if on_gpu(self.device) and as_written(self.network):  # a graph calls no modules
            if not any(of == name for of, _ in self.replayed):
                # Those of a phase run one after the other, and are copied in between: so they share their memory.
                self.replayed, self.pool = {}, torch.cuda.graph_pool_handle()
            rows = self.replayed.setdefault((name, steps), Replayed(rows, self.pool))
        found = rows(torch.full((), step, dtype=torch.int64, device=self.device))
        gradient, costs = found.tensor_split((found.shape[1] - len(_QUANTITIES),), 1)
        spent = Cost(*costs.unbind(1))
        self.certain.lerp_(spent.certain, _RECENT)
        self.results.lerp_(spent.results, _RECENT)
        self.network.decided |= self.certain > self.config.discovery.harden_accuracy
        return Gradients(gradient, vars(spent))

    def _rows(self, phase: Phase, steps: int, number: Tensor) -> Tensor:
        """The gradient of every run, and its costs: [R,P+Q]."""
        # All weights as one leaf, new each time: a graph cannot be captured over one that another stream has seen.
        weights = side_by_side(parameter.detach() for parameter in self.network.parameters()).requires_grad_()
        reduced = served(self.config.training.precision, self.device) == "bf16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=reduced):
            named = {f"network.{name}": part for name, part in named_rows(self.network, weights).items()}
            asked = (phase, steps, self.stream.fold(number))
            found = functional_call(self.objective, named, asked, strict=False)
        (gradient,) = torch.autograd.grad(found.total.sum(), weights)
        costs = torch.stack([part.detach() for part in vars(found).values()], 1)
        return torch.cat((gradient, costs), 1)

    def rate(self, step: int) -> float:
        _, phase, index = at_step(self.config, step)
        return rate(phase, index)

    def phase(self, step: int) -> str:
        return at_step(self.config, step)[0]

    def hopeless(self, step: int) -> list[int]:
        """Which runs get stuck depends on the weights that they begin with. Later they must also have come half the way
        from guessing to certain placement: some runs answer by mixtures of actions, and never settle on one."""
        _, phase, index = at_step(self.config, step)
        if not (phase.patience and index and index % phase.patience == 0):
            return []
        stuck = self.results < _HOPELESS
        if index > phase.patience:
            stuck |= self.certain < (1 + 1 / self.network.task.alphabet.base) / 2
        for part in (self.network.decided, self.certain, self.results):
            part.masked_fill_(stuck, 0)
        return stuck.nonzero()[:, 0].tolist()

    def state(self) -> dict[str, Tensor]:
        return {"decided": self.network.decided, "certain": self.certain, "results": self.results}


class Exact(Trainable):
    name = "exact"
    meaning = "a network of bits whose rule is proved to add any number of terms of any length"
    config = ExactConfig
    settings = MappingProxyType({"small": SMALL})
    may_change = "consolidation.*"
    outcome = "proof.json"
    has_rule = True

    def configure(self, setting: str | None = None, task: str | None = None, changes: Changes = None) -> ExactConfig:
        """As the task wants it. Phases have no more terms than it takes."""
        config = override(ExactConfig(task=task or DEFAULT), dict(self.chosen_setting(setting)))
        config, most = override(config, dict(config.learns.settings)), config.learns.most_terms
        every, few = vars(config.phases).items(), {}
        if most is not None:
            few = {f"phases.{name}.terms": (1, min(most, phase.terms[1])) for name, phase in every}
        return override(config, {**few, **(changes or {})})

    def following(self, config: Any) -> Any:  # noqa: ARG002
        raise ConfigError("exact is trained from nothing, phase by phase; begin with one of the paper's variants")

    def build(self, config: ExactConfig, seeds: Sequence[int]) -> RuleNetwork:
        return RuleNetwork(config.rule, seeds, config.learns)

    def gradients(self, network: RuleNetwork, config: ExactConfig, seeds: tuple[int, ...]) -> ExactGradients:
        return ExactGradients(network, config, seeds)

    def answer(self, network: RuleNetwork, config: ExactConfig, batch: Batch, draws: Stream) -> Tensor:  # noqa: ARG002
        """As they are solved: by certain actions, and with bits, until nothing changes."""
        most = 2 * (config.space.terms[1] + config.space.columns_of(network.task))
        with torch.no_grad():
            return network(batch.symbols, steps=most).logits[-1].argmax(-1)

    def held_out(self, network: RuleNetwork, config: ExactConfig, batch: Batch, draws: Stream) -> dict[str, Tensor]:
        """Beside results right, whether placement has hardened."""
        return super().held_out(network, config, batch, draws) | {"hardened": network.decided}

    def subjects(self, model: Any, **how: Any) -> Iterator[Any]:  # noqa: ARG002
        """By the rule of each run, until it is at rest."""
        from gridsum.evaluation.evaluate import rule_subject

        for run, seed in enumerate(model.seeds):
            yield rule_subject(model.name, LearnedRule(model.network.alone(run)).table(), seed)

    def finish(
        self, network: RuleNetwork, config: ExactConfig, seeds: Sequence[int], report: Callable[[str], None]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """The runs are consolidated together, and each is proved."""
        return settle(network, config.consolidation, seeds, report)

    def memory(self, config: ExactConfig, runs: int) -> int:
        """Of a step of the phase that takes most."""
        shared, features = config.discovery, config.rule.width + config.rule.hidden
        cells = [
            (phase.terms[1] + shared.spare_rows) * (phase.digits[1] + shared.spare_columns) * phase.recurrent[0]
            for phase in vars(config.phases).values()
            if phase.steps
        ]
        return _BYTES * runs * shared.batch * max(cells) * features

    def work(self, config: ExactConfig, runs: int, epochs: int, device: torch.device) -> float:  # noqa: ARG002
        """Of all phases and of what consolidation learns at most, whatever is left of it."""
        rule, shared, consolidation = config.rule, config.discovery, config.consolidation
        feed_forward = rule.width * rule.hidden + rule.hidden * rule.hidden + rule.hidden * rule.width
        of_a_cell = 2 * (feed_forward + rule.width * (3 * rule.bits + 2 * len(rule.positions)))
        cells = consolidation.rounds * consolidation.steps * consolidation.batch
        for phase in vars(config.phases).values():
            rows, columns = grid_of(phase, shared)
            cells += phase.steps * shared.batch * rows * columns * sum(phase.recurrent) // 2
        return 3.0 * of_a_cell * cells * runs


EXACT = Exact()
