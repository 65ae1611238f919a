"""Where the symbols of a problem stand: in which term, at which place. What baselines are given is made of it."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.data.problems import Batch, Space
from gridsum.tasks import PAD


class Layout(NamedTuple):
    """Of every symbol, [R,B,S]."""

    term: Tensor
    """The number of its term, from 0."""
    place: Tensor
    """The digits behind it in its term: 0 for the units, -1 for a sign."""
    digit: Tensor
    """Whether it is a digit."""


def layout(batch: Batch) -> Layout:
    symbols = batch.symbols
    ends = symbols >= batch.task.alphabet.sign_symbol  # the sign and the = come last in every alphabet
    position = torch.arange(symbols.shape[-1], device=symbols.device)
    end = torch.where(ends, position, symbols.shape[-1]).flip(-1).cummin(-1).values.flip(-1)
    return Layout(ends.cumsum(-1) - ends.long(), end - position - 1, (symbols != PAD) & ~ends)


def terms_of(batch: Batch) -> Tensor:
    """How many terms each problem has, [R,B]."""
    return (batch.symbols >= batch.task.alphabet.sign_symbol).sum(-1)


def table_of(batch: Batch, space: Space) -> Tensor:
    """The digits by term and place, the units first, as symbols: [R,B,N,D], PAD where there is none."""
    where, (terms, digits) = layout(batch), (space.terms[1], space.digits[1])
    index = torch.where(where.digit, where.term * digits + where.place, terms * digits)
    table = batch.symbols.new_full((*batch.symbols.shape[:-1], terms * digits + 1), PAD)
    return table.scatter(-1, index, batch.symbols)[..., :-1].unflatten(-1, (terms, digits))


def within(batch: Batch, space: Space, inner: Space) -> Tensor:
    """Which problems of `space` lie in `inner`, [R,B]."""
    lengths = (table_of(batch, space) != PAD).sum(-1)
    count, (low, high) = (lengths > 0).sum(-1), inner.digits
    shortest = torch.where(lengths > 0, lengths, high).amin(-1)
    sized = (shortest >= low) & (lengths.amax(-1) <= high)
    return sized & (count >= inner.terms[0]) & (count <= inner.terms[1])


def sized_for(batch: Batch, space: Space) -> Batch:
    """The same problems with as many symbols and columns as problems of `space` have."""
    symbols = F.pad(batch.symbols, (0, space.symbols - batch.symbols.shape[-1]), value=PAD)
    return Batch(symbols, batch.targets_for(space.columns_of(batch.task)), batch.task)


def tape_of(batch: Batch) -> tuple[Tensor, Tensor]:
    """The input backwards, without its `=`: [R,B,S-1], so every term begins with its units; and its length [R,B].

    >>> from gridsum.data.problems import batch_of
    >>> tape, length = tape_of(batch_of([("58", "67")]))
    >>> batch_of([("0",)]).task.decode(tape[0, 0].tolist()), int(length)
    ('76+85', 5)
    """
    symbols = batch.symbols
    length = (symbols != PAD).sum(-1) - 1
    index = length[..., None] - 1 - torch.arange(symbols.shape[-1] - 1, device=symbols.device)
    return torch.where(index >= 0, symbols.gather(-1, index.clamp_min(0)), PAD), length
