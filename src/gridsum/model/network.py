"""The network: symbols → grid → steps → digits."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import torch
from torch import Generator, Tensor, nn
from torch.autograd import Function

from gridsum.config import ModelConfig
from gridsum.model.attention import LocalAttention
from gridsum.model.halting import ContextTransformer, halting_distribution
from gridsum.model.layers import (
    Cells,
    Drop,
    Dropout,
    FeedForward,
    LayerNorm,
    Linear,
    PackedDropout,
    RunModule,
    StateNoise,
    apply_matrix,
    draw_all,
    flatten,
    is_power_of_two,
    triton_serves,
)
from gridsum.model.rollout import Beginning, GridSize, Rollout
from gridsum.model.seq2grid import Placement, most_probable, place_hard, seq2grid
from gridsum.streams import Stream, lane_threshold
from gridsum.symbols import ALPHABET

# Dropout sites of one step: the three layers of FFN_3 and the two of FFN_ctx.
_STEP_SITES, _CONTEXT_SITES = 3, 2
_SITES = _STEP_SITES + _CONTEXT_SITES
# Truncated samples are left out of the computation once they are an eighth of it: leaving costs a copy.
_WORTH_LEAVING = 7 / 8
# Dropout takes the children of a rollout's stream; its noise is another purpose.
_NOISE = 1


class Embedding(RunModule):
    """Σ → R^E, without any positional information."""

    def __init__(self, runs: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, len(ALPHABET), width))

    def draw(self, run: int, generator: Generator) -> None:
        self.weight[run].normal_(generator=generator)


class Transition(nn.Module):
    """The part of a step that looks at one cell at a time: residual, norm, FFN_3, residual, norm."""

    def __init__(self, runs: int, width: int, hidden: int) -> None:
        super().__init__()
        self.norm_attention = LayerNorm(runs, width)
        self.feed_forward = FeedForward(runs, (width, hidden, hidden, width))
        self.norm_feed_forward = LayerNorm(runs, width)

    def forward(
        self,
        grid: Tensor,
        attended: Tensor,
        inside: Tensor | None = None,
        dropouts: Sequence[Drop] | None = None,
    ) -> Tensor:
        between = self.norm_attention(grid + attended)
        result = self.norm_feed_forward(between + self.feed_forward(between, dropouts))
        return _only(inside, result)

    def packed(self) -> Tensor:
        """All parameters of a run in one row, as the kernel takes them: weights, biases, norms."""
        layers = cast("Iterable[Linear]", self.feed_forward.layers)
        norms = (self.norm_attention, self.norm_feed_forward)
        parts = [*(layer.weight for layer in layers), *(layer.bias for layer in layers)]
        return flatten([*parts, *(part for norm in norms for part in (norm.weight, norm.bias))])


class Readers(NamedTuple):
    """A grid for each of its readers: one tensor as a rule, several where a kernel adds up their gradients."""

    residual: Tensor
    projected: Tensor
    context: Tensor
    top: Tensor
    """[R,B,W,E], the top row, for the output."""

    @classmethod
    def of(cls, grid: Tensor) -> "Readers":
        return cls(grid, grid, grid, grid[:, :, 0])

    def only(self, problems: Tensor) -> "Readers":
        return Readers(*(part[:, problems] for part in self))


@dataclass(frozen=True)
class Prepared:
    """What is made of a step's parameters once for many steps."""

    projection: Tensor
    transition: tuple[Tensor, Tensor] | None
    """The transition's parameters in one row a run, and the same in the precision of the products, as its kernel takes
    them; None where that does not serve."""
    remembered: Tensor | None
    """What `Step.remember` makes of G_0."""

    def only(self, problems: Tensor | slice) -> "Prepared":
        return self if self.remembered is None else replace(self, remembered=self.remembered[:, problems])


class Recall(Linear):
    """Linear(concat(G_n, G_0)) in two parts, of which that of G_0 is the same at every step."""

    def __init__(self, runs: int, width: int) -> None:
        super().__init__(runs, 2 * width, width)

    def remember(self, origin: Tensor) -> Tensor:
        return apply_matrix(origin, self.weight[:, origin.shape[-1] :], self.bias).to(origin.dtype)

    def mix(self, grid: Tensor, remembered: Tensor, inside: Tensor | None) -> Tensor:
        return _only(inside, apply_matrix(grid, self.weight[:, : grid.shape[-1]]).to(grid.dtype) + remembered)


class Step(nn.Module):
    """G_n → G_{n+1} (Eq. 5): local attention, then a feed-forward network, post-norm.

    With recall, both work on a mixture of G_n and G_0, which `remember` has to be shown first.
    """

    def __init__(self, runs: int, config: ModelConfig) -> None:
        super().__init__()
        self.attention = LocalAttention(
            runs, config.width, config.groups, config.heads, config.kernel, config.query_encoding
        )
        self.transition = Transition(runs, config.width, config.step_hidden)
        self.hidden = config.step_hidden
        self.recall = Recall(runs, config.width) if config.recall else None

    def remember(self, origin: Tensor) -> Tensor | None:
        """What every step needs of G_0, made once; None without recall."""
        return None if self.recall is None else self.recall.remember(origin)

    def recalled(self, grid: Tensor, remembered: Tensor | None, size: GridSize | None) -> Tensor:
        """What attention and feed-forward network work on: the grid, or with recall its mixture with G_0."""
        if self.recall is None:
            return grid
        if remembered is None:
            raise ValueError("this network recalls its first grid at every step; pass remembered=step.remember(G_0)")
        return self.recall.mix(grid, remembered, size and size.inside)

    def forward(
        self,
        grid: Tensor,
        size: GridSize | None = None,
        dropouts: Sequence[Drop] | None = None,
        projection: Tensor | None = None,
        remembered: Tensor | None = None,
    ) -> Tensor:
        """`projection`, from `prepare`, spares making it at every step; `remembered` is what `remember` returns."""
        grid = self.recalled(grid, remembered, size)
        attended = self.attention(grid, size, projection)
        return self.transition(grid, attended, size and size.inside, dropouts)

    def advance(self, grid: Readers, size: GridSize, dropouts: Sequence[Drop] | None, prepared: Prepared) -> Readers:
        """The same among many steps: `prepared` says what serves."""
        if prepared.transition is None:
            return Readers.of(self(grid.residual, size, dropouts, prepared.projection, prepared.remembered))
        from gridsum.model.kernels.transition import KernelTransition

        if self.recall is not None:
            grid = Readers.of(self.recalled(grid.residual, prepared.remembered, size))
        attended = self.attention(grid.projected, size, prepared.projection)
        drops = cast("Sequence[PackedDropout]", dropouts or ())
        bits, factor = tuple(drop.bits for drop in drops) or None, drops[0].factor if drops else 1.0
        packed, low = prepared.transition
        parts = KernelTransition.apply(grid.residual, attended, packed, low, self.hidden, size.own, bits, factor)
        return Readers(*parts)

    def last(self, grid: Tensor, size: GridSize, dropouts: Sequence[Drop] | None, prepared: Prepared) -> Tensor:
        """The top row [R,B,W,E] after a step whose other rows nobody will read. `dropouts` are those of the top row."""
        near = size.upper(self.attention.kernel // 2 + 1)
        remembered = prepared.remembered
        remembered = None if remembered is None else remembered[:, :, : near.height]
        grid = self.recalled(grid[:, :, : near.height], remembered, near)
        attended = self.attention(grid, near, prepared.projection)
        inside = size.upper(1).inside
        return self.transition(grid[:, :, :1], attended[:, :, :1], inside, dropouts).squeeze(2)

    def prepare(self, origin: Tensor) -> Prepared:
        """For many steps that begin from `origin`, G_0."""
        remembered = self.remember(origin)
        sizes = (self.attention.relative.shape[-1], self.hidden)
        if not triton_serves(self.attention.relative) or not all(is_power_of_two(n) and 16 <= n <= 1024 for n in sizes):
            return Prepared(self.attention.matrix(), None, remembered)
        packed = self.transition.packed()
        reduced = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else packed.dtype
        return Prepared(self.attention.matrix(), (packed, packed.detach().to(reduced)), remembered)

    def observe(self, grid: Tensor, remembered: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The next grid, and the attention that led to it."""
        grid = self.recalled(grid, remembered, None)
        attended, weights = self.attention.observe(grid)
        return self.transition(grid, attended), weights


@dataclass(frozen=True)
class _Dropouts:
    """The dropout of every site of every step of one rollout."""

    streams: list[Stream]
    grid: Cells
    contexts: Cells
    readings: Cells
    probability: float

    def _at(self, step: int, sites: range, cells: Cells) -> list[Dropout]:
        return [Dropout(self.streams[step * _SITES + site], cells, self.probability) for site in sites]

    def step(self, step: int) -> Sequence[Drop]:
        return self._at(step, range(_STEP_SITES), self.grid)

    def context(self, step: int) -> Sequence[Drop]:
        return self._at(step, range(_STEP_SITES, _SITES), self.contexts)

    def last(self, step: int, problems: Tensor) -> Sequence[Drop]:
        """Of the top row of some problems."""
        return self._at(step, range(_STEP_SITES), Cells(self.grid.numbers[problems, :1]))

    def only(self, problems: Tensor) -> "_Dropouts":
        """For some of the problems; the readings stay those of all."""
        grid, contexts = (Cells(cells.numbers[problems]) for cells in (self.grid, self.contexts))
        return replace(self, grid=grid, contexts=contexts)

    def output(self, steps: slice) -> Drop:
        """Of the readings at `steps`, all at once."""
        return Dropout(self.streams[-1], Cells(self.readings.numbers[steps]), self.probability)

    def packed(self, steps: int, config: ModelConfig) -> "_PackedDropouts":
        """The same, decided in one go for the first `steps` steps and the readings around them."""
        from gridsum.model.kernels.dropout import keep_bits

        keys = torch.stack([stream.key for stream in self.streams])
        sites = keys[: (steps + 1) * _SITES].view(steps + 1, _SITES, -1)
        threshold = lane_threshold(self.probability)
        first, hidden = (slice(0, 1), config.width), (slice(1, _STEP_SITES), config.step_hidden)
        inside = _STEP_SITES + 1
        context, inner = (slice(_STEP_SITES, inside), config.width), (slice(inside, _SITES), config.context_hidden)
        grid = [keep_bits(sites[:, at], self.grid.numbers, size, threshold) for at, size in (first, hidden)]
        contexts = [keep_bits(sites[:, at], self.contexts.numbers, size, threshold) for at, size in (context, inner)]
        readings = keep_bits(keys[-1], self.readings.numbers, config.width, threshold)
        return _PackedDropouts(grid, contexts, readings, self.probability)


@dataclass(frozen=True)
class _PackedDropouts:
    """The same as bits: [steps, sites, R, B, ..., F / 8] for sites of equal size, [R, steps, ...] for the readings."""

    grid: list[Tensor]
    contexts: list[Tensor]
    readings: Tensor
    probability: float

    def _at(self, step: int, sites: list[Tensor]) -> list[PackedDropout]:
        return [PackedDropout(bits, self.probability) for site in sites for bits in site[step]]

    def step(self, step: int) -> Sequence[Drop]:
        return self._at(step, self.grid)

    def context(self, step: int) -> Sequence[Drop]:
        return self._at(step, self.contexts)

    def last(self, step: int, problems: Tensor) -> Sequence[Drop]:
        return self._at(step, [bits[:, :, :, problems, :1] for bits in self.grid])

    def only(self, problems: Tensor) -> "_PackedDropouts":
        grid, contexts = ([bits[:, :, :, problems] for bits in sites] for sites in (self.grid, self.contexts))
        return replace(self, grid=grid, contexts=contexts)

    def output(self, steps: slice) -> Drop:
        return PackedDropout(self.readings[:, steps], self.probability)


@dataclass(frozen=True)
class _Course:
    """What the steps of a rollout are taken with."""

    step: Step
    size: GridSize
    drops: _Dropouts | _PackedDropouts | None
    noise: StateNoise | None
    prepared: Prepared

    @property
    def lists(self) -> bool:
        """Whether kernels compute the steps, which can be told which samples to leave out."""
        return self.size.own is not None and self.prepared.transition is not None

    def advance(self, grid: Readers, n: int) -> Readers:
        grid = self.step.advance(grid, self.size, self.drops and self.drops.step(n), self.prepared)
        return grid if self.noise is None else Readers.of(_only(self.size.inside, self.noise(grid.residual, n)))

    def last(self, grid: Readers, n: int, problems: Tensor) -> Tensor:
        """The top row of some problems after a step that is their last: [R,b,W,E]."""
        drops = self.drops and self.drops.last(n, problems)
        row = self.step.last(grid.residual[:, problems], self.size, drops, self.prepared.only(problems))
        if self.noise is None:
            return row
        noisy = self.noise.only((problems, slice(1)))(row[:, :, None], n)
        return _only(self.size.upper(1).inside, noisy).squeeze(2)

    def context_drops(self, n: int) -> Sequence[Drop] | None:
        return self.drops and self.drops.context(n)

    def only(self, problems: Tensor) -> "_Course":
        noise = self.noise and self.noise.only(problems)
        return replace(
            self, drops=self.drops and self.drops.only(problems), noise=noise, prepared=self.prepared.only(problems)
        )


class Network(nn.Module):
    """R networks of one configuration, computed together; run r begins from seeds[r]."""

    def __init__(self, config: ModelConfig, seeds: Sequence[int] = (0,)) -> None:
        super().__init__()
        runs = len(seeds)
        self.config, self.runs = config, runs
        self.embedding = Embedding(runs, config.width)
        self.placement = Placement(runs, config.width, config.placement_hidden, config.harden)
        self.step = Step(runs, config)
        self.output = Linear(runs, config.width, len(ALPHABET))
        self.context = None
        if config.halting == "ponder":
            self.context = ContextTransformer(
                runs,
                config.width,
                config.context_length,
                config.context_heads,
                config.context_hidden,
                config.halting_hidden,
            )
        draw_all(self, seeds)

    def fuse(self) -> None:
        """Compile what lies between the kernels: for a GPU, and for shapes that stay the same."""
        self.step.transition.compile(dynamic=False)
        if self.context is not None:
            self.context.fuse()

    def actions(self, symbols: Tensor) -> Tensor:
        """The action probabilities [R,B,S,3] of symbols [R,B,S]."""
        with _full_precision(symbols.device):  # small errors here would add up over the length of the input
            table = self.placement(self.embedding.weight)  # of each symbol of Σ: placement sees nothing else
        return LookUp.apply(table, symbols)

    def place(self, symbols: Tensor, size: GridSize, hard: bool = False, certain: int = 0) -> Tensor:
        """G_0 [R,B,H,W,E], by expected placement or by the most probable actions.

        `certain` problems, counted from the last, are placed by the latter in any case.
        """
        vectors, actions = LookUp.apply(self.embedding.weight, symbols), self.actions(symbols)
        if certain:
            actions = torch.cat((actions[:, :-certain], most_probable(actions[:, -certain:])), 1)
        put = place_hard if hard else seq2grid
        with _full_precision(symbols.device):
            grid = put(vectors, actions, size.height, size.width)
        return _only(size.inside, grid)

    def read(self, row: Tensor) -> Tensor:
        """The logits of vectors [R,...,E]."""
        return self.output(row)

    def forward(
        self,
        symbols: Tensor,
        size: GridSize,
        dropout: Stream | None = None,
        steps: int | None = None,
        largest: tuple[int, int] | None = None,
        beginning: Beginning | None = None,
    ) -> Rollout:
        """A rollout as training needs it.

        `dropout` is the source of its randomness (none: no dropout, no noise). Under ponder halting the computation
        goes on until every sample is truncated; with `steps` given it takes exactly that many, which spares a GPU the
        question after each, and gives the same rollout if they are enough. Converge halting takes `steps` steps, the
        most of `train_steps` by default, and is read after each; its last reading is the certain one. `largest` is the
        height and width that the cells' numbers for dropout refer to (by default, the grid's own).
        """
        config = self.config
        most = most_steps(config)
        assert steps is None or steps <= most, "training takes no more steps than the configuration says"
        limit = most if steps is None or config.halting == "fixed" else steps
        drops = self._dropouts(dropout, symbols, size, limit, largest)
        noise = self._noise(dropout, symbols, size, largest)
        beginning = beginning or Beginning()
        origin = self.place(symbols, size, certain=beginning.certain)
        prepared = self.step.prepare(origin)
        course = _Course(self.step, size, drops, noise, prepared)
        grid = Readers.of(self._begin(origin, prepared, size, beginning))
        if self.context is not None:
            ponder = self._ponder_until_truncated if steps is None else self._ponder_for
            rows, halting = ponder(self.context, grid, course, limit)
            stacked = torch.stack(halting)
            p, truncation = halting_distribution(stacked, config.epsilon)
            return Rollout(range(len(rows)), self._readings(rows, drops, 0), stacked, p, truncation)

        first = limit if config.halting == "fixed" else 1
        tops = []
        for n in range(limit):
            grid = course.advance(grid, n)
            tops.append(grid.top)
        logits = self._readings(tops[first - 1 :], drops, first)
        certain = logits.new_zeros(len(logits), *symbols.shape[:2])
        certain[-1] = 1
        return Rollout(range(first, limit + 1), logits, None, certain, torch.full_like(symbols[..., 0], limit))

    def _readings(self, rows: list[Tensor], drops: "_Dropouts | _PackedDropouts | None", first: int) -> Tensor:
        """The logits [K,R,B,W,13] of the top rows at the steps from `first` on."""
        top = torch.stack(rows, 1)
        return self.read(drops.output(slice(first, first + len(rows)))(top) if drops else top).transpose(0, 1)

    def _ponder_until_truncated(
        self, reader: ContextTransformer, grid: Readers, course: "_Course", limit: int
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The top rows and λ at every step until all samples are truncated.

        A sample leaves before its last step, the one at which it is truncated: that is known beforehand, its λ does not
        count, and of its grid the top row alone is computed.
        """
        problems = grid.top.shape[1]
        context, present = reader.start(problems), torch.arange(problems, device=grid.top.device)
        rows: list[Tensor] = []
        halting: list[Tensor] = []
        running = torch.ones(grid.top.shape[:2], device=grid.top.device)
        for n in range(limit + 1):
            row, probability = torch.zeros_like(grid.top[:, :1]).expand(-1, problems, -1, -1), torch.ones_like(running)
            if n:
                going = (running[:, present] >= self.config.epsilon).any(0) & (n < limit)
                if int(going.sum()) <= len(present) * _WORTH_LEAVING:
                    row = row.index_copy(1, present[~going], course.last(grid, n - 1, ~going))
                    grid, context, present = grid.only(going), context[:, going], present[going]
                    course = course.only(going)
            if len(present):
                grid = course.advance(grid, n - 1) if n else grid
                context, chance = reader(context, grid.context, course.size, course.context_drops(n))
                row, probability = (_put(*parts, present) for parts in ((row, grid.top), (probability, chance)))
            rows.append(row)
            halting.append(probability)
            if not len(present):
                break
            running = running * (1 - halting[-1].detach())
        return rows, halting

    def _ponder_for(
        self, reader: ContextTransformer, grid: Readers, course: "_Course", steps: int
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The same for exactly `steps` steps, without asking the tensors anything: kernels, where they compute the
        steps, are told, run by run, which samples to leave out."""
        context, packed = reader.start(grid.top.shape[1]), reader.prepare()
        rows, halting = [], []
        running = torch.ones(grid.top.shape[:2], device=grid.top.device)
        for n in range(steps + 1):
            grid = course.advance(grid, n - 1) if n else grid
            context, probability = reader(context, grid.context, course.size, course.context_drops(n), packed)
            rows.append(grid.top)
            halting.append(probability)
            if course.lists and n < steps:
                size, running = _without_truncated(course.size, running, probability.detach(), self.config.epsilon)
                course = replace(course, size=size)
        return rows, halting

    def _dropouts(
        self,
        stream: Stream | None,
        symbols: Tensor,
        size: GridSize,
        steps: int,
        largest: tuple[int, int] | None,
    ) -> _Dropouts | _PackedDropouts | None:
        if stream is None or self.config.dropout == 0:
            return None
        _, width = largest or (size.height, size.width)
        problems, device = symbols.shape[1], symbols.device

        def numbers(*shape: int) -> Tensor:
            return torch.arange(math.prod(shape), device=device).view(shape)

        # One stream more than the most steps need, whatever `steps` is: the readings' masks must not depend on it.
        most = max(self.config.max_steps, self.config.fixed_steps, most_steps(self.config))
        streams = stream.children((most + 1) * _SITES + 1)
        dropouts = _Dropouts(
            streams,
            _numbered(symbols, size, largest),
            Cells(numbers(problems, self.config.context_length)),
            Cells(numbers(steps + 1, problems, width)[..., width - size.width :]),
            self.config.dropout,
        )
        return dropouts.packed(steps, self.config) if self._packs() else dropouts

    def _noise(
        self, stream: Stream | None, symbols: Tensor, size: GridSize, largest: tuple[int, int] | None
    ) -> StateNoise | None:
        if stream is None or self.config.state_noise == 0:
            return None
        return StateNoise(stream.fold(_NOISE), _numbered(symbols, size, largest), self.config.state_noise)

    @torch.no_grad()
    def _begin(self, origin: Tensor, prepared: Prepared, size: GridSize, beginning: Beginning) -> Tensor:
        """The grids that a rollout begins from: G_0, or what restarted problems have come to without dropout or noise.

        That is what solving will meet; noise on the steps that follow leads away from it in training.
        """
        if beginning.taken is None:
            return origin
        restarted = beginning.taken.shape[1]
        grid = origin[:, :restarted].detach()
        prepared = prepared.only(slice(restarted))
        for n in range(beginning.most):
            further = self.step.advance(Readers.of(grid), size, None, prepared).residual
            grid = torch.where((n < beginning.taken)[..., None, None, None], further, grid)
        grid = torch.cat((grid.roll(-1, 1)[:, : beginning.strangers], grid[:, beginning.strangers :]), 1)
        with torch.enable_grad():
            return torch.cat((grid, origin[:, restarted:]), 1)

    def _packs(self) -> bool:
        """Whether dropout can be decided by a kernel: on a GPU, for features that come in bytes."""
        config = self.config
        sizes = (config.width, config.step_hidden, config.context_hidden)
        return triton_serves(self.embedding.weight) and all(size % 8 == 0 for size in sizes)


def most_steps(config: ModelConfig) -> int:
    """The most steps that a rollout takes in training."""
    return {"ponder": config.max_steps, "fixed": config.fixed_steps, "converge": config.train_steps[1]}[config.halting]


def _numbered(symbols: Tensor, size: GridSize, largest: tuple[int, int] | None) -> Cells:
    """The cells of every problem's grid, numbered as on the `largest`."""
    problems, (height, width) = symbols.shape[1], largest or (size.height, size.width)
    numbers = torch.arange(problems * height * width, device=symbols.device).view(problems, height, width)
    return Cells(numbers[:, : size.height, width - size.width :])


def _only(inside: Tensor | None, grid: Tensor) -> Tensor:
    """The grid, zero outside each run's own part.

    Zero vectors have zero keys and values: cells outside look like the border they are. What comes back for them as
    a gradient is never looked at, be it no number.
    """
    return grid if inside is None else torch.where(inside[:, None, :, :, None], grid, 0.0)


def _without_truncated(size: GridSize, running: Tensor, halting: Tensor, epsilon: float) -> tuple[GridSize, Tensor]:
    """The size for the samples whose probability of `running` [R,B] still counts, and that probability a step on."""
    from gridsum.model.kernels.cells import leave

    assert size.own is not None
    own, running = leave(size.own, running, halting, epsilon)
    return replace(size, own=own), running


def _put(whole: Tensor, part: Tensor, problems: Tensor) -> Tensor:
    """`whole` [R,B,...], but `part` for some of the problems."""
    return part if len(problems) == whole.shape[1] else whole.index_copy(1, problems, part)


class LookUp(Function):
    """table [R,13,F] at symbols [R,B,S]: [R,B,S,F]. The gradient is a product, where torch's would scatter."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, symbols: Tensor) -> Tensor:
        ctx.save_for_backward(symbols)
        ctx.size = table.shape[1]
        run = torch.arange(table.shape[0], device=table.device)[:, None, None]
        return table[run, symbols]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (symbols,) = ctx.saved_tensors
        chosen = symbols.flatten(1)[..., None] == torch.arange(ctx.size, device=symbols.device)
        gradient = gradients[0].flatten(1, 2)
        return torch.bmm(chosen.transpose(1, 2).to(gradient.dtype), gradient), None


def _full_precision(device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, enabled=False)


def parameter_count(network: Network) -> int:
    """The parameters of one run."""
    return sum(math.prod(parameter.shape[1:]) for parameter in network.parameters())
