"""Training: a fleet of runs of anything in the registry, epoch by epoch, into a folder that can be resumed."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from gridsum.config.fields import fields_of, override
from gridsum.config.paper import ConfigError
from gridsum.config.registry import Trainable, find
from gridsum.data.problems import Batch, sample
from gridsum.data.streams import Stream
from gridsum.io.disk import clear_temporaries, locked
from gridsum.io.progress import SILENT, Progress
from gridsum.model.inference import UnsoundError
from gridsum.model.store import WEIGHTS, Model, load_runs, save_run
from gridsum.ops.costs import check_memory
from gridsum.ops.devices import Replayed, describe, on_gpu
from gridsum.ops.forms import served
from gridsum.training import folders
from gridsum.training.optimiser import AdamW
from gridsum.training.process import set_for_training

# What the stream of the problems that are held out is for, and how many they are.
HELD_OUT, HELD_OUT_PROBLEMS = -1, 64
# They are asked after each of the first so many epochs, then every so many: in pieces or at once, the log is the same.
_HELD_OUT_EPOCHS = 5

Warn = Callable[[str], None]
_NEWS = {
    "accuracy": "accuracy {:.3f}",
    "results": "results right {:.3f}",
    "steps": "steps {:.1f}",
    "held_out": "held-out results right {:.3f}",
    "hardened": "placement hard in {:.0%}",
}
"""What is told of an epoch, of that which is logged: the mean over the runs."""


def news(means: Mapping[str, Sequence[float]], alive: Sequence[bool]) -> str:
    """What an epoch came to in a line, over the runs that are still sound."""
    sound = {name: list(compress(values, alive)) for name, values in means.items()}
    losses = sound["total"]
    if not losses:
        return "every run has diverged"
    loss = f"loss {fmean(losses):.3f}"
    if len(losses) > 1:
        loss += f" (best {min(losses):.3f}, worst {max(losses):.3f})"
    parts = [loss, *(told.format(fmean(sound[name])) for name, told in _NEWS.items() if name in sound)]
    if not all(alive):
        parts.append(f"{alive.count(False)} of {len(alive)} runs set aside")
    return ", ".join(parts)


def train(
    config: Any,
    seeds: Sequence[int],
    folder: Path,
    device: torch.device,
    resume: bool = False,
    start: Model | None = None,
    shown: Progress = SILENT,
    label: str = "",
) -> list[dict[str, Any]]:
    """Train a run for each seed, all together, leaving weights and logs in `folder`.

    The runs begin from random weights, or from those of `start`, a model with the same seeds, with the moments that its
    training folder holds, if any. Returns what each run came to after training, where its entry does anything then.
    """
    if len(set(seeds)) != len(seeds) or not seeds:
        raise ConfigError("seeds must be different from each other, and at least one")
    kind = find(config.variant)
    asked = fields_of(config).get("training.precision")
    if asked is not None and asked.value == "auto":  # what it comes to is kept
        config = override(config, {"training.precision": served("auto", device)})
    if resume:
        folders.check_same(folder, config, seeds)  # before the lock, which needs a folder
    done = folders.trained_epochs(folder) if resume else 0
    if done > config.training.epochs:
        why = f"{folder} has been trained for {done} epochs already; resume it with training.epochs of {done} or more"
        raise folders.FolderError(why)
    what = f"training {len(seeds)} run{'s' if len(seeds) > 1 else ''} of {config.label}"
    check_memory(f"{what} at once", kind.memory(config, len(seeds)), device)

    def warn(text: str) -> None:
        shown.note(f"{label}{text}")

    with locked(folder, warn):
        precision = served(config.training.precision, device)
        with set_for_training(device, precision):
            fleet = Fleet(config, tuple(seeds), device, warn)
            _prepare(fleet, folder, resume, start, warn)
            warn(f"{what}, in {precision} on {describe(device).split(';')[0]}")
            _train(fleet, folder, warn, partial(shown.update, f"{label}training step"))
        with set_for_training(device, "fp32"):  # what comes after is done in the precision of solving
            return _finish(fleet, folder, partial(shown.update, f"{label}consolidation:", unit="runs"))


def _prepare(fleet: "Fleet", folder: Path, resume: bool, start: Model | None, warn: Warn) -> None:
    """Begin a folder, or take up what it holds."""
    if not resume:
        folders.check_free(folder)
    for place in (folder, *folder.glob("seed-*")):
        clear_temporaries(place)
    if resume:
        fleet.take_up(folders.take_up(folder, fleet.seeds, fleet.state()))
        if fleet.epoch:
            fleet.save_weights(folder)  # those that are not of the checkpoint are made anew
        folders.write_setup(folder, fleet.config, fleet.seeds)
        return
    began = None
    if start is not None:
        kept = fleet.begin_from(start)
        if not kept:
            warn(f"{start.name} comes without the optimiser's moments, so they begin at zero")
        trained = start.config.training.epochs_in_all
        began = {"model": start.name, "seeds": list(start.seeds), "epochs": trained, "moments": kept}
    folders.save_checkpoint(folder, fleet.checkpoint())  # resuming depends on no other weights, and never begins anew
    folders.create(folder, fleet.config, fleet.seeds, began)  # a folder without a configuration holds no training yet


def _train(fleet: "Fleet", folder: Path, warn: Warn, tell: Callable[..., None]) -> None:
    saved, training, total = fleet.epoch, fleet.config.training, fleet.config.steps
    kept, logs = fleet.checkpoint(), folders.log_lengths(folder, fleet.seeds)
    try:
        for number in range(fleet.epoch + 1, training.epochs + 1):
            before, began = fleet.alive.tolist(), time.monotonic()
            means, rate = fleet.train_epoch(tell)
            if number <= _HELD_OUT_EPOCHS or number % _HELD_OUT_EPOCHS == 0:
                means |= fleet.held_out()
            done, alive = min(number * training.steps_per_epoch, total), fleet.alive.tolist()
            phase = fleet.gradients.phase(done - 1)
            where = {"epoch": number, **({"phase": phase} if phase else {})}
            rest = {"learning_rate": rate, "seconds": time.monotonic() - began}
            for run, seed in enumerate(fleet.seeds):
                if alive[run]:
                    values = {name: value[run] for name, value in means.items()}
                    again = {"draws": int(fleet.draws[run])} if fleet.draws[run] > 1 else {}
                    folders.append_metrics(folder, seed, {**where, **values, **again, **rest})
                elif before[run]:
                    told = f"the loss or its gradient was not a number in epoch {number}"
                    warn(f"seed {seed}: {told}; the run is set aside with its last sound weights")
            kept, logs = fleet.checkpoint(), folders.log_lengths(folder, fleet.seeds)
            if number % training.checkpoint_epochs == 0 or number == training.epochs:
                fleet.save(folder)
                saved = number
            if training.keep_epochs and number % training.keep_epochs == 0:
                fleet.save_weights(folder, folders.kept_weights(number))
            told = f"{phase}: {news(means, alive)}" if phase else news(means, alive)
            tell(done, total, f"epoch {number} of {training.epochs}: {told}")
            if not any(alive):
                raise UnsoundError(f"every run has diverged by epoch {number}; try a smaller training.learning_rate")
    finally:
        fleet.take_up(kept)  # a stop may have come in the middle of a step, or between an epoch's log and its end
        folders.cut_logs(folder, logs)
        if saved < fleet.epoch:  # lose no more than the epoch that it was stopped in
            fleet.save(folder)


class Fleet:
    """Runs in training: their network, optimiser and whether each is still sound."""

    def __init__(self, config: Any, seeds: tuple[int, ...], device: torch.device, warn: Warn = lambda _: None) -> None:
        self.config, self.seeds, self.device, self.warn = config, seeds, device, warn
        self.kind: Trainable = find(config.variant)
        self.network = self.kind.build(config, seeds).to(device)
        self.optimiser = AdamW(self.network, config.training)
        self.gradients = self.kind.gradients(self.network, config, seeds)
        self.update = Replayed(self._update) if on_gpu(device) else self._update
        self.alive = torch.ones(len(seeds), dtype=torch.bool, device=device)
        self.draws = torch.ones(len(seeds), dtype=torch.int64)
        """How often the weights of each run have been drawn."""
        self.epoch = 0
        """How many epochs are over."""
        self.quantities: Sequence[str] = ()
        """The names of what is logged of a step."""

    def begin_from(self, start: Model) -> bool:
        """Take up the weights of `start`, and the moments they were trained with; returns whether there were any."""
        if start.seeds != self.seeds:
            raise ConfigError(f"the weights to start from are of seeds {list(start.seeds)}; train those seeds")
        if getattr(self.network, "config", None) != getattr(start.network, "config", None):
            raise ConfigError("the weights to start from are of another model configuration; leave model.* as it is")
        self.network.load_state_dict(start.network.state_dict())
        self.optimiser.begin_anew(slice(None), self.network)
        moments = folders.load_moments(start.paths, self.seeds)
        if moments is None or not torch.equal(moments["weights"], self.optimiser.weights.cpu()):
            return False
        self.optimiser.load(moments)
        return True

    def train_epoch(self, tell: Callable[..., None] = lambda *_: None) -> tuple[dict[str, tuple[float, ...]], float]:
        """Train for an epoch; returns the means over its steps of what is logged, and its first rate."""
        steps, total = self.config.training.steps_per_epoch, self.config.steps
        first, logged = self.epoch * steps, []
        for step in range(first, min(first + steps, total)):
            logged.append(self.train_step(step))
            if step + 1 < total:  # the last is told with its epoch
                tell(step + 1, total)
        self.epoch += 1
        means = torch.stack(logged).mean(0).tolist()
        return dict(zip(self.quantities, map(tuple, means), strict=True)), self.gradients.rate(first)

    def train_step(self, number: int) -> Tensor:
        """One update of every run, on the problems of step `number`; returns what is logged, [quantities, R]."""
        for run in self.gradients.hopeless(number):
            self._draw_anew(run)
        found = self.gradients(number)
        self.quantities = (*found.costs, "gradient_norm")
        rate = torch.full((), self.gradients.rate(number), dtype=torch.float64, device=self.device)
        return self.update(found.gradient, torch.stack([*found.costs.values()]), rate)

    def _draw_anew(self, run: int) -> None:
        """Other random weights for a run, of its seed and of how often it was drawn: the same alone or in a fleet."""
        seed = int(Stream.of_seeds(self.seeds[run : run + 1]).fold(int(self.draws[run])).key)
        self.optimiser.begin_anew(slice(run, run + 1), self.kind.build(self.config, [seed]))
        self.draws[run] += 1
        self.alive[run] = True
        which = f"seed {self.seeds[run]}: too few results were right, so its weights were drawn anew"
        self.warn(f"{which} in epoch {self.epoch + 1}")

    def _update(self, gradient: Tensor, costs: Tensor, rate: Tensor) -> Tensor:
        """Every sound run a step down its gradient [R,P]; returns what is logged: the costs, total first, and the norm.
        A run whose cost or gradient is no number any more keeps its last sound weights and is set aside."""
        self.alive &= costs[0].isfinite() & gradient.isfinite().all(1)
        norm = self.optimiser.update(gradient, rate, self.alive)
        return torch.cat((costs, norm[None]))

    @torch.no_grad()
    def held_out(self) -> dict[str, tuple[float, ...]]:
        """What is logged of problems that are never trained on."""
        batch, draws = held_out_problems(self.config, self.device)
        found = self.kind.held_out(self.network, self.config, batch, draws)
        return {name: tuple(values.tolist()) for name, values in found.items()}

    def state(self) -> dict[str, Tensor]:
        """All that makes the next step what it is, beside the step's number."""
        return {**self.optimiser.state(), **self.gradients.state(), "alive": self.alive, "draws": self.draws}

    def checkpoint(self) -> folders.Checkpoint:
        tensors = {name: tensor.clone() for name, tensor in self.state().items()}
        return folders.Checkpoint(self.epoch, self.seeds, tensors)

    def take_up(self, checkpoint: folders.Checkpoint) -> None:
        self.epoch, state = checkpoint.epoch, checkpoint.tensors
        self.optimiser.load(state)
        self.alive.copy_(state["alive"])
        self.draws.copy_(state["draws"])
        self.gradients.load(state)

    def save(self, folder: Path) -> None:
        """Weights and logs of each run, then the checkpoint: neither is ever older than it."""
        self.save_weights(folder)
        logs = folders.keep_logs(folder, self.seeds) if self.epoch else {}
        folders.save_checkpoint(folder, replace(self.checkpoint(), logs=logs))

    def save_weights(self, folder: Path, name: str = WEIGHTS) -> None:
        for run, seed in enumerate(self.seeds):
            if not _outcome(self.kind, folder, seed).is_file():  # else they are final
                save_run(folders.seed_folder(folder, seed) / name, self.network, run, self.config, seed)


def held_out_problems(config: Any, device: torch.device) -> tuple[Batch, Stream]:
    """Problems that are never trained on, and what is drawn while they are solved."""
    stream = Stream.of_seeds([0], device).fold(HELD_OUT)
    return sample(config.space, HELD_OUT_PROBLEMS, stream, task=config.learns), stream.fold(0)


def _outcome(kind: Trainable, folder: Path, seed: int) -> Path:
    """Where what a run came to after training is kept; a folder, which is no file, where nothing is."""
    return folders.seed_folder(folder, seed) / kind.outcome


def _finish(fleet: Fleet, folder: Path, tell: Callable[[int, int, str], None]) -> list[dict[str, Any]]:
    """What comes after training, of those runs that it has not been done with; returns what each came to."""
    kind, config, seeds, device = fleet.kind, fleet.config, fleet.seeds, fleet.device
    if not kind.outcome:
        return []
    left = [seed for seed in seeds if not _outcome(kind, folder, seed).is_file()]
    done = len(seeds) - len(left)
    if left:
        model = load_runs(config.variant, [folders.seed_folder(folder, seed) / WEIGHTS for seed in left], device)

        def report(news: str) -> None:
            tell(done, len(seeds), news)

        report("begun")  # the first that it reports may take minutes
        for run, result in kind.finish(model.network, config, left, report):
            save_run(folders.seed_folder(folder, left[run]) / WEIGHTS, model.network, run, config, left[run])
            folders.write_outcome(_outcome(kind, folder, left[run]), result | {"device": describe(device)})
            done += 1
    return [folders.read_outcome(_outcome(kind, folder, seed)) for seed in seeds]
