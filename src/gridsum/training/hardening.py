"""When a run's placement turns from expected to certain, and its states become discrete.

Nothing but results may decide: which layout of the grid is right is for the network to find. So at the end of every
epoch each run solves new problems with every symbol placed by its most probable action. Once it gets enough of their
characters right in every group of problems, those actions work, and are kept for good: expected placement smears over
long inputs, and an action that could still change would take from under the network what it has learnt to rely on.

States that are to be discrete become so after that, on the same measure: a network that has found an answer loses
little of it by the levels, and soon has it back.
"""

import torch
from torch import Tensor

from gridsum.config import Config
from gridsum.model.network import Network
from gridsum.model.rollout import Beginning, GridSize
from gridsum.objective import character_accuracy
from gridsum.problems import sample
from gridsum.streams import Stream
from gridsum.training.gradients import largest_grid

# Beside what the random numbers of a training step are for.
_PROBLEMS = 100


@torch.no_grad()
def harden(network: Network, config: Config, seeds: tuple[int, ...], step: int) -> None:
    """Harden the placement, and then the states, of the runs that are ready for it after training step `step`."""
    decided, discrete = network.placement.decided, network.step.discrete
    settled = decided is None or bool((decided >= 0).all())
    if settled and (discrete is None or bool(discrete.all())):
        return
    device = network.embedding.weight.device
    accuracy = torch.ones(network.runs, device=device)
    for group in range(len(config.task.groups)):
        stream = Stream.of_seeds(seeds, device).fold(step).fold(group).fold(_PROBLEMS)
        accuracy = accuracy.minimum(certain_accuracy(network, config, group, stream))
    if discrete is not None:
        certain = torch.ones_like(discrete) if decided is None else (decided >= 0).all(1)
        discrete |= certain & (accuracy >= config.training.discrete_accuracy)
    if decided is not None:
        network.placement.harden(network.embedding.weight, accuracy >= config.training.harden_accuracy)


def certain_accuracy(network: Network, config: Config, group: int, stream: Stream) -> Tensor:
    """The character accuracy [R] of every run on new problems of a group, placed by the most probable actions."""
    space, problems = config.task.groups[group], config.training.harden_problems
    size = GridSize(*largest_grid(space, config))
    batch = sample(space, problems, stream)  # without repeats, so that an accuracy means the same in every training
    rollout = network(batch.symbols, size, beginning=Beginning(certain=problems))
    targets = batch.targets_for(size.width)
    accuracy = character_accuracy(rollout.logits.argmax(-1), targets, torch.ones_like(targets, dtype=torch.bool))
    return (rollout.probability * accuracy).sum(0).mean(-1)
