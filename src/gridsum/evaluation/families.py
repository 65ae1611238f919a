"""Families of sums of two terms that random digits hardly ever make: carries through many columns, or none.

A family changes problems that are drawn of a space, which says how many digits there are: `nines+1:2x[1,100]`.
"""

from functools import partial

import torch
from torch import Tensor

from gridsum.data.problems import Change, Drawn
from gridsum.data.streams import Stream

# What a family's random numbers are for, beside those of the problems that it changes.
_ORDER, _SECOND = 4, 5
TERMS = 2
_BROKEN = 0.2
"""The share of columns that break a carry; half of them make a new one."""
CHAINS = range(1, 11)
"""How many columns a carry crosses, in the families that fix it."""
# So many times any length that the remainder is as good as uniform.
_MANY = 1 << 40


def _nines_and(other: int, drawn: Drawn, stream: Stream, base: int) -> Drawn:
    """9…9 + 1, in either order: one carry through all columns; or 9…9 + 0: not a single carry."""
    lengths, digits = drawn
    order = stream.fold(_ORDER).integers(0, 1, digits.shape[1])
    nines = torch.arange(TERMS, device=order.device) == order[..., None]
    written = torch.where(nines[..., None], base - 1, other).expand_as(digits)
    return torch.where(nines, lengths[..., :1], 1), written


def _broken(drawn: Drawn, stream: Stream, base: int) -> Drawn:
    """Columns that add up to 9 and hand a carry on, broken at random places, about every fifth column."""
    chance = stream.fold(_SECOND).uniform(drawn[1].shape[1], drawn[1].shape[-1])
    return _of_columns(drawn, chance < _BROKEN / 2, chance >= _BROKEN, base)


def _chain(length: int, drawn: Drawn, stream: Stream, base: int) -> Drawn:
    """One carry through so many columns, or all there are; no other carry is handed on."""
    lengths, digits = drawn
    problems, columns = digits.shape[1], digits.shape[-1]
    room = (lengths[..., 0] - length).clamp(min=0) + 1
    start = (stream.fold(_ORDER).integers(0, _MANY, problems) % room)[..., None]
    place = torch.arange(columns, device=start.device)
    makes = (place == start) | (stream.fold(_SECOND).integers(0, 1, problems, columns) == 1)
    return _of_columns(drawn, makes, (place > start) & (place < start + length), base)


def _of_columns(drawn: Drawn, makes: Tensor, hands_on: Tensor, base: int) -> Drawn:
    """Two terms of one length. Of their columns, some make a carry (they add up to 10 or more), some hand one on (9,
    whatever `makes` says), and all others end it (8 or less)."""
    lengths, digits = drawn
    first = digits[..., 0, :]
    makes = makes & ~hands_on
    first = torch.where(makes, first.clamp(min=1), torch.where(hands_on, first, first.clamp(max=base - 2)))
    least = torch.where(makes, base - first, torch.where(hands_on, base - 1 - first, 0))
    choices = torch.where(makes, first, torch.where(hands_on, 1, base - 1 - first))
    second = least + digits[..., 1, :] % choices
    return lengths[..., :1].expand_as(lengths), torch.stack((first, second), -2)


FAMILIES: dict[str, Change] = {
    "nines+1": partial(_nines_and, 1),
    "0+nines": partial(_nines_and, 0),
    "broken": _broken,
    **{f"carry-{columns}": partial(_chain, columns) for columns in CHAINS},
}
"""What each makes of problems of the space."""
