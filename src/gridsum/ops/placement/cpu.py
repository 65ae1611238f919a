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

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from gridsum.ops.placement.plain import NLP, NOP, TLU

# Places of symbols are turned into grid vectors in blocks, so that memory grows with the grid and not with its square.
_BLOCK = 256

Ends = Callable[[Tensor, int, int], Tensor]
"""Actions [R,B,S,3], height, width → end_t of every time, [R,B,S,H,W]."""
Back = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
"""Actions [R,B,T,3], and end [R,B,H,W] and fall [R,B,H] after the last of them → end_t after each, [R,B,T,H,W], and end
and fall before the first."""


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


def place_soft(
    x: Tensor, actions: Tensor, height: int, width: int, ends_of: Ends | None = None, back: Back | None = None
) -> Tensor:
    """The grid [R,B,H,W,E] that vectors x [R,B,S,E] under action probabilities [R,B,S,3] end on; exact.

    Where there are kernels for it, `ends_of` computes all times at once, and `back`, without a gradient, a block of
    them.
    """
    runs, problems, _, features = x.shape
    written = (actions[..., TLU] + actions[..., NLP])[..., None] * x
    grid = written.new_zeros(runs, problems, height * width, features)
    for low, high, ends in _blocks(actions, height, width, ends_of, back or _back):
        grid = grid + torch.matmul(ends.flatten(-2).transpose(-1, -2), written[:, :, low:high])
    return grid.view(runs, problems, height, width, features)


def _blocks(
    actions: Tensor, height: int, width: int, ends_of: Ends | None, back: Back
) -> Iterator[tuple[int, int, Tensor]]:
    """end_t of the times from `low` to `high`, [R,B,high − low,H,W], until all times are covered."""
    length = actions.shape[2]
    if ends_of is not None:
        yield 0, length, ends_of(actions, height, width)
    elif torch.is_grad_enabled() and actions.requires_grad:
        yield 0, length, BackwardEnds.apply(actions, height, width)
    else:
        end, fall = _last(actions, height, width)
        for high in range(length, 0, -_BLOCK):
            low = max(0, high - _BLOCK)
            ends, end, fall = back(actions[:, :, low:high], end, fall)
            yield low, high, ends


def _back(actions: Tensor, end: Tensor, fall: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`Back`, time by time."""
    ends, falls = _run_back(actions, end, fall)
    return ends[1:].permute(1, 2, 0, 3, 4), ends[0], falls[0]


def _last(actions: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """end_S [R,B,H,W] and fall_S [R,B,H]."""
    end = actions.new_zeros(*actions.shape[:2], height, width)
    end[..., 0, -1] = 1
    return end, end[..., -1]


def _run_back(actions: Tensor, end: Tensor, fall: Tensor) -> tuple[Tensor, Tensor]:
    """end_t [S+1,R,B,H,W] and fall_t [S+1,R,B,H] from before the first of `actions` to after the last, given those."""
    length = actions.shape[2]
    tlu, nlp, nop = _by_time(actions)
    stay = 1 - nlp
    falls = fall.new_empty(length + 1, *fall.shape)
    falls[-1] = fall
    later = zip(falls[1:], falls[1:, ..., :-1], falls[:-1], falls[:-1, ..., 1:], stay, nlp, strict=True)
    for now, upper, before, lower, kept, pushed in reversed(list(later)):
        torch.mul(kept, now, out=before)
        lower.addcmul_(pushed, upper)
    pushes = nlp * falls[1:, ..., :-1]
    ends = end.new_empty(length + 1, *end.shape)
    ends[-1] = end
    moves = (ends[1:], ends[1:, ..., 1:], ends[:-1], ends[:-1, ..., :-1], ends[:-1, ..., 1:, -1])
    for now, right, before, left, corner, moved, kept, push in reversed(
        list(zip(*moves, tlu[..., None], nop[..., None], pushes, strict=True))
    ):
        torch.mul(kept, now, out=before)
        left.addcmul_(moved, right)
        corner.add_(push)
    return ends, falls


def _by_time(actions: Tensor) -> tuple[Tensor, ...]:
    """The probabilities of TLU, NLP and NOP, each [S,R,B,1]."""
    return actions.permute(3, 2, 0, 1)[..., None].contiguous().unbind(0)


class BackwardEnds(Function):
    """Actions [R,B,S,3] → end_t of every time, [R,B,S,H,W]; the gradient runs forward in time."""

    @staticmethod
    def forward(ctx: Any, actions: Tensor, height: int, width: int) -> Tensor:
        ends, falls = _run_back(actions, *_last(actions, height, width))
        ctx.save_for_backward(actions, ends, falls)
        return ends[1:].permute(1, 2, 0, 3, 4)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        actions, ends, falls = ctx.saved_tensors
        tlu, nlp, nop = _by_time(actions)
        # by_end[t] and by_fall[t] are the gradients of what action t made, end_{t-1} and fall_{t-1}.
        by_end = torch.empty_like(ends)
        by_end[0] = 0
        moves = (by_end[:-1], by_end[:-1, ..., :-1], by_end[1:], by_end[1:, ..., 1:])
        given = gradients[0].permute(2, 0, 1, 3, 4)
        for before, left, now, right, moved, kept, gradient in zip(
            *moves, tlu[..., None], nop[..., None], given, strict=True
        ):
            torch.addcmul(gradient, kept, before, out=now)
            right.addcmul_(moved, left)
        by_end = by_end[:-1]
        corners = by_end[..., -1]
        by_fall = torch.empty_like(falls)
        by_fall[0] = 0
        by_push = torch.zeros_like(corners)
        torch.mul(nlp, corners[..., 1:], out=by_push[..., :-1])
        later = zip(
            by_fall[:-1], by_fall[:-1, ..., 1:], by_fall[1:], by_fall[1:, ..., :-1], 1 - nlp, nlp, by_push, strict=True
        )
        for before, lower, now, upper, kept, pushed, gradient in later:
            torch.addcmul(gradient, kept, before, out=now)
            upper.addcmul_(pushed, lower)
        by_fall, now, fall = by_fall[:-1], ends[1:], falls[1:]
        by_tlu = (by_end[..., :-1] * now[..., 1:]).sum((-1, -2))
        by_nlp = ((corners + by_fall)[..., 1:] * fall[..., :-1]).sum(-1) - (by_fall * fall).sum(-1)
        by_nop = (by_end * now).sum((-1, -2))
        return torch.stack((by_tlu, by_nlp, by_nop), -1).permute(1, 2, 0, 3), None, None


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
