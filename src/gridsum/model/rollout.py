"""A rollout: symbols are placed, then step follows step. And what is made of it: readouts to train on, and traces."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gridsum.config.paper import ModelConfig
from gridsum.data.streams import Stream
from gridsum.model.paper import LocalAttention, Network, halting_distribution, survival
from gridsum.model.runs import as_written
from gridsum.ops.dropout import AnyDropouts, dropouts
from gridsum.ops.forms import Form, Kept, computed_in, fastest_form
from gridsum.ops.grids import GridSize
from gridsum.tasks import find

WORTH_LEAVING = 7 / 8
"""Problems that are done leave a computation once an eighth of it are: leaving costs a copy."""


@dataclass(frozen=True)
class Start:
    """What a rollout starts from, and how far it goes."""

    network: Network
    symbols: Tensor
    """[R,B,S]."""
    size: GridSize
    steps: int
    """The most there can be."""
    hard: bool = False
    """Whether symbols are placed by their most probable actions."""
    drops: AnyDropouts | None = None
    epsilon: float | Tensor | None = None
    """Of all samples or of each [R,B], where they are truncated as in training: after the first n before which a sample
    has halted with a probability above 1 − ε, its top row and λ have no meaning."""
    exactly: bool = False
    """Whether all `steps` are taken, and the tensors are asked nothing on the way, which a CUDA graph needs."""
    form: Form | None = None
    """What computes it; the fastest if nothing is said. A network that someone has changed is computed plainly."""


def form_of(network: Network) -> Form:
    """What computes a network where it lies: fast forms pass by modules, so none of these may have been changed."""
    return fastest_form(network.embedding.weight) if as_written(network) else "plain"


class Rollout:
    """A rollout under way: the symbols are placed; then come `look(0)`, `advance(1)`, `look(1)` and so on.

    Samples that are truncated leave, where a fast form computes. Which step is a sample's last is known before it is
    taken, and of that step the output reads the top row alone: so two rows of attention and one of FFN_3 are computed.
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
        self.last_rows: Tensor | None = None
        self.context = None if self.network.context is None else self.network.context.start(self.problems)
        with computed_in(chosen, self.kept):
            self.show(self.network.place(start.symbols, start.size, start.hard))

    def show(self, grid: Tensor) -> None:
        """Go on with a grid: G_n [R,b,H,W,E], of the problems that are still computed."""
        self.grid, self.top = grid, grid[:, :, 0]

    def look(self, n: int) -> tuple[Tensor, Tensor | None]:
        """The top row of G_n [R,B,W,E], and λ_n [R,B]; None where the network does not decide when to halt."""
        if self.network.context is None:
            return self.top, None
        if not self.truncates:
            return self.top, self.decide(n)
        assert self.epsilon is not None
        rows = self.nothing() if self.last_rows is None else self.last_rows
        halting = torch.ones_like(self.running)
        if len(self.present):
            chance = self.decide(n)
            rows, halting = (_put(*part, self.present) for part in ((rows, self.top), (halting, chance)))
        self.done = bool((self.running < self.epsilon).all())
        self.running = self.running * (1 - halting.detach())
        return rows, halting

    def advance(self, n: int) -> None:
        """G_{n-1} → G_n."""
        self.last_rows = None
        if self.truncates and self.form != "plain":
            self.let_go(n)
        if len(self.present):
            self.take(n)

    def select(self, problems: Tensor) -> None:
        """Go on with some of the problems alone: bool [b]."""
        self.drops = self.drops and self.drops.of_problems(problems)
        self.context = None if self.context is None else self.context[:, problems]
        self.show(self.grid[:, problems])

    def decide(self, n: int) -> Tensor:
        """λ_n [R,b]."""
        assert self.network.context is not None
        with computed_in(self.form, self.kept):
            self.context, halting = self.network.context(
                self.context, self.grid, self.size, self.drops and self.drops.context(n)
            )
        return halting

    def take(self, n: int) -> None:
        with computed_in(self.form, self.kept):
            self.show(self.network.step(self.grid, self.size, self.drops and self.drops.step(n)))

    def let_go(self, n: int) -> None:
        """The samples whose last step is step n leave, once they are many enough, with their top rows."""
        assert self.epsilon is not None
        going = (self.running >= self.epsilon)[:, self.present].any(0) & (n < self.steps)
        if int(going.sum()) > len(self.present) * WORTH_LEAVING:
            return
        self.last_rows = self.nothing().index_copy(1, self.present[~going], self.last_row(n, ~going))
        self.present = self.present[going]
        self.select(going)

    def last_row(self, n: int, problems: Tensor) -> Tensor:
        """The top row [R,b,W,E] of some problems after a step whose other rows nobody will read."""
        step = self.network.step
        grid = self.grid[:, problems][:, :, : step.attention.kernel // 2 + 1]
        drops = self.drops and self.drops.top_row(n, problems)
        with computed_in(self.form, self.kept):
            attended = step.attention(grid)[:, :, :1]
            return step.transition(grid[:, :, :1], attended, self.size.upper(1), drops).squeeze(2)

    def nothing(self) -> Tensor:
        """Top rows of all problems, before any is written."""
        return self.top.new_zeros(()).expand(len(self.running), self.problems, *self.top.shape[2:])


def _put(whole: Tensor, part: Tensor, problems: Tensor) -> Tensor:
    """`whole` [R,B,...], but `part` for some of the problems."""
    return part if len(problems) == whole.shape[1] else whole.index_copy(1, problems, part)


def begin(start: Start) -> Rollout:
    """The symbols on their grids, before the first step."""
    chosen = start.form or form_of(start.network)
    if chosen == "triton":
        from gridsum.model.kernel_rollout import KernelRollout

        return KernelRollout(start)
    return Rollout(start, chosen)


class Moment(NamedTuple):
    """A computation after n steps."""

    n: int
    grid: Tensor
    """G_n [R,B,H,W,E]; in a truncated rollout, of the problems that are still computed."""
    top: Tensor
    """The top row [R,B,W,E], in which the answer is read."""
    halting: Tensor | None
    """λ_n [R,B]; None where the network does not decide when to halt."""


Going = Callable[[], Tensor | None]
"""Is asked before each step which of the problems that are still computed go on, bool [b]; None: all of them."""
Change = Callable[[int, Tensor], Tensor]
"""From n and G_n [R,B,H,W,E] to the grid to go on with: how the state of a cell is patched."""


def unroll(start: Start, change: Change | None = None, going: Going | None = None) -> Iterator[Moment]:
    """The moments n = 0 … `steps` of a rollout, one after the other. Whoever has seen enough stops asking for more.

    Where samples are truncated, it ends when all of them are, unless `exactly` so many steps are to be taken. `change`
    makes another grid of each one to go on with. With `going`, moments are of the problems that go on.
    """
    rollout = begin(start)
    for n in range(start.steps + 1):
        if n:
            if going is not None and (problems := going()) is not None:
                rollout.select(problems)
            rollout.advance(n)
        if change is not None:
            rollout.show(change(n, rollout.grid))
        top, halting = rollout.look(n)
        yield Moment(n, rollout.grid, top, halting)
        if rollout.done:
            return


@dataclass(frozen=True)
class Readout:
    """A rollout, read at K of its steps.

    Shapes: R runs, B problems, W columns, 13 symbols.
    """

    steps: range
    """The n of each reading."""
    logits: Tensor
    """[K,R,B,W,13], the top row; without meaning past a sample's truncation."""
    halting: Tensor | None
    """λ_n, [K,R,B]; without meaning from a sample's truncation on. None where the network does not decide when to
    halt."""
    probability: Tensor
    """p_n, [K,R,B]: sums to 1 over the readings."""
    truncation: Tensor
    """N, [R,B]: the last step with p_n > 0."""


def most_steps(config: ModelConfig) -> int:
    """The most steps that a rollout takes in training."""
    return config.fixed_steps if config.halting == "fixed" else config.max_steps


def roll_out(
    network: Network,
    symbols: Tensor,
    size: GridSize,
    dropout: Stream | None = None,
    steps: int | None = None,
    largest: tuple[int, int] | None = None,
    epsilon: Tensor | None = None,
    form: Form | None = None,
) -> Readout:
    """A rollout as training needs it.

    `dropout` is the source of its randomness (none: no dropout). Under ponder halting the computation goes on until
    every sample is truncated; with `steps` given it takes exactly that many, which spares a GPU the question after
    each, and gives the same readout if they are enough. `largest` is the height and width that the cells' numbers for
    dropout refer to (by default, the grid's own). `epsilon` [R,B] truncates each sample at a threshold of its own,
    which is not below the configuration's. `form` is what computes it (see `Start`).
    """
    config, chosen = network.config, form or form_of(network)
    most, problems = most_steps(config), symbols.shape[1]
    assert steps is None or steps <= most, "training takes no more steps than the configuration says"
    limit = most if steps is None or config.halting == "fixed" else steps
    largest = largest or (size.height, size.width)
    drops = dropout and dropouts(dropout, config, problems, size, largest, limit, chosen)
    threshold = config.epsilon if epsilon is None else epsilon
    first = limit if config.halting == "fixed" else 0
    tops, lambdas = [], []
    for moment in unroll(Start(network, symbols, size, limit, False, drops, threshold, steps is not None, chosen)):
        if moment.n >= first:
            tops.append(moment.top)
            lambdas.append(moment.halting)
    with computed_in(chosen):
        logits = network.read(torch.stack(tops, 1), drops and drops.output(first, len(tops))).transpose(0, 1)
    if config.halting == "fixed":
        certain = logits.new_ones(1, *symbols.shape[:2])
        return Readout(range(limit, limit + 1), logits, None, certain, torch.full_like(symbols[..., 0], limit))
    halting = torch.stack(lambdas)
    p, truncation = halting_distribution(halting, threshold)
    return Readout(range(len(tops)), logits, halting, p, truncation)


def read_out(
    network: Network,
    symbols: Tensor,
    size: GridSize | tuple[int, int],
    dropout: Stream | None = None,
    largest: tuple[int, int] | None = None,
) -> Readout:
    """Symbols [R,B,S], or [B,S] for all runs alike, to the logits and halting probabilities of every step.

    All of it carries gradients. `dropout` and `largest` are those of `roll_out`.
    """
    size = size if isinstance(size, GridSize) else GridSize(*size)
    return roll_out(network, symbols.expand(network.runs, *symbols.shape[-2:]), size, dropout, None, largest)


@dataclass(frozen=True)
class Trace:
    """Every internal of one problem solved by one run; n counts steps, 0 is the grid before any.

    Shapes: S symbols, H rows, W columns, E features, h heads, k² neighbours.
    """

    symbols: Tensor
    """[S], the input."""
    actions: Tensor
    """[S,3], the probabilities of TLU, NLP and NOP."""
    grids: Tensor
    """[N+1,H,W,E]."""
    decoded: Tensor
    """[N+1,H,W,13], the probabilities of the symbols that the output layer reads in every cell."""
    attention: Tensor
    """[N,k²,H,W,h], the weights of the step from n to n+1; empty where nobody asked, or where a step has no
    such attention."""
    halting: Tensor | None
    """[N+1], λ_n."""
    probability: Tensor | None
    """[N+1], p_n without truncation before the last step."""
    alphabet: tuple[str, ...] = find().alphabet.symbols
    """What the numbers of symbols stand for."""


@torch.no_grad()
def trace(
    network: Network, symbols: Tensor, size: GridSize, steps: int, hard: bool = False, change: Change | None = None
) -> Trace:
    """Solve one problem (symbols [S]) with a network of one run, keeping everything."""
    if network.runs != 1:
        raise ValueError("a trace is of one run; choose one of them")
    start = Start(network, symbols[None, None], size, steps, hard)
    return trace_of(network, symbols, list(unroll(start, change)))


@torch.no_grad()
def trace_of(network: Network, symbols: Tensor, moments: list[Moment], attention: bool = True) -> Trace:
    """The trace of one problem from the moments of its computation."""
    grids = torch.cat([moment.grid for moment in moments], 1)  # its moments, as problems of one run
    part = getattr(network.step, "attention", None)
    weights = grids.new_zeros(0)
    if attention and isinstance(part, LocalAttention):
        weights = part.weights(grids[:, :-1])[:, 0].transpose(0, 1)
    known = [moment.halting for moment in moments if moment.halting is not None]
    lambdas = torch.cat(known, 1)[0] if known else None
    return Trace(
        symbols,
        network.actions(symbols[None, None])[0, 0],
        grids[0],
        network.read(grids)[0].softmax(-1),
        weights,
        lambdas,
        None if lambdas is None else lambdas * survival(lambdas),
    )
