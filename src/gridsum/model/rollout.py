"""The paper's network, and its rollout: symbols are placed, then step follows step."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import torch
from torch import Tensor

from gridsum.config.paper import ConfigError, ModelConfig, TaskConfig
from gridsum.data.problems import extent
from gridsum.data.streams import Stream
from gridsum.model import paper
from gridsum.model.paper import Readout
from gridsum.model.runs import RunsModule, as_written, generators, written
from gridsum.ops.dropout.plain import Dropouts
from gridsum.ops.forms import Form, Kept, computed_in, fastest_form, full_precision
from gridsum.ops.forms import form as current_form
from gridsum.ops.grids import Drop, GridSize, only_inside
from gridsum.ops.placement import look_up, place_symbols
from gridsum.ops.placement.plain import most_probable, seq2grid

_DEFAULT_TASK = TaskConfig()
WORTH_LEAVING = 7 / 8
"""Problems that are done leave a computation once an eighth of it are: leaving costs a copy."""


@dataclass(frozen=True)
class Start:
    """What a rollout starts from, and how far it goes."""

    network: "Network"
    symbols: Tensor  # [R,B,S]
    size: GridSize
    steps: int
    """The most there can be."""
    hard: bool = False
    """Whether symbols are placed by their most probable actions."""
    drops: Dropouts | None = None
    epsilon: float | Tensor | None = None
    """Of all samples or of each [R,B], where they are truncated as in training: after the first n before which a sample
    has halted with a probability above 1 − ε, its top row and λ have no meaning."""
    exactly: bool = False
    """Whether all `steps` are taken, and the tensors are asked nothing on the way, which a CUDA graph needs."""
    form: Form | None = None
    """What computes it; the fastest if nothing is said. A network that someone has changed is computed plainly."""


def form_of(network: "Network") -> Form:
    """What computes a network where it lies: fast forms pass by modules, so none of these may have been changed."""
    return fastest_form(network.embedding.weight) if as_written(network) else "plain"


class Rollout:
    """A rollout under way: the symbols are placed; then come `look(0)`, `take(1)`, `look(1)` and so on.

    Where a CPU computes, samples that are truncated leave. Which step is a sample's last is known before it is taken;
    its output reads the top row alone, so two rows of attention and one of FFN_3 are computed.
    """

    def __init__(self, start: Start, chosen: Form) -> None:
        self.network = start.network
        self.form: Form = chosen
        self.kept: Kept = {}
        self.size, self.steps, self.drops, self.epsilon = start.size, start.steps, start.drops, start.epsilon
        self.problems = start.symbols.shape[1]
        self.truncates = start.epsilon is not None and not start.exactly and self.network.context is not None
        self.present = torch.arange(self.problems, device=start.symbols.device)
        """The problems that are still computed."""
        self.running = torch.ones(start.symbols.shape[:2], device=start.symbols.device)
        """The probability [R,B] that a sample has not halted."""
        self.done = False
        """Whether every sample has been truncated, so that nothing more counts."""
        self.context = None if self.network.context is None else self.network.context.start(self.problems)
        with computed_in(chosen, self.kept):
            self.show(self.network.place(start.symbols, start.size, start.hard))
        self.last_rows = torch.zeros_like(self.top)
        """The top rows of those who have left, after their last step."""

    def show(self, grid: Tensor) -> None:
        """Go on with a grid: G_n [R,b,H,W,E], of the problems that are still computed."""
        self.grid, self.top = grid, grid[:, :, 0]

    def look(self, n: int) -> tuple[Tensor, Tensor | None]:
        """The top row of G_n [R,B,W,E], and λ_n [R,B]; None where the network does not decide when to halt."""
        if self.network.context is None:
            return self.top, None
        top, halting = self.last_rows, torch.ones_like(self.running)
        if len(self.present) == self.problems:
            top, halting = self.top, self.decide(n)
        elif len(self.present):
            decided = self.decide(n)
            top = top.index_copy(1, self.present, self.top)
            halting = halting.to(decided).index_copy(1, self.present, decided)
        if self.truncates:
            assert self.epsilon is not None
            self.done = not bool((self.running >= self.epsilon).any())  # what is not a number has ended, too
            self.running = self.running * (1 - halting.detach())
        return top, halting

    def take(self, n: int) -> None:
        """G_{n-1} → G_n."""
        with computed_in(self.form, self.kept):
            if self.truncates and self.form == "cpu":
                assert self.epsilon is not None
                self.let_go(n, (self.running < self.epsilon)[:, self.present].all(0) | (n == self.steps))
            if len(self.present):
                self.show(self.network.step(self.grid, self.size, self.drops and self.drops.step(n)))

    def let_go(self, n: int, last: Tensor) -> None:
        """Problems of which step n is the last, bool [b], leave with their top rows, once they are many enough."""
        if int(last.sum()) < len(self.present) * (1 - WORTH_LEAVING):
            return
        step, drops = self.network.step, self.drops and self.drops.of_problems(last, 1)
        grid = self.grid[:, last][:, :, : step.attention.kernel // 2 + 1]
        attended = step.attention(grid)[:, :, :1]
        size = replace(self.size, height=1)
        rows = step.transition(grid[:, :, :1], attended, size, drops.step(n) if drops else None).squeeze(2)
        self.last_rows = torch.zeros_like(self.last_rows).index_copy(1, self.present[last], rows)
        self.select(~last)

    def select(self, problems: Tensor) -> None:
        """Go on with some of the problems alone: bool [b]."""
        self.present = self.present[problems]
        self.drops = self.drops and self.drops.of_problems(problems)
        self.context = None if self.context is None else self.context[:, problems]
        self.show(self.grid[:, problems])

    def decide(self, n: int) -> Tensor:
        """λ_n [R,b]."""
        assert self.network.context is not None
        drops = self.drops and self.drops.context(n)
        with computed_in(self.form, self.kept):
            self.context, halting = self.network.context(self.context, self.grid, self.size, drops)
        return halting


class Moment(NamedTuple):
    """A computation after n steps."""

    n: int
    grid: Tensor
    """G_n [R,B,H,W,E], of the problems that are still computed."""
    top: Tensor
    """The top row [R,B,W,E], in which the answer is read."""
    halting: Tensor | None
    """λ_n [R,B]; None where the network does not decide when to halt."""


def unroll(start: Start, going: Callable[[], Tensor] | None = None) -> Iterator[Moment]:
    """The moments n = 0 … `steps` of a rollout, one after the other; it ends when all samples are truncated, unless
    `exactly` so many are to be taken. Which problems are `going` on, bool [B], is asked before each step; what others
    put out has no meaning."""
    chosen = start.form or form_of(start.network)
    if chosen == "triton":
        from gridsum.model.kernel_rollout import KernelRollout

        rollout = KernelRollout(start)
    else:
        rollout = Rollout(start, chosen)
    for n in range(start.steps + 1):
        if n:
            left = None if going is None else going()[rollout.present]
            if left is not None and int(left.sum()) <= len(left) * WORTH_LEAVING:
                rollout.select(left)
            rollout.take(n)
        top, halting = rollout.look(n)
        yield Moment(n, rollout.grid, top, halting)
        if rollout.done:
            return


@written
class Network(RunsModule):
    """R networks of one configuration, computed together: `network(symbols)` reads every step, with gradients."""

    def __init__(self, config: ModelConfig, seeds: Sequence[int] = (0,), task: TaskConfig = _DEFAULT_TASK) -> None:
        super().__init__()
        self.config, self.task = config, task
        runs, symbols = generators(seeds), len(task.task.alphabet)
        self.embedding = paper.Embedding(runs, config.width, symbols)
        self.placement = paper.Placement(runs, config.width, config.placement_hidden)
        if config.step not in paper.STEPS:
            raise ConfigError(
                f"unknown step {config.step!r} here, only {', '.join(paper.STEPS)}; give its class a name first, "
                f"with gridsum.model.paper.register_step({config.step!r}, its class)"
            )
        self.step = cast("paper.Step", paper.STEPS[config.step](runs, config))
        self.output = paper.Linear(runs, config.width, symbols)
        self.context = paper.ContextTransformer(runs, config) if config.halting == "ponder" else None
        self.built = [type(part) for part in self.modules()]

    def forward(
        self,
        symbols: Tensor,
        size: GridSize | tuple[int, int] | None = None,
        dropout: Stream | None = None,
        steps: int | None = None,
        epsilon: Tensor | None = None,
        form: Form | None = None,
    ) -> Readout:
        """Symbols [B,S], or [R,B,S] where each run has its own, to the logits and λ of every step.

        They are placed (Eq. 3) on grids of a `size`, by default the one that solving takes. Step follows step (Eq. 5),
        until every sample has halted with a probability of 1 − ε (Eq. 10); fixed halting is read at its last alone.

        With `steps` it takes exactly so many, which spares a GPU the question after each, and gives the same readout if
        they are enough. `epsilon` [R,B] truncates each sample at a threshold of its own, not below the configuration's.
        """
        config, chosen = self.config, form or form_of(self)
        if not isinstance(size, GridSize):
            size = GridSize(*(size or self.task.solving_grid(*extent(symbols, self.task.task))))
        symbols = symbols.expand(self.runs, *symbols.shape[-2:])
        fixed = config.halting == "fixed"
        most = config.fixed_steps if fixed else config.max_steps
        assert steps is None or steps <= most, "training takes no more steps than the configuration says"
        limit = most if steps is None or fixed else steps
        drops = dropout and Dropouts.of(dropout, config, symbols.shape[1], size, limit)
        threshold = config.epsilon if epsilon is None else epsilon
        first = limit if fixed else 0
        start = Start(self, symbols, size, limit, False, drops, threshold, steps is not None, chosen)
        moments = [moment for moment in unroll(start) if moment.n >= first]
        tops = torch.stack([moment.top for moment in moments], 1)
        with computed_in(chosen):
            logits = self.read(tops, drops and drops.output(first, len(moments))).transpose(0, 1)
        if fixed:
            certain = logits.new_ones(1, *symbols.shape[:2])
            return Readout(range(limit, limit + 1), logits, None, certain, torch.full_like(symbols[..., 0], limit))
        halting = torch.stack([moment.halting for moment in moments if moment.halting is not None])
        p, truncation = paper.halting_distribution(halting, threshold)
        return Readout(range(len(moments)), logits, halting, p, truncation)

    def actions(self, symbols: Tensor) -> Tensor:
        """The action probabilities [R,B,S,3] of symbols [R,B,S]."""
        with full_precision(symbols):  # small errors here would add up over the length of the input
            if current_form() == "plain":
                return self.placement(self.embedding(symbols))
            return look_up(self.placement(self.embedding.weight), symbols)  # they hang on the symbol alone

    def place(self, symbols: Tensor, size: GridSize, hard: bool = False) -> Tensor:
        """G_0 [R,B,H,W,E], by expected placement or by the most probable actions (Eq. 3)."""
        actions = self.actions(symbols)
        with full_precision(symbols):
            if current_form() == "plain":
                actions = most_probable(actions) if hard else actions
                grid = seq2grid(self.embedding(symbols), actions, size.height, size.width)
            else:
                grid = place_symbols(self.embedding.weight, symbols, actions, size.height, size.width, hard)
        return only_inside(size, grid)

    def read(self, vectors: Tensor, drop: Drop | None = None) -> Tensor:
        """The logits of vectors [R,...,E]; the answer is read in the top row."""
        return self.output(drop(vectors) if drop else vectors)
