"""How a training run of the network of bits computes its grids: whole, or only the cells that belong to them.

`Whole` is the definition, `gridsum.model.rule` on grids that all runs share. `Packed` holds the cells inside each grid
in one line, one after the other, and finds neighbours by their numbers: on a CPU nothing is computed that a mask would
throw away, and attention is a function of its own gradient.

Shapes: R runs, B problems, H rows, W columns, E features, m bits, K neighbours, n cells in a line.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.model.rule import SHARPNESS, RuleNetwork, neighbours
from gridsum.model.runs import as_written
from gridsum.ops.grids import linear
from gridsum.ops.looking import PackedLooking


def cells_of(network: RuleNetwork, inside: Tensor) -> "Whole | Packed":
    """How grids are computed, `inside` [R,B,H,W,1] being 1 for the cells that belong to them, else 0.

    Whole where shapes must stay, as for a GPU, or where someone has changed the network.
    """
    return Whole(network, inside) if inside.is_cuda or not as_written(network) else Packed(network, inside)


class Whole:
    """Every cell where it stands: [R,B,H,W]. `inside` is theirs, in this arrangement."""

    def __init__(self, network: RuleNetwork, inside: Tensor) -> None:
        self.network, self.inside = network, inside

    def take(self, grids: Tensor) -> Tensor:
        """These cells of grids [R,B,H,W,F]: [R,...,F]."""
        return grids

    def grids(self, cells: Tensor) -> Tensor:
        """The grids again, 0 in cells that belong to none."""
        return cells * self.inside

    def top_rows(self, cells: Tensor) -> Tensor:
        """[R,B,W,F]."""
        return cells[:, :, 0]

    def step(self, cell: Tensor, query: Tensor, bits: Tensor) -> Tensor:
        """The logits of every cell."""
        return self.network.step(cell, query, bits, self.inside)


class Packed:
    """The cells inside each run's grids in a line [R,n], and others where a run has fewer than another."""

    def __init__(self, network: RuleNetwork, inside: Tensor) -> None:
        self.network, self.shape, self.view = network, inside.shape[:4], network.sight()
        runs = len(inside)
        flat = inside.flatten(1) > 0
        length = int(flat.sum(1).max())
        # the cells inside first, in their order
        self.order = flat.logical_not().to(torch.int8).argsort(dim=1, stable=True)[:, :length]
        self.inside = flat.gather(1, self.order)[..., None].to(inside.dtype)
        # each cell's place in the line; that of all cells outside is one more, which holds zeros
        place = torch.where(flat, flat.cumsum(1) - 1, length).view(self.shape)
        run = torch.arange(runs, device=inside.device)[:, None]

        def lines(places: Tensor) -> Tensor:
            """Places of each run [R,...] in its line, as places in all lines, one after the other."""
            return (places.flatten(1) + run * (length + 1)).flatten()

        def beside(offsets: Sequence[tuple[int, int]]) -> Tensor:
            """Who stands there as seen from every cell, neighbour by neighbour."""
            around = neighbours(place[..., None], offsets, length)
            found = [lines(part.flatten(1).gather(1, self.order)) for part in around]
            return torch.stack(found).view(len(offsets), runs, length)

        self.everywhere, self.top = lines(place), lines(place[:, :, 0])
        self.beside = beside(network.places)
        self.seen_by = beside([(-y, -x) for y, x in network.places])

    def take(self, grids: Tensor) -> Tensor:
        index = self.order[..., None].expand(-1, -1, grids.shape[-1])
        return grids.flatten(1, 3).gather(1, index)

    def grids(self, cells: Tensor) -> Tensor:
        return _at(cells * self.inside, self.everywhere).view(*self.shape, -1)

    def top_rows(self, cells: Tensor) -> Tensor:
        runs, problems, _, width = self.shape
        return _at(cells, self.top).view(runs, problems, width, -1)

    def step(self, cell: Tensor, query: Tensor, bits: Tensor) -> Tensor:
        network = self.network
        shown = linear(bits, *self.view) * self.inside
        attended = PackedLooking.apply(query, shown, network.looking.relative, self.beside, self.seen_by)
        return SHARPNESS * network.logits(network.transition(cell, attended))


def _at(lines: Tensor, places: Tensor) -> Tensor:
    """What stands at places of lines [R,n,F]: [places,F]; zeros one place after the end of a line."""
    return F.pad(lines, (0, 0, 0, 1)).flatten(0, 1).index_select(0, places)
