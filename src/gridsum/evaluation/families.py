"""Families of problems that random digits hardly ever make: the longest carries, the emptiest sums.

A family is drawn within a problem space, which says how many terms and digits there are: `nines+1:2x[1,100]`. Digits
are numbered from the units, as `gridsum.data.problems.lay_out` takes them.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from gridsum.data.problems import Batch, Space, lay_out
from gridsum.data.streams import Stream
from gridsum.tasks import Task, find

# What a family's random numbers are for.
_TERMS, _LENGTHS, _DIGITS, _ORDER, _SECOND = 1, 2, 3, 4, 5
_SIBLINGS = 4
"""How many problems in a row are the same terms in orders of their own."""
_BROKEN = 0.2
"""The share of columns that break a carry; half of them make a new one."""
CHAINS = range(1, 11)
"""How many columns a carry crosses, in the families that fix it."""
# So many times any length that the remainder is as good as uniform.
_MANY = 1 << 40
_DEFAULT = find()


class Drawn(NamedTuple):
    """What `lay_out` makes a batch of."""

    terms: Tensor
    lengths: Tensor
    digits: Tensor


class Family(NamedTuple):
    change: Callable[[Drawn, Stream, int], Drawn]
    """What it makes of problems of the space; by the stream and the base."""
    terms: int | None = None
    """The only number of terms that it makes sense for, if there is one."""


def draw(name: str, space: Space, problems: int, stream: Stream, task: Task = _DEFAULT) -> Batch:
    """`problems` problems of a family for every run of `stream`."""
    base = task.alphabet.base
    uniform = Drawn(
        stream.fold(_TERMS).integers(*space.terms, problems),
        stream.fold(_LENGTHS).integers(*space.digits, problems, space.terms[1]),
        stream.fold(_DIGITS).integers(0, base - 1, problems, space.terms[1], space.digits[1]),
    )
    return lay_out(space, *FAMILIES[name].change(uniform, stream, base), task)


def _nines_and(other: int, drawn: Drawn, stream: Stream, base: int) -> Drawn:
    """9…9 + 1, in either order: one carry through all columns; or 9…9 + 0: not a single carry."""
    order = stream.fold(_ORDER).integers(0, 1, drawn.terms.shape[1])
    nines = torch.arange(2, device=order.device) == order[..., None]
    lengths = torch.where(nines, drawn.lengths[..., :1], 1)
    digits = torch.where(nines[..., None], base - 1, other).expand_as(drawn.digits)
    return Drawn(drawn.terms, lengths, digits)


def _nines(drawn: Drawn, _: Stream, base: int) -> Drawn:
    """The same 9…9 in every term: the largest carries there are."""
    return Drawn(drawn.terms, drawn.lengths[..., :1].expand_as(drawn.lengths), torch.full_like(drawn.digits, base - 1))


def _alternating(drawn: Drawn, stream: Stream, base: int) -> Drawn:
    """Two terms of one length whose columns add up to 10 or more and to 8 or less in turn, whatever is carried."""
    problems, columns = drawn.digits.shape[1], drawn.digits.shape[-1]
    place = torch.arange(columns, device=drawn.digits.device)
    makes = (place + stream.fold(_SECOND).integers(0, 1, problems)[..., None]) % 2 == 0
    return _of_columns(drawn, makes, torch.zeros_like(makes), base)


def _broken(drawn: Drawn, stream: Stream, base: int) -> Drawn:
    """Columns that add up to 9 and hand a carry on, broken at random places, about every fifth column."""
    chance = stream.fold(_SECOND).uniform(drawn.digits.shape[1], drawn.digits.shape[-1])
    return _of_columns(drawn, chance < _BROKEN / 2, chance >= _BROKEN, base)


def _chain(length: int, drawn: Drawn, stream: Stream, base: int) -> Drawn:
    """One carry through so many columns, or all there are; no other carry is handed on."""
    problems, columns = drawn.digits.shape[1], drawn.digits.shape[-1]
    room = (drawn.lengths[..., 0] - length).clamp(min=0) + 1
    start = (stream.fold(_ORDER).integers(0, _MANY, problems) % room)[..., None]
    place = torch.arange(columns, device=start.device)
    makes = (place == start) | (stream.fold(_SECOND).integers(0, 1, problems, columns) == 1)
    return _of_columns(drawn, makes, (place > start) & (place < start + length), base)


def _of_columns(drawn: Drawn, makes: Tensor, hands_on: Tensor, base: int) -> Drawn:
    """Two terms of one length. Of their columns, some make a carry (they add up to 10 or more), some hand one on (9,
    whatever `makes` says), and all others end it (8 or less)."""
    first = drawn.digits[..., 0, :]
    makes = makes & ~hands_on
    first = torch.where(makes, first.clamp(min=1), torch.where(hands_on, first, first.clamp(max=base - 2)))
    least = torch.where(makes, base - first, torch.where(hands_on, base - 1 - first, 0))
    choices = torch.where(makes, first, torch.where(hands_on, 1, base - 1 - first))
    second = least + drawn.digits[..., 1, :] % choices
    return Drawn(drawn.terms, drawn.lengths[..., :1].expand_as(drawn.lengths), torch.stack((first, second), -2))


def _leading_zeros(drawn: Drawn, stream: Stream, _: int) -> Drawn:
    """At least one zero before every term, and as many as its length allows, each number alike."""
    significant = stream.fold(_SECOND).integers(0, _MANY, *drawn.lengths.shape[1:]) % drawn.lengths
    place = torch.arange(drawn.digits.shape[-1], device=drawn.digits.device)
    return drawn._replace(digits=torch.where(place < significant[..., None], drawn.digits, 0))


def _zeros(drawn: Drawn, *_: object) -> Drawn:
    return drawn._replace(digits=torch.zeros_like(drawn.digits))


def _permuted(drawn: Drawn, stream: Stream, _: int) -> Drawn:
    """One term as long as can be among single digits; siblings are the same terms in another order."""
    problems, most_terms = drawn.lengths.shape[1:]
    siblings = torch.arange(problems, device=drawn.terms.device) // _SIBLINGS
    terms, digits = drawn.terms[:, siblings], drawn.digits[:, siblings]
    lengths = torch.ones_like(drawn.lengths)
    lengths[..., 0] = digits.shape[-1]
    # Terms that are not part of the sum stay behind those that are.
    beyond = torch.arange(most_terms, device=terms.device) >= terms[..., None]
    order = (stream.fold(_ORDER).uniform(problems, most_terms) + beyond).argsort(-1)
    return Drawn(terms, lengths.gather(2, order), digits.gather(2, order[..., None].expand_as(digits)))


FAMILIES: dict[str, Family] = {
    "nines+1": Family(partial(_nines_and, 1), 2),
    "0+nines": Family(partial(_nines_and, 0), 2),
    "nines": Family(_nines),
    "alternating": Family(_alternating, 2),
    "broken": Family(_broken, 2),
    **{f"carry-{columns}": Family(partial(_chain, columns), 2) for columns in CHAINS},
    "leading-zeros": Family(_leading_zeros),
    "zeros": Family(_zeros),
    "one-term": Family(lambda drawn, *_: drawn, 1),
    "permuted": Family(_permuted),
}
