"""How a training run of the network of bits computes its grids: whole, or only the cells that belong to them.

`Whole` is the definition, `gridsum.model.rule` on grids that all runs share. `Packed` holds the cells inside each grid
in a line, and finds neighbours by their numbers: on a CPU nothing is computed that a mask would throw away.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.model.rule import RuleNetwork
from gridsum.model.runs import as_written
from gridsum.ops.grids import linear, neighbours


def cells_of(network: RuleNetwork, inside: Tensor) -> "Whole | Packed":
    """How grids are computed, of cells `inside` [R,B,H,W,1]: whole where shapes must stay, as for a GPU, or where
    someone has changed the network."""
    return Whole(network, inside) if inside.is_cuda or not as_written(network) else Packed(network, inside)


class Whole:
    """Every cell where it stands: [R,B,H,W]. `inside` is theirs, in this arrangement."""

    def __init__(self, network: RuleNetwork, inside: Tensor) -> None:
        self.network, self.inside = network, inside

    def take(self, grids: Tensor) -> Tensor:
        """These cells of grids [R,B,H,W,F]: [R,...,F]."""
        return grids

    def top_rows(self, cells: Tensor) -> Tensor:
        """[R,B,W,F]."""
        return cells[:, :, 0]

    def step(self, cell: Tensor, query: Tensor, bits: Tensor) -> Tensor:
        return self.network.step(cell, query, bits, self.inside)


class Packed:
    """The cells inside each run's grids in a line [R,n], and others where a run has fewer than another."""

    def __init__(self, network: RuleNetwork, inside: Tensor) -> None:
        self.network, self.sight = network, network.sight()
        flat = inside.flatten(1) > 0
        length = int(flat.sum(1).max())
        # the cells inside first, in their order
        self.order = flat.logical_not().to(torch.int8).argsort(dim=1, stable=True)[:, :length]
        self.inside = flat.gather(1, self.order)[..., None].to(inside.dtype)
        # each cell's place in all lines, one after the other; for those outside, the end of their line, which is zeros
        ends = torch.arange(1, len(flat) + 1, device=inside.device)[:, None] * (length + 1) - 1
        place = torch.where(flat, ends - length + flat.cumsum(1) - 1, ends).view(inside.shape)
        self.top = place[:, :, 0, :, 0]
        around = neighbours(place, network.places, -1)
        found = torch.stack([part.flatten(1).gather(1, self.order) for part in around])
        self.beside = torch.where(found < 0, ends, found)

    def take(self, grids: Tensor) -> Tensor:
        index = self.order[..., None].expand(-1, -1, grids.shape[-1])
        return grids.flatten(1, 3).gather(1, index)

    def top_rows(self, cells: Tensor) -> Tensor:
        return _at(cells, self.top)

    def step(self, cell: Tensor, query: Tensor, bits: Tensor) -> Tensor:
        shown = linear(bits, *self.sight) * self.inside
        keys, values = (_at(part, self.beside) for part in shown.chunk(2, -1))
        return self.network.react(cell, query, keys, values)


def _at(lines: Tensor, places: Tensor) -> Tensor:
    """What stands at places [...] of lines [R,n,F]: [...,F]; zeros one place after the end of a line."""
    return F.pad(lines, (0, 0, 0, 1)).flatten(0, 1).index_select(0, places.flatten()).view(*places.shape, -1)
