"""Training the network of bits on results alone, phase by phase, for a fleet of runs at once.

A training step draws problems, grids, starts and noise as functions of the runs' seeds and of its number, so a run
learns the same alone or in a fleet, and resuming needs weights, moments, the last states and a few switches.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from gridsum.config.exact import DiscoveryConfig, ExactConfig, Phase
from gridsum.data.problems import Batch, Space, sample
from gridsum.data.streams import Stream, lane_index
from gridsum.model.cells import cells_of
from gridsum.model.rule import RuleNetwork, soft_bits
from gridsum.model.runs import as_written, flatten
from gridsum.ops import placement
from gridsum.ops.devices import on_gpu
from gridsum.ops.forms import fastest_form, full_precision
from gridsum.ops.grids import GridSize
from gridsum.ops.placement.plain import most_probable
from gridsum.tasks import PAD, Task, find
from gridsum.training.optimiser import clipped, decay_of, named_rows, write_rows
from gridsum.training.phases import Setting, at_step, grid_of, phases, recurrent_steps, setting

# What the random numbers of a step are for; those of a recurrent step n come n after the last.
_PROBLEMS, _ROWS, _COLUMNS, _HARD, _START, _RANDOM, _SHARE, _WHERE, _CORRUPTED = range(9)
_NOISE, _CORRUPTION, _CORRUPT_BITS = 100, 200, 300
_BETAS = (0.9, 0.999)
# How much of what hardening looks at is of the last training step.
_RECENT = 0.05
# What the stream of the problems that are held out is for, and how many they are.
_HELD_OUT, _HELD_OUT_PROBLEMS = -1, 64


_DEFAULT = find()


class Logged(NamedTuple):
    """What a training step came to, for each run [R]."""

    loss: Tensor
    characters: Tensor
    results: Tensor
    certain: Tensor
    """The characters right in problems that were placed by the most probable actions."""
    bits_on: Tensor


class HeldOut(NamedTuple):
    """How runs do on problems that are never trained on, for each run [R]."""

    held_out: Tensor
    """The share of whole results that are right at rest."""
    codes: Tensor
    """How many codes their cells rest in."""


@dataclass(frozen=True)
class Problems:
    """The problems of a step, with the cells that belong to each one's grid: inside [R,B,H,W,1]."""

    symbols: Tensor
    targets: Tensor
    inside: Tensor


def draw(phase: Phase, config: DiscoveryConfig, stream: Stream, task: Task = _DEFAULT) -> Problems:
    """Half of the batch of either group, with a grid size that each run draws for each."""
    height, width = grid_of(phase, config)
    half, longest = config.batch // 2, phase.groups[1].symbols
    batches: list[Batch] = []
    inside = []
    for index, space in enumerate(phase.groups):
        source = stream.fold(index)
        batches.append(sample(space, half, source.fold(_PROBLEMS), config.few_digits, task))
        rows = space.terms[1] + config.spare_rows + source.fold(_ROWS).integers(0, config.random_rows)
        columns = space.digits[1] + config.spare_columns + source.fold(_COLUMNS).integers(0, config.random_columns)
        size = GridSize(height, width, torch.stack((rows, columns), 1).int())
        assert size.inside is not None
        inside.append(size.inside[:, None, :, :, None].expand(-1, half, -1, -1, -1))
    symbols = [F.pad(batch.symbols, (0, longest - batch.symbols.shape[-1]), value=PAD) for batch in batches]
    targets = [batch.targets_for(width) for batch in batches]
    return Problems(torch.cat(symbols, 1), torch.cat(targets, 1), torch.cat(inside, 1).float())


def place(network: RuleNetwork, problems: Problems, certain: int) -> Tensor:
    """The symbols' vectors on the grids [R,B,H,W,E]; the last `certain` problems by the most probable actions."""
    table = network.actions()
    chosen = F.one_hot(problems.symbols, len(network.task.alphabet)).to(table.dtype)
    actions = torch.matmul(chosen, table[:, None])
    if certain:
        sure = torch.matmul(chosen[:, -certain:], most_probable(table)[:, None])
        actions = torch.cat((actions[:, :-certain], sure), 1)
    height, width = problems.inside.shape[2:4]
    spread = placement.place(chosen, actions, height, width, fastest_form(actions))
    return torch.matmul(spread, network.vectors()[:, None, None]) * problems.inside


def rollout_cost(
    network: RuleNetwork,
    config: DiscoveryConfig,
    phase: Phase,
    stream: Stream,
    now: Setting | Tensor,
    steps: int,
    before: Tensor,
    gates: Tensor | None,
    task: Task = _DEFAULT,
) -> tuple[Tensor, Logged, Tensor]:
    """The cost [R] of one training step, what is logged of it, and the states it ends with.

    `before` are the states that the step before ended with: some problems start from them. Every reading counts, with
    a weight that grows with n.
    """
    noise, hard_share, starts, corruption, bit_cost, gate_cost, _ = now if isinstance(now, tuple) else now.unbind(0)
    problems = draw(phase, config, stream, task)
    inside, targets = problems.inside, problems.targets
    runs, count, height, width = inside.shape[:4]
    cells, bits = cells_of(network, inside), network.config.bits
    with full_precision(inside):
        grid = place(network, problems, int(config.certain * count))
    cell, query = network.meet(cells.take(grid))
    numbers = torch.arange(count * height * width, device=inside.device).view(count, height, width)
    lanes = lane_index(numbers, bits + -bits % 4)

    def random_bits(source: Stream) -> Tensor:
        return cells.take(source.normal(lanes)[..., :bits].sign())

    def each(source: Stream) -> Tensor:
        return source.uniform(count).view(runs, count, 1, 1, 1)

    def of_cells(each: Tensor) -> Tensor:
        """What each problem has, for each of its cells."""
        return cells.take(each.expand(-1, -1, height, width, -1))

    def each_cell(source: Stream) -> Tensor:
        return cells.take(source.uniform(count, height, width)[..., None])

    hard = of_cells(each(stream.fold(_HARD)) < hard_share)
    scattered = random_bits(stream.fold(_RANDOM))
    others = torch.where(
        each_cell(stream.fold(_WHERE)) < of_cells(each(stream.fold(_SHARE))), scattered, cells.take(before)
    )
    chance = of_cells(each(stream.fold(_START)))
    state = torch.where(chance < starts / 2, scattered, torch.where(chance < starts, others, -1.0)) * cells.inside
    corrupted = (each(stream.fold(_CORRUPTED)) < 0.5) & (torch.as_tensor(corruption) > 0)
    corrupted_cells = of_cells(corrupted)
    # of every recurrent step at once: [steps,R,B,H,W,m]
    numbered = torch.arange(1, steps + 1, device=inside.device)
    drawn = Stream(stream.fold(_NOISE + numbered[:, None]).key.flatten()).normal(lanes)[..., :bits]
    drawn = noise * drawn.unflatten(0, (steps, runs))
    rows, bits_on = [], torch.zeros(runs, device=inside.device)
    for n in range(1, steps + 1):
        z = cells.step(cell, query, state, gates).float()
        between = soft_bits(z, cells.take(drawn[n - 1]), hard)
        state = (2 * between - 1) * cells.inside
        if 2 * n <= steps and phase.corruption:
            hit = corrupted_cells & (each_cell(stream.fold(_CORRUPTION + n)) < corruption)
            state = torch.where(hit, random_bits(stream.fold(_CORRUPT_BITS + n)) * cells.inside, state)
        rows.append(cells.top_rows(state))
        bits_on = bits_on + (between * cells.inside).flatten(1).sum(1)
    bits_on = bits_on / (inside.flatten(1).sum(1) * bits)
    columns = inside[:, :, 0, :, 0]
    weight = torch.where(targets == PAD, config.pad_weight, 1.0) * columns
    halves = weight.unflatten(1, (2, -1)).sum((2, 3))
    logits = network.read(torch.stack(rows, 1)).float()
    losses = F.cross_entropy(logits.movedim(-1, 1), targets[:, None].expand(-1, steps, -1, -1), reduction="none")
    losses = losses * weight[:, None]
    if phase.corruption:
        early = (2 * numbered <= steps).view(-1, 1, 1)
        losses = losses.masked_fill(corrupted[:, None, :, :, 0, 0] & early, 0.0)
    losses = losses.unflatten(2, (2, -1)).sum((3, 4)) / halves[:, None]
    loss, logits = (losses.mean(2) * numbered).sum(1), logits[:, -1]
    loss, bits_on = loss / (steps * (steps + 1) / 2), bits_on / steps
    cost = loss + bit_cost * bits_on
    if gates is not None:
        cost = cost + gate_cost * gates.sum(1)
    predicted = logits.detach().argmax(-1)
    valid = ((predicted != PAD) | (targets != PAD)) & (columns > 0)
    right = (valid & (predicted == targets)).sum(-1)
    characters = right / valid.sum(-1).clamp_min(1)
    certain = characters[:, -max(1, int(config.certain * count)) :].mean(1)
    results = (right == valid.sum(-1)).float().mean(1)
    logged = Logged(loss.detach(), characters.mean(1), results, certain, bits_on.detach())
    return cost, logged, torch.where(cells.grids(state) > 0, 1.0, -1.0)


class _Costs(nn.Module):
    """The cost of a training step as the forward of a module, so that it can be called with other weights."""

    def __init__(self, network: RuleNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, fleet: "Discovery", phase: Phase, stream: Stream, steps: int) -> tuple[Tensor, Logged, Tensor]:
        config = fleet.config.discovery
        state = (fleet.now, steps, fleet.before, fleet.gates(phase))
        return rollout_cost(self.network, config, phase, stream, *state, fleet.task)


class Discovery:
    """Runs in training: network, moments, and what the next step depends on."""

    def __init__(self, config: ExactConfig, seeds: tuple[int, ...], device: torch.device) -> None:
        self.config, self.seeds, self.device = config, seeds, device
        self.task = find(config.task)
        self.network = RuleNetwork(config.rule, seeds, self.task).to(device)
        self.costs = _Costs(self.network)
        self.decay = decay_of(self.network, config.discovery.weight_decay).to(device)
        self.mean = torch.zeros_like(flatten(self.network.parameters()))
        self.square = torch.zeros_like(self.mean)
        self.count = torch.zeros((), device=device)
        self.certain = torch.zeros(len(seeds), device=device)
        self.gates_hard = torch.zeros((), dtype=torch.bool, device=device)
        self.stream = Stream.of_seeds(seeds, device)
        self.number = torch.zeros((), dtype=torch.int64, device=device)
        self.now = torch.zeros(len(Setting._fields), device=device)
        self.before = torch.empty(0, device=device)
        self.graphs: dict[tuple[str, int], tuple[torch.cuda.CUDAGraph, Tensor]] = {}

    def train_step(self, number: int) -> Tensor:
        """One update of every run; returns what is logged [quantities, R]."""
        name, phase, index = at_step(self.config, number)
        shape = (len(self.seeds), self.config.discovery.batch, *grid_of(phase, self.config.discovery))
        if self.before.shape[:-1] != shape:
            self.before = -torch.ones(*shape, self.config.rule.bits, device=self.device)
            self.graphs.clear()
            # They run one after the other, and what one logs is copied before the next: so they share their memory.
            self.pool = torch.cuda.graph_pool_handle() if on_gpu(self.device) else None
        self.number.fill_(number)
        self.now.copy_(torch.tensor(setting(phase, index)))
        steps = recurrent_steps(phase, number)
        replays = on_gpu(self.device) and as_written(self.network)  # a graph calls no modules
        logged = self._replayed(name, phase, steps) if replays else self._compute(phase, steps)
        self.certain.lerp_(logged[Logged._fields.index("certain")], _RECENT)
        self.network.decided |= self.certain > self.config.discovery.harden_accuracy
        if phase.gate_cost and index == phase.steps - 1:
            self.gates_hard.fill_(True)
        return logged

    @torch.no_grad()
    def held_out(self) -> HeldOut:
        """On problems like those of the last phase, as runs would solve them: by certain actions and with bits."""
        last = [phase for _, phase in phases(self.config) if phase.steps][-1]
        network, space = self.network, Space(last.terms, last.digits)
        stream = Stream.of_seeds([0], self.device).fold(_HELD_OUT)
        batch = sample(space, _HELD_OUT_PROBLEMS, stream, task=self.task)
        height, width = space.terms[1] + 1, max(space.columns_of(self.task), space.digits[1] + 1) + 1
        symbols = batch.symbols.expand(network.runs, -1, -1)
        inside = torch.ones(network.runs, _HELD_OUT_PROBLEMS, height, width, 1, device=self.device)
        cell, query = network.meet(place(network, Problems(symbols, batch.targets, inside), _HELD_OUT_PROBLEMS))
        bits, gates = -torch.ones(*inside.shape[:-1], network.config.bits, device=self.device), network.gates()
        for _ in range(2 * (height + width)):
            bits = torch.where(network.step(cell, query, bits, inside, gates) > 0, 1.0, -1.0)
        read = network.read(bits[:, :, 0]).argmax(-1)
        right = (read == batch.targets_for(width)).all(-1).double().mean(1)
        numbers = ((bits > 0).long() << torch.arange(network.config.bits, device=self.device)).sum(-1)
        return HeldOut(right, torch.stack([torch.tensor(len(codes.unique())) for codes in numbers]))

    def gates(self, phase: Phase) -> Tensor | None:
        """Open until a phase makes them cost something; then as far as training opens them; from its end on hard."""
        soft = self.network.gates(hard=False)
        if soft is None or phase.gate_cost:
            return soft
        hard = self.network.gates()
        assert hard is not None
        return torch.where(self.gates_hard, hard, torch.ones_like(hard))

    def _compute(self, phase: Phase, steps: int) -> Tensor:
        stream = self.stream.fold(self.number)
        # All weights as one leaf, new each time: a graph cannot be captured over one that another stream has seen.
        weights = flatten(parameter.detach() for parameter in self.network.parameters()).requires_grad_()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=on_gpu(self.device)):
            named = {f"network.{name}": part for name, part in named_rows(self.network, weights).items()}
            cost, logged, states = functional_call(self.costs, named, (self, phase, stream, steps), strict=False)
        (gradient,) = torch.autograd.grad(cost.sum(), weights)
        with torch.no_grad():
            self._update(gradient)
            self.before.copy_(states)
        return torch.stack(logged)

    def _update(self, gradient: Tensor) -> None:
        """AdamW, rounded as the shipped run was; a run whose gradient is no number is left as it was."""
        gradient, norm = clipped(gradient, self.config.discovery.clip)
        sound = norm.isfinite()[:, None]
        self.count += 1
        self.mean.copy_(torch.where(sound, self.mean.lerp(gradient, 1 - _BETAS[0]), self.mean))
        self.square.copy_(torch.where(sound, self.square.lerp(gradient * gradient, 1 - _BETAS[1]), self.square))
        mean, square = self.mean / (1 - _BETAS[0] ** self.count), self.square / (1 - _BETAS[1] ** self.count)
        before = flatten(self.network.parameters())
        weights = before - self.now[-1] * (mean / (square.sqrt() + 1e-8) + self.decay * before)
        write_rows(self.network, torch.where(sound, weights, before))

    def _replayed(self, name: str, phase: Phase, steps: int) -> Tensor:
        """The same as a CUDA graph for each phase and length: the first time eagerly, then captured and undone."""
        if (name, steps) in self.graphs:
            graph, logged = self.graphs[name, steps]
            graph.replay()
            return logged.clone()
        first = self._compute(phase, steps)
        torch.cuda.synchronize()
        kept = [tensor.clone() for tensor in self.state().values()]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            logged = self._compute(phase, steps)
        with torch.no_grad():
            for tensor, value in zip(self.state().values(), kept, strict=True):
                tensor.copy_(value)
        self.graphs[name, steps] = (graph, logged)
        return first

    def state(self) -> dict[str, Tensor]:
        """All that makes the next step what it is, beside its number."""
        named = dict(self.network.named_parameters()) | dict(self.network.named_buffers())
        return {
            **{f"network.{name}": tensor for name, tensor in named.items()},
            "mean": self.mean,
            "square": self.square,
            "count": self.count,
            "certain": self.certain,
            "gates_hard": self.gates_hard,
            "before": self.before,
        }

    @torch.no_grad()
    def take_up(self, state: dict[str, Tensor]) -> None:
        self.before = state["before"].to(self.device)
        for name, tensor in self.state().items():
            tensor.copy_(state[name])


def train_steps(
    fleet: Discovery,
    first: int,
    last: int,
    report: Callable[[int, Tensor], None],
    tick: Callable[[int, int], None] = lambda *_: None,
) -> Iterator[int]:
    """Training steps `first` to `last`; yields after every epoch's worth of them, with their mean reported."""
    logged = []
    for number in range(first, last):
        logged.append(fleet.train_step(number))
        tick(number + 1, last)
        if (number + 1) % fleet.config.discovery.epoch_steps == 0 or number + 1 == last:
            report(number + 1, torch.stack(logged).mean(0))
            logged = []
            yield number + 1
