"""Seq2Grid as the paper has it: each symbol chooses among three actions, and the grid moves (Eq. 3).

TLU writes a symbol's vector at the right end of the top row and moves that row left; NLP pushes all rows down and
begins a new top row with it; NOP leaves the grid as it is.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

TLU, NLP, NOP = 0, 1, 2
ACTIONS = ("TLU", "NLP", "NOP")


def seq2grid(x: Tensor, actions: Tensor, height: int, width: int) -> Tensor:
    """The grid [R,B,H,W,E] that vectors x [R,B,S,E] are written onto under action probabilities [R,B,S,3]."""
    runs, problems, _, features = x.shape
    grid = x.new_zeros(runs, problems, height, width, features)
    for vector, action in zip(x.unbind(2), actions.unbind(2), strict=True):
        tlu, nlp, nop = action[..., None, None, None].unbind(2)
        corner = vector[:, :, None, None]
        top, below = grid[:, :, :1], grid[:, :, 1:]
        moved = torch.cat((torch.cat((top[:, :, :, 1:], corner), 3), below), 2)  # TLU: the top row moves left
        fresh = torch.cat((torch.zeros_like(top[:, :, :, 1:]), corner), 3)
        pushed = torch.cat((fresh, grid[:, :, :-1]), 2)  # NLP: all rows move down
        grid = tlu * moved + nlp * pushed + nop * grid
    return grid


def most_probable(actions: Tensor) -> Tensor:
    """Action probabilities [...,3] with certainty in the most probable."""
    return F.one_hot(actions.argmax(-1), len(ACTIONS)).to(actions.dtype)
