"""Seq2Grid, mirrored: the input sequence is written onto a grid (Eq. 2 and 3).

Each symbol chooses among three actions: TLU writes its vector at the right end of the top row and moves that row
left; NLP pushes all rows down and begins a new top row with it; NOP leaves the grid as it is.

The paper's recurrence moves whole grids of vectors. Here time runs backwards and only probabilities move: a vector
written at time t stands at the right end of the top row, and what becomes of it depends on the later actions alone.
In the top row it moves left on TLU; the first NLP pushes it to the second row, and from there on it only moves down,
on each NLP. So with

    fall_t(i)   = the probability that exactly i NLPs follow time t,
    end_t(i, j) = the probability that the vector written at t ends i rows below the top, j columns from the right,

one step back in time is

    end_{t-1} = TLU_t · (end_t moved left) + NLP_t · (fall_t in the rightmost column, one row down) + NOP_t · end_t

wherever it starts from: end_S is certain to stay where it is.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gridsum.model.layers import FeedForward, triton_serves

TLU, NLP, NOP = 0, 1, 2
ACTIONS = ("TLU", "NLP", "NOP")
# Places of symbols are turned into grid vectors in blocks, so that memory grows with the grid and not with its square.
_BLOCK = 256
# A kernel holds a sample's whole grid in registers, which is for grids of training size.
_KERNEL_CELLS = 512


class Placement(nn.Module):
    """The encoder map of Eq. 2: symbol vectors → action probabilities."""

    def __init__(self, runs: int, width: int, hidden: int) -> None:
        super().__init__()
        self.encoder = FeedForward(runs, (width, hidden, len(ACTIONS)))

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x).softmax(-1)


def seq2grid(x: Tensor, actions: Tensor, height: int, width: int) -> Tensor:
    """The grid [R,B,H,W,E] that vectors x [R,B,S,E] under action probabilities [R,B,S,3] end on; exact.

    The actions come in the order TLU, NLP, NOP.
    """
    runs, problems, _, features = x.shape
    written = (actions[..., TLU] + actions[..., NLP])[..., None] * x
    grid = written.new_zeros(runs, problems, height * width, features)
    for low, high, ends in _blocks(actions, height, width):
        grid = grid + torch.matmul(ends.flatten(-2).transpose(-1, -2), written[:, :, low:high])
    return grid.view(runs, problems, height, width, features)


def _blocks(actions: Tensor, height: int, width: int) -> Iterator[tuple[int, int, Tensor]]:
    """end_t of the times from `low` to `high`, [R,B,high − low,H,W], until all times are covered."""
    length = actions.shape[2]
    if triton_serves(actions) and height * width <= _KERNEL_CELLS:
        from gridsum.model.kernels.placement import KernelEnds

        yield 0, length, KernelEnds.apply(actions, height, width)
        return
    backwards = ends_backwards(actions, height, width)
    for high in range(length, 0, -_BLOCK):
        low = max(0, high - _BLOCK)
        yield low, high, torch.stack([next(backwards) for _ in range(low, high)][::-1], 2)


def ends_backwards(actions: Tensor, height: int, width: int) -> Iterator[Tensor]:
    """end_t [R,B,H,W] of every time t, from the last to the first."""
    runs, problems, length, _ = actions.shape
    end = actions.new_zeros(runs, problems, height, width)
    end[..., 0, -1] = 1
    fall = actions.new_zeros(runs, problems, height)
    fall[..., 0] = 1
    for time in reversed(range(length)):
        yield end
        tlu, nlp, nop = actions[..., time, :, None].unbind(-2)
        moved = tlu[..., None] * F.pad(end[..., 1:], (0, 1)) + nop[..., None] * end
        lower = F.pad(nlp * fall[..., :-1], (1, 0))
        end = torch.cat((moved[..., :-1], moved[..., -1:] + lower[..., None]), -1)
        fall = (1 - nlp) * fall + lower


def place_hard(x: Tensor, actions: Tensor, height: int, width: int) -> Tensor:
    """The grid of seq2grid when every action is its most probable one; time and memory linear in S."""
    runs, problems, length, features = x.shape
    action = actions.argmax(-1)
    later = action.new_zeros(runs, problems, 1)

    def following(chosen: int) -> Tensor:
        """How often `chosen` comes strictly after each time."""
        counts = (action == chosen).long()
        return torch.cat((counts.flip(-1).cumsum(-1).flip(-1)[..., 1:], later), -1)

    row, moves = following(NLP), following(TLU)
    # A vector moves left only while in the top row: on the TLUs before the next NLP.
    time = torch.arange(length, device=x.device)
    pushed_at = torch.where(action == NLP, time, length)
    next_push = pushed_at.flip(-1).cummin(-1).values.flip(-1)
    next_push = torch.cat((next_push[..., 1:], later + length), -1)
    beyond = torch.cat((moves, later, later), -1).gather(-1, next_push)
    column = width - 1 - torch.where(next_push < length, moves - beyond, moves)
    kept = (action != NOP) & (row < height) & (column >= 0)

    outside = height * width
    cell = torch.where(kept, row * width + column, outside)
    grid = x.new_zeros(runs, problems, outside + 1, features)
    grid = grid.scatter(-2, cell[..., None].expand(x.shape), x)
    return grid[..., :outside, :].reshape(runs, problems, height, width, features)
