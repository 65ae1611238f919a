"""Where the symbols of a problem and of its result stand. What baselines are given, and write, is made of it."""

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.data.problems import Batch, Space
from gridsum.tasks import PAD


def terms_of(batch: Batch) -> Tensor:
    """How many terms each problem has, [R,B]."""
    return _ends(batch).sum(-1)


def _ends(batch: Batch) -> Tensor:
    """Which symbols end a term: the sign and the = come last in every alphabet."""
    return batch.symbols >= batch.task.alphabet.sign_symbol


def table_of(batch: Batch, space: Space) -> Tensor:
    """The digits by term and place, the units first, as symbols: [R,B,N,D], PAD where there is none."""
    symbols, ends, (terms, digits) = batch.symbols, _ends(batch), (space.terms[1], space.digits[1])
    position = torch.arange(symbols.shape[-1], device=symbols.device)
    end = torch.where(ends, position, symbols.shape[-1]).flip(-1).cummin(-1).values.flip(-1)
    index = torch.where((symbols != PAD) & ~ends, ends.cumsum(-1) * digits + end - position - 1, terms * digits)
    table = symbols.new_full((*symbols.shape[:-1], terms * digits + 1), PAD)
    return table.scatter(-1, index, symbols)[..., :-1].unflatten(-1, (terms, digits))


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


def counted_to_the_blank(targets: Tensor) -> Tensor:
    """The weight of what is to be written: its symbols count, and the blank that ends them."""
    before = torch.cat((torch.ones_like(targets[..., :1]), targets[..., :-1]), -1)
    return (before != PAD).float()


def until_blank(predicted: Tensor) -> Tensor:
    """What is written up to the first blank; the rest is blank."""
    return torch.where((predicted == PAD).cumsum(-1) > 0, PAD, predicted)


def flush(written: Tensor, left: bool = False) -> Tensor:
    """Rows with their blanks moved to the left, or their symbols."""
    return written.gather(-1, ((written != PAD) ^ left).int().argsort(dim=-1, stable=True))
