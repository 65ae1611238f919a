"""A fleet of runs of a baseline, trained and measured: its function mapped over stacked weights.

A run computes in a fleet what it computes alone, because its problems and what is dropped are functions of its seed and
of the step, and nothing mixes runs.
"""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from gridsum.baselines.layout import sized_for, until_blank, within
from gridsum.config.registry import GradientSource
from gridsum.data.problems import Batch, Space, sample
from gridsum.data.streams import Stream
from gridsum.evaluation.evaluate import Answers, Asked, Subject
from gridsum.model.runs import parameter_count
from gridsum.model.store import Model
from gridsum.objective.paper import Cost
from gridsum.ops.devices import Replayed, on_gpu
from gridsum.ops.grids import side_by_side
from gridsum.tasks import PAD
from gridsum.training.folders import read_metrics
from gridsum.training.gradients import Gradients

if TYPE_CHECKING:
    from gridsum.baselines.baseline import BaselineConfig, BaselineNetwork, Read

# What a step's random numbers are for.
_PROBLEMS, _ENCODING, _INSIDE = range(3)
# How often at most an answer is read back, where it is too long to be read back digit by digit.
_PASSES = 32
# Runs that attend to all symbols are asked together up to so many of them, one by one beyond.
_TOGETHER = 256
_COSTS = len(fields(Cost))


def cost(read: "Read", targets: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
    """`Cost` of one run: cross-entropy over the places that count, and what the baseline adds to it."""
    losses = -read.logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    loss = (losses * weight).sum() / weight.sum()
    right = (read.logits.detach().argmax(-1) == targets) & (targets != PAD)
    accuracy = (right * (weight > 0)).sum() / ((targets != PAD) & (weight > 0)).sum().clamp_min(1)
    return loss + read.regulariser, loss, read.regulariser, accuracy, read.steps


class MappedGradients(GradientSource):
    """The gradients of all runs as one computation; on a GPU it is a CUDA graph."""

    def __init__(self, network: "BaselineNetwork", config: "BaselineConfig", seeds: tuple[int, ...]) -> None:
        self.network, self.config = network, config
        self.device = next(network.parameters()).device
        self.stream = Stream.of_seeds(seeds, self.device)
        self.rows = Replayed(self._rows) if on_gpu(self.device) else self._rows

    def __call__(self, step: int) -> Gradients:
        step = step + self.config.training.first_step
        rows = self.rows(torch.full((), step, dtype=torch.int64, device=self.device))
        return Gradients(rows[:, :-_COSTS], vars(Cost(*rows[:, -_COSTS:].unbind(1))))

    def _rows(self, step: Tensor) -> Tensor:
        """The gradient of every run, and its costs behind it: [R,P+5]."""
        stream, training = self.stream.fold(step), self.config.training
        space, task = self.config.space, self.config.task.task
        batch = sample(space, training.batch, stream.fold(_PROBLEMS), task=task)
        problem = self.network.encode(batch, space, stream.fold(_ENCODING))
        named = {name: parameter.detach() for name, parameter in self.network.named_parameters()}

        def of_run(
            weights: dict[str, Tensor], inputs: dict[str, Tensor], targets: Tensor, weight: Tensor, key: Tensor
        ) -> tuple[Tensor, Tensor]:
            read = functional_call(self.network, weights, (inputs, Stream(key[None])))
            costs = cost(read, targets, weight)
            return costs[0], torch.stack(costs).detach()

        gradients, costs = vmap(grad(of_run, has_aux=True))(named, *problem, stream.fold(_INSIDE).key)
        return torch.cat((side_by_side(gradients[name] for name in named), costs), 1)


@torch.no_grad()
def answers(network: "BaselineNetwork", batch: Batch, space: Space) -> tuple[Tensor, Tensor]:
    """What every run answers to the problems of one, as rows of columns [R,B,W]; and its mean steps [R]. A problem such
    as it was trained on is asked as it was in training, whatever others `space` has beside it."""
    runs, known = len(next(network.parameters())), within(batch, space, network.trained_on)[0]
    found, steps = batch.symbols.new_zeros(runs, len(known), 0), torch.zeros(runs, device=known.device)
    for chosen, room in ((known, network.trained_on), (~known, space)):
        if not bool(chosen.any()):
            continue
        part = sized_for(Batch(batch.symbols[:, chosen], batch.targets[:, chosen], batch.task), room)
        read, taken = _answered(network, runs, part, room)
        width = max(found.shape[-1], read.shape[-1])
        found = F.pad(found, (width - found.shape[-1], 0), value=PAD)
        found[:, chosen] = F.pad(read, (width - read.shape[-1], 0), value=PAD)
        steps = steps + taken * chosen.sum() / len(known)
    return found, steps


def _answered(network: "BaselineNetwork", runs: int, batch: Batch, space: Space) -> tuple[Tensor, Tensor]:
    """The same, all of them laid out for `space`.

    A baseline that reads what it has written is read back until nothing changes, which is what writing digit by digit
    comes to. It begins with the right answer: one that is right takes one pass. What never settles counts as blank.
    """
    problem = network.encode(batch, space, None)
    named = {name: parameter.detach() for name, parameter in network.named_parameters()}
    inputs = {name: value[0] for name, value in problem.inputs.items()}
    longest = max(value[0].numel() for value in inputs.values() if value.dim() > 1)

    def of_run(weights: dict[str, Tensor], given: Tensor) -> tuple[Tensor, Tensor]:
        read = functional_call(network, weights, ({**inputs, "given": given}, None))
        return read.logits.argmax(-1), read.steps

    asked = vmap(of_run, chunk_size=1 if network.feeds_back and longest > _TOGETHER else None)
    given = problem.targets.expand(runs, -1, -1)
    predicted, steps = asked(named, given)
    if network.feeds_back:
        settled, length = torch.zeros_like(given), given.shape[-1]
        for _ in range(max(_PASSES, length) if length <= _TOGETHER else _PASSES):
            written = until_blank(predicted)
            agrees = torch.cumprod((written == given).long(), -1)
            settled = torch.cat((torch.ones_like(agrees[..., :1]), agrees[..., :-1]), -1)
            if bool(settled.all()):
                break
            given = written
            predicted, steps = asked(named, given)
        predicted = torch.where(settled > 0, until_blank(predicted), PAD)
    return network.written(predicted, problem), steps


def baseline_subject(model: Model, given: str) -> Subject:
    """Trained runs of a baseline; its records say what it was given and what it took."""
    network, config = model.network, model.config

    def answer(asked: Asked) -> Answers:
        predicted, steps = answers(network, asked.batch, asked.space)
        return Answers(predicted, steps[:, None].expand(predicted.shape[:2]))

    about = {
        "given": given,
        "parameters": parameter_count(network),
        "problems_seen": config.steps * config.training.batch,
        "training_seconds": _seconds(model.paths, model.seeds[0]),
    }
    device = next(network.parameters()).device
    return Subject(
        model.name, config.label, model.seeds, model.task, answer, device=device, fits=network.fits, about=about
    )


def _seconds(paths: Sequence[Path], seed: int) -> float | None:
    """Of training. Runs of a fleet log the same times, each of them the whole fleet's. A weights file has no log."""
    folder = paths[0].parent.parent if paths else None
    if folder is None or not (folder / f"seed-{seed}" / "metrics.jsonl").exists():
        return None
    return round(sum(line["seconds"] for line in read_metrics(folder, seed)) / len(list(folder.glob("seed-*"))), 2)
