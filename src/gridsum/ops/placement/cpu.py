"""Seq2Grid (Eq. 3) backwards in time.

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

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from gridsum.ops.placement.plain import NLP, NOP, TLU

# Places of symbols are turned into grid vectors in blocks, so that memory grows with the grid and not with its square.
_BLOCK = 256


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


def place_soft(x: Tensor, actions: Tensor, height: int, width: int) -> Tensor:
    """The grid [R,B,H,W,E] that vectors x [R,B,S,E] under action probabilities [R,B,S,3] end on; exact."""
    runs, problems, length, features = x.shape
    grid, state = x.new_zeros(runs, problems, height, width, features), last_state(actions, height, width)
    for high in range(length, 0, -_BLOCK):
        some = slice(max(0, high - _BLOCK), high)
        ends, state = run_back(actions[:, :, some], state)
        grid = grid + gathered(ends, x[:, :, some], actions[:, :, some])
    return grid


def gathered(ends: Tensor, x: Tensor, actions: Tensor) -> Tensor:
    """What was written at some times, summed where it ends [R,B,S,H,W]."""
    written = (actions[..., TLU] + actions[..., NLP])[..., None] * x
    return torch.matmul(ends.flatten(-2).transpose(-1, -2), written).unflatten(-2, ends.shape[-2:])


def last_state(actions: Tensor, height: int, width: int) -> Tensor:
    """end_S and, as one column more, fall_S: [R,B,H,W+1]."""
    state = actions.new_zeros(*actions.shape[:2], height, width + 1)
    state[..., 0, -2:] = 1
    return state


def run_back(actions: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """end_t after each of some actions [R,B,T,3], [R,B,T,H,W], and the state before the first; `state` is the last."""
    tlu, nlp, nop = actions.permute(3, 2, 0, 1)[..., None, None].unbind(0)
    stay = torch.cat((nop.expand(*nop.shape[:-1], state.shape[-1] - 1), 1 - nlp), -1)
    if actions.requires_grad:
        states = [state]
        for moved, pushed, kept in reversed(list(zip(tlu, nlp, stay, strict=True))):
            state = kept * states[-1]
            state[..., :-2].addcmul_(moved, states[-1][..., 1:-1])
            state[:, :, 1:, -2:].addcmul_(pushed, states[-1][:, :, :-1, -1:])
            states.append(state)
        return torch.stack(states[-2::-1], 2)[..., :-1], states[-1]
    # The same in one tensor, cut for all times at once: a long problem has thousands of them.
    times = state.repeat(len(tlu) + 1, 1, 1, 1, 1)
    early, late = times[:-1], times[1:]
    cuts = (early, late, early[..., :-2], late[..., 1:-1], early[..., 1:, -2:], late[..., :-1, -1:], tlu, nlp, stay)
    for new, old, left, right, lower, upper, moved, pushed, kept in reversed(list(zip(*cuts, strict=True))):
        torch.mul(kept, old, out=new)
        left.addcmul_(moved, right)
        lower.addcmul_(pushed, upper)
    return late[..., :-1].permute(1, 2, 0, 3, 4), times[0]


def place_hard(x: Tensor, actions: Tensor, height: int, width: int) -> Tensor:
    """The same when every action is its most probable one; time and memory linear in S."""
    runs, problems, length, features = x.shape
    action = actions.argmax(-1)
    later = action.new_zeros(runs, problems, 1)

    def following(chosen: int) -> Tensor:
        """How often `chosen` comes strictly after each time."""
        counts = (action == chosen).long()
        return torch.cat((counts.flip(-1).cumsum(-1).flip(-1)[..., 1:], later), -1)

    row, moves = following(NLP), following(TLU)
    # A vector moves left only while in the top row: on the TLUs before the next NLP, which leaves one row fewer below.
    pushes = torch.where(action == NLP, row + 1, length + 1)
    beyond = moves.new_zeros(runs, problems, length + 2).scatter(-1, pushes, moves).gather(-1, row)
    column = width - 1 - (moves - beyond)
    kept = (action != NOP) & (row < height) & (column >= 0)

    outside = height * width
    cell = torch.where(kept, row * width + column, outside)
    grid = x.new_zeros(runs, problems, outside + 1, features)
    grid = grid.scatter(-2, cell[..., None].expand(x.shape), x)
    return grid[..., :outside, :].reshape(runs, problems, height, width, features)
