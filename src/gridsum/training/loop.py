"""Training: a fleet of runs, epoch by epoch, into a folder that can be resumed."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from gridsum.config.paper import Config, ConfigError
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.model.inference import UnsoundError, default_rule, infer
from gridsum.model.paper import Network
from gridsum.model.store import WEIGHTS, Model, save_run
from gridsum.objective.paper import Cost
from gridsum.ops.costs import check_time, training_work
from gridsum.ops.devices import Replayed, on_gpu
from gridsum.ops.grids import GridSize
from gridsum.ops.sizes import check_memory, training_bytes
from gridsum.training.checkpoints import Checkpoint, Warn, config_of, load_moments, save_checkpoint
from gridsum.training.folders import (
    append_metrics,
    check_free,
    check_same,
    clear,
    create,
    cut_metrics,
    keep_logs,
    opened,
    seed_folder,
    take_up,
    trained_epochs,
    write_setup,
    write_start,
)
from gridsum.training.gradients import EagerGradients, Gradients
from gridsum.training.graphs import GraphGradients
from gridsum.training.optimiser import AdamW, learning_rate
from gridsum.training.process import set_for_training

# What is logged of a step: the parts of its cost, and the norm of its gradient.
_LOGGED = (*(part.name for part in fields(Cost)), "gradient_norm")
# What the stream of the problems that are held out is for, and how many they are.
HELD_OUT, HELD_OUT_PROBLEMS = -1, 64
# They are asked after each of the first so many epochs, then every so many: in pieces or at once, the log is the same.
_HELD_OUT_EPOCHS = 5

Tick = Callable[[int, int], None]
Trained = TypeVar("Trained", bound=Any)
"""The configuration of what a fleet trains: it has a `training`."""


class TrainingError(RuntimeError):
    """Training that cannot go on."""


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to, run by run, as the mean over its steps."""

    number: int
    """From 1."""
    of: int
    seeds: tuple[int, ...]
    alive: tuple[bool, ...]
    means: dict[str, tuple[float, ...]]
    learning_rate: float
    seconds: float
    """Since this call of `train` began."""

    def sound(self, name: str) -> list[float]:
        """Of the runs that are still sound."""
        return [value for value, alive in zip(self.means[name], self.alive, strict=True) if alive]


def news(epoch: Epoch) -> str:
    """An epoch in a line, over the runs that are still sound."""
    losses = epoch.sound("total")
    if not losses:
        return "every run has diverged"
    loss = f"loss {fmean(losses):.3f}"
    if len(losses) > 1:
        loss += f" (best {min(losses):.3f}, worst {max(losses):.3f})"
    parts = [loss, f"accuracy {fmean(epoch.sound('accuracy')):.3f}", f"steps {fmean(epoch.sound('steps')):.1f}"]
    if "held_out" in epoch.means:
        parts.append(f"held-out results right {fmean(epoch.sound('held_out')):.3f}")
    if len(losses) < len(epoch.seeds):
        parts.append(f"{len(epoch.seeds) - len(losses)} of {len(epoch.seeds)} runs set aside")
    return ", ".join(parts)


@dataclass(frozen=True)
class TrainingStep:
    """What a step came to."""

    logged: Tensor
    """[quantities, R]: the parts of the cost and the norm of the gradient."""
    recurrent_steps: float
    """How many were computed, as the mean over the groups of problems."""


def train(
    config: Any,
    seeds: Sequence[int],
    folder: Path,
    device: torch.device,
    resume: bool = False,
    report: Callable[[Epoch], None] = lambda _: None,
    warn: Warn = lambda _: None,
    start: Model | None = None,
    tick: Tick = lambda *_: None,
    fleet: "type[Fleet[Any]] | None" = None,
) -> None:
    """Train a run for each seed, all together, leaving weights and logs in `folder`.

    The runs begin from random weights, or from those of `start`, a model with the same seeds; the optimiser then goes
    on with the moments that the checkpoint of its training folder holds, where there is one. `report` hears of every
    epoch, `tick` of every training step: how many are done, and of how many. `fleet` is the kind of fleet: the paper's
    networks if nothing is said.
    """
    if len(set(seeds)) != len(seeds) or not seeds:
        raise ConfigError("seeds must be different from each other, and at least one")
    kind = fleet or PaperFleet
    if resume:
        check_same(folder, config, seeds)  # before the lock, which needs a folder
    left = config.training.epochs - (trained_epochs(folder) if resume else 0)
    kind.check(config, len(seeds), left, device)
    with opened(folder, warn), set_for_training(device, config.training.precision):
        _train(kind, config, seeds, folder, device, resume, report, warn, start, tick)


def _train(
    kind: "type[Fleet[Any]]",
    config: Any,
    seeds: Sequence[int],
    folder: Path,
    device: torch.device,
    resume: bool,
    report: Callable[[Epoch], None],
    warn: Warn,
    start: Model | None,
    tick: Tick,
) -> None:
    if not resume:
        check_free(folder)
    fleet = kind(config, tuple(seeds), device)
    if resume:
        done = fleet.restore(folder, warn)
        write_setup(folder, config, seeds)
    else:
        clear(folder)
        done = 0
        if start is not None:
            kept = fleet.begin_from(start)
            if not kept:
                warn(f"{start.name} comes without the optimiser's moments, so they begin at zero")
            write_start(folder, start, kept)
            fleet.save(folder, 0)  # resuming must not depend on the weights it began from
        create(folder, config, seeds)  # last: a folder without a configuration holds no training yet
    started = time.monotonic()
    saved = done
    try:
        for epoch in range(done + 1, config.training.epochs + 1):
            before = fleet.alive.tolist()
            begun = time.monotonic()
            means = fleet.epoch(epoch, tick)
            if epoch <= _HELD_OUT_EPOCHS or epoch % _HELD_OUT_EPOCHS == 0:
                means |= fleet.held_out()
            rate = float(learning_rate(torch.tensor((epoch - 1) * config.training.steps_per_epoch), config.training))
            _log(folder, fleet, epoch, means, rate, time.monotonic() - begun)
            _warn_of_divergence(fleet, before, epoch, warn)
            fleet.keep_state()
            done = epoch
            alive = tuple(fleet.alive.tolist())
            if epoch % config.training.checkpoint_epochs == 0 or epoch == config.training.epochs:
                fleet.save(folder, epoch)
                saved = epoch
            report(Epoch(epoch, config.training.epochs, fleet.seeds, alive, means, rate, time.monotonic() - started))
            if not any(alive):
                raise TrainingError(f"every run has diverged by epoch {epoch}; try a smaller training.learning_rate")
    finally:
        for seed in fleet.seeds:  # a stop may have come between an epoch's log and its end
            cut_metrics(folder, seed, done)
        if saved < done:  # stopped in between, by an error or by the user: lose no whole epoch
            fleet.go_back()
            fleet.save(folder, done)


class Fleet(ABC, Generic[Trained]):
    """Runs in training: their network, optimiser and whether each is still sound."""

    def __init__(self, config: Trained, seeds: tuple[int, ...], device: torch.device) -> None:
        self.config, self.seeds, self.device = config, seeds, device
        self.network = self.build()
        self.optimiser = AdamW(self.network, config.training)
        self.gradients = self.gradients_of()
        self.update = Replayed(self._update) if on_gpu(device) else self._update
        self.alive = torch.ones(len(seeds), dtype=torch.bool, device=device)

    @classmethod
    def check(cls, config: Trained, runs: int, epochs: int, device: torch.device) -> None:
        """Refuse what memory or time is not enough for, where it can be told before."""

    @abstractmethod
    def build(self) -> nn.Module:
        """The network, every parameter of which leads with the run."""

    @abstractmethod
    def gradients_of(self) -> Callable[[int], Gradients]:
        """What computes a step's gradients by its number."""

    @abstractmethod
    def held_out(self) -> dict[str, tuple[float, ...]]:
        """The share of whole results that each run gets right, of problems that are never trained on.

        Nothing where a run has diverged so far that it cannot be asked.
        """

    def begin_from(self, start: Model) -> bool:
        """Take up the weights of `start`, and the moments they were trained with; returns whether there were any."""
        if start.seeds != self.seeds:
            raise ConfigError(f"the weights to start from are of seeds {list(start.seeds)}; train those seeds")
        if self.config.model != start.config.model:
            raise ConfigError("the weights to start from are of another model configuration; leave model.* as it is")
        self.network.load_state_dict(start.network.state_dict())
        self.optimiser.restart()
        moments = load_moments(start.paths, self.seeds)
        if moments is None or not torch.equal(moments["weights"], self.optimiser.weights.cpu()):
            return False
        self.optimiser.load(moments)
        return True

    def epoch(self, number: int, tick: Tick = lambda *_: None) -> dict[str, tuple[float, ...]]:
        """Train for one epoch; returns the means over its steps of what is logged, for each run."""
        steps, logged = self.config.training.steps_per_epoch, []
        for step in range((number - 1) * steps, number * steps):
            logged.append(self.train_step(step).logged)
            tick(step + 1, self.config.training.epochs * steps)
        means = torch.stack(logged).mean(0).tolist()
        return {name: tuple(values) for name, values in zip(_LOGGED, means, strict=True)}

    def train_step(self, number: int) -> TrainingStep:
        """One update of every run, on the problems of step `number`."""
        gradients = self.gradients(number + self.config.training.first_step)
        costs = torch.stack([getattr(gradients.cost, name) for name in _LOGGED[:-1]])
        step = torch.full((), number, device=self.device)
        return TrainingStep(self.update(gradients.gradient, costs, step), gradients.recurrent_steps)

    def _update(self, gradient: Tensor, costs: Tensor, step: Tensor) -> Tensor:
        """Every sound run a step down its gradient [R,P]; returns what is logged: the costs, total first, and the norm.

        A run whose cost or gradient is no number any more keeps its last sound weights and is set aside.
        """
        self.alive &= costs[0].isfinite() & gradient.isfinite().all(1)
        norm = self.optimiser.update(gradient, step, self.alive)
        return torch.cat((costs, norm[None]))

    def state(self) -> dict[str, Tensor]:
        """All that makes the next step what it is, beside the step's number."""
        return {**self.optimiser.state(), "alive": self.alive}

    def keep_state(self) -> None:
        """Keep the state at the end of an epoch, so that one broken off can be forgotten."""
        self.kept = {name: tensor.clone() for name, tensor in self.state().items()}

    def go_back(self) -> None:
        self._take_up(self.kept)

    def _take_up(self, state: dict[str, Tensor]) -> None:
        self.optimiser.load(state)
        self.alive.copy_(state["alive"])

    def save(self, folder: Path, epoch: int) -> None:
        """Logs and weights of each run, then the checkpoint: neither is ever older than it."""
        logs = keep_logs(folder, self.seeds) if epoch else {}
        for run, seed in enumerate(self.seeds):
            save_run(seed_folder(folder, seed) / WEIGHTS, self.network, run, self.config, seed)
        save_checkpoint(folder, Checkpoint(epoch, self.seeds, self.state(), config_of(self.config), logs))

    def restore(self, folder: Path, warn: Warn) -> int:
        """Take up the last checkpoint, and make weights that are not of it anew; returns its epoch."""
        held = self.state()
        without = {name: tensor for name, tensor in held.items() if name != "updates"}  # as release 0.1.0 has it
        checkpoint = take_up(
            folder, self.config, self.seeds, lambda c: held if "updates" in c.tensors else without, warn
        )
        if checkpoint is None:
            return 0
        counted = torch.tensor(checkpoint.epoch * self.config.training.steps_per_epoch)
        self._take_up({"updates": counted, **checkpoint.tensors})
        for run, seed in enumerate(self.seeds):
            save_run(seed_folder(folder, seed) / WEIGHTS, self.network, run, self.config, seed)
        return checkpoint.epoch


class PaperFleet(Fleet[Config]):
    """Runs of the paper's system."""

    network: Network

    @classmethod
    def check(cls, config: Config, runs: int, epochs: int, device: torch.device) -> None:
        what, work = f"training {runs} runs of {config.variant}", training_work(config, runs, epochs, device)
        check_memory(f"{what} at once", training_bytes(config, runs), device)
        check_time(what, work, device, config.training.precision)

    def build(self) -> Network:
        return Network(self.config.model, self.seeds, len(self.config.task.task.alphabet)).to(self.device)

    def gradients_of(self) -> Callable[[int], Gradients]:
        kind = GraphGradients if on_gpu(self.device) else EagerGradients
        return kind(self.network, self.config, self.seeds)

    @torch.no_grad()
    def held_out(self) -> dict[str, tuple[float, ...]]:
        task, stream = self.config.task, Stream.of_seeds([0], self.device).fold(HELD_OUT)
        space = Space(task.terms, task.digits)
        batch, size = sample(space, HELD_OUT_PROBLEMS, stream, task=task.task), GridSize(*task.grid(space))
        draws = stream.fold(0).uniform(HELD_OUT_PROBLEMS, self.config.model.max_evaluation_steps)
        symbols, draws = (part.expand(len(self.seeds), -1, -1) for part in (batch.symbols, draws))
        try:
            outcome = infer(self.network, symbols, size, default_rule(self.network), draws)
        except UnsoundError:
            return {}
        right = (outcome.predicted == batch.targets_for(size.width)).all(-1)
        return {"held_out": tuple(right.double().mean(1).tolist())}


def _log(
    folder: Path, fleet: Fleet[Any], epoch: int, means: dict[str, tuple[float, ...]], rate: float, seconds: float
) -> None:
    for run, (seed, alive) in enumerate(zip(fleet.seeds, fleet.alive.tolist(), strict=True)):
        if alive:
            values = {name: value[run] for name, value in means.items()}
            append_metrics(folder, seed, {"epoch": epoch, **values, "learning_rate": rate, "seconds": seconds})


def _warn_of_divergence(fleet: Fleet[Any], before: list[bool], epoch: int, warn: Callable[[str], None]) -> None:
    steps = fleet.config.training.steps_per_epoch
    for seed, was, is_now in zip(fleet.seeds, before, fleet.alive.tolist(), strict=True):
        if was and not is_now:
            warn(
                f"seed {seed}: the loss or its gradient was no number in epoch {epoch} (within training steps "
                f"{(epoch - 1) * steps} to {epoch * steps - 1}); the run is set aside with its last sound weights"
            )
