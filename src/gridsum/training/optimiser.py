"""AdamW for R runs at once, as arithmetic on tensors that stay on their device."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from gridsum.config.paper import TrainingConfig
from gridsum.model.runs import RunModule
from gridsum.ops.grids import side_by_side


def decayed_parameters(network: nn.Module) -> set[str]:
    """The names of the parameters that weight decay applies to: weight matrices, as their modules say."""
    modules = [(path, module) for path, module in network.named_modules() if isinstance(module, RunModule)]
    return {f"{path}.{name}" for path, module in modules for name in module.decayed}


def named_rows(network: nn.Module, weights: Tensor) -> dict[str, Tensor]:
    """Rows of weights [R,P] as the network's parameters, by their names."""
    named = list(network.named_parameters())
    rows = weights.split([parameter[0].numel() for _, parameter in named], 1)
    return {name: row.view_as(parameter) for (name, parameter), row in zip(named, rows, strict=True)}


class AdamW:
    """Decoupled weight decay, with the gradient of each run clipped by its own norm.

    `weights`, `mean` and `square` are [R,P], a row a run, so an update is a handful of operations. `updates` [R] counts
    since a run's moments were zero. A run that is not `alive` is left as it was.
    """

    def __init__(self, network: nn.Module, config: TrainingConfig) -> None:
        self.config, self.network = config, network
        self.weights = side_by_side(parameter.detach() for parameter in network.parameters())
        self.mean = torch.zeros_like(self.weights)
        self.square = torch.zeros_like(self.weights)
        self.updates = torch.zeros(len(self.weights), dtype=torch.int64, device=self.weights.device)
        decayed = decayed_parameters(network)
        parts = [torch.full_like(part[0], name in decayed).flatten() for name, part in network.named_parameters()]
        self.decay = config.weight_decay * torch.cat(parts)
        """Of each of a run's parameters [P]."""

    @torch.no_grad()
    def update(self, gradient: Tensor, rate: Tensor, alive: Tensor) -> Tensor:
        """One step down `gradient` [R,P], in place, at `rate`, a double; returns its norm [R] before clipping."""
        config = self.config
        norm = gradient.square().sum(1).sqrt()
        gradient = gradient * (config.clip / (norm + 1e-6)).clamp(max=1.0)[:, None]
        self.updates += 1
        count = self.updates.to(torch.float64)[:, None]
        alive = (alive & norm.isfinite())[:, None]

        mean = torch.lerp(self.mean, gradient, 1 - config.beta1)
        square = torch.lerp(self.square, gradient * gradient, 1 - config.beta2)
        size = (rate / (1 - config.beta1**count)).float()
        root = square.sqrt() / (1 - config.beta2**count).sqrt().float() + config.adam_epsilon
        weights = self.weights * (1 - rate.float() * self.decay) - size * mean / root

        self.mean.copy_(torch.where(alive, mean, self.mean))
        self.square.copy_(torch.where(alive, square, self.square))
        self.weights.copy_(torch.where(alive, weights, self.weights))
        self.publish()
        return norm

    def step(self, number: int) -> None:
        """Training step `number`, down the gradients that `backward` has left; these are then cleared."""
        gradient = side_by_side(part.grad for part in self.network.parameters() if part.grad is not None)
        alive = torch.ones(len(gradient), dtype=torch.bool, device=gradient.device)
        rate = torch.tensor(self.config.rate(number), dtype=torch.float64)
        self.update(gradient, rate, alive)
        self.network.zero_grad()

    def begin_anew(self, runs: slice, network: nn.Module) -> None:
        """Take up the weights of a network of these runs, and forget their gradients so far."""
        self.weights[runs] = side_by_side(parameter.detach() for parameter in network.parameters()).to(self.weights)
        for part in (self.mean, self.square, self.updates):
            part[runs] = 0
        self.publish()

    def state(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in ("weights", "mean", "square", "updates")}

    def load(self, state: Mapping[str, Tensor]) -> None:
        for name in self.state():
            getattr(self, name).copy_(state[name])
        self.publish()

    @torch.no_grad()
    def publish(self) -> None:
        """Write the weights into the network's parameters."""
        parts = named_rows(self.network, self.weights)
        for name, parameter in self.network.named_parameters():
            parameter.copy_(parts[name])
