"""The context in training: its readings of the grid by kernels, one after the other (see `reading`).

The weights' gradients are products over all samples of all readings of a rollout. So they wait for its end: each
reading notes the layers' inputs and the gradients of their products in a `Ledger`.
"""

import math
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from gridsum.ops.context.reading import read_context, read_context_back
from gridsum.ops.grids import side_by_side
from gridsum.ops.kernels.cells import entries
from gridsum.ops.kernels.gathering import nothing, summands
from gridsum.ops.kernels.layers import fits, reduced_kind
from gridsum.ops.transition.products import products

# Warps of a program: for so many cells one, and at least so many. Products in fp32 have no tensor cores: a thread's
# share of them is what a compiler's time hangs on.
_CELLS_A_WARP, _WARPS, _IN_FP32 = 32, 4, 16
# The most features, vectors, vectors as heads see them, and cells that a program holds.
_WIDTH, _VECTORS, _ROWS, _CELLS = 128, 16, 64, 256


Reading = tuple[int, Tensor | None, tuple[tuple[Tensor, ...], float]]
"""The number of one, which cells and samples there are (see `cells`), and its dropout (see `bits_at`)."""


@dataclass(frozen=True)
class Readings:
    """What all readings of a rollout are told: the parameters, and the sizes that they have."""

    packed: Tensor
    """[R,P]: a run's matrices, then its vectors, in the order of `packed_context`."""
    low: Tensor
    """The same in the precision of the products."""
    heads: int
    length: int
    width: int
    hidden: int
    decision: int
    steps: int
    problems: int

    @classmethod
    def of(cls, reader: Any, steps: int, problems: int) -> "Readings":
        """For as many readings by a `ContextTransformer` as there may be, of as many problems."""
        packed = packed_context(reader)
        inner, last = (network.layers[0] for network in (reader.feed_forward, reader.decision))
        sizes = (*reader.initial.shape[1:], inner.weight.shape[-1], last.weight.shape[-1])
        return cls(packed, packed.detach().to(reduced_kind(packed)), reader.attention.heads, *sizes, steps, problems)

    @property
    def slots(self) -> int:
        return len(self.packed) * self.steps * self.problems

    @property
    def total(self) -> int:
        """The vectors of a run, with what pads its row."""
        return self.packed.shape[1] - sum(x * by for _, x, by in self.pairs)

    @property
    def pairs(self) -> list[tuple[int, int, int]]:
        """For each matrix, as they lie in `packed`: the lines of a sample, and the features of its inputs and outputs.

        For `W_k` these are the gradients of the queries carried over, and the queries.
        """
        width, square = self.width, (self.width, self.width)
        seen_by_heads = [(self.heads * self.length, *square)] * 2
        of_vectors = [(self.length, *sides) for sides in (square, square, (width, self.hidden), (self.hidden, width))]
        return [*seen_by_heads, *of_vectors, (1, self.length * width, self.decision)]

    def begin(self) -> tuple[Tensor, Tensor]:
        """An empty ledger."""
        return Ledger.apply(self.packed, self)

    def launch(self, kernel: Any, context: Tensor, grid: Tensor, reading: Reading, *rest: Any) -> None:
        _, sizes, (bits, factor) = reading
        precision = "tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee"
        in_fp32 = precision == "ieee" or self.low.dtype == torch.float32
        tile = max(16, triton.next_power_of_2(grid.shape[2] * grid.shape[3]))
        bits = bits or [self.low.view(torch.uint8)] * 2  # else something to point at
        kernel[context.shape[1], context.shape[0]](
            context, grid, self.packed, self.low, self.packed.shape[1], *bits, factor,
            grid if sizes is None else sizes,
            1 / math.sqrt(self.width // self.heads), *grid.shape[1:4], *rest,
            E=self.width, F=self.hidden, D=self.decision, HEADS=self.heads, LENGTH=self.length,
            ROWS=max(16, triton.next_power_of_2(self.heads * self.length)),
            VECTORS=max(16, triton.next_power_of_2(self.length)),
            TILE=tile, ENTRIES=entries(sizes), PRECISION=precision,
            num_warps=_IN_FP32 if in_fp32 else max(_WARPS, tile // _CELLS_A_WARP), num_stages=1,
        )  # fmt: skip


class Ledger(Function):
    """What the parameters' gradient is made of, as a gradient itself: each reading's fills its own part.

    The lines of all matrices lie one behind the other, in the precision of the products; the sums are gradients of
    vectors, sample by sample. Forwards they are nothing but the way that the gradients go back.
    """

    @staticmethod
    def forward(ctx: Any, _: Tensor, readings: Readings) -> tuple[Tensor, Tensor]:
        ctx.readings = readings
        ctx.set_materialize_grads(False)
        return _nothing(readings)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        readings, (lines, sums) = ctx.readings, gradients
        if lines is None or sums is None:
            return None, None
        runs, samples = len(readings.packed), readings.steps * readings.problems
        sides = [(count, side) for count, *pair in readings.pairs for side in pair]
        parts = lines.split([readings.slots * count * side for count, side in sides])
        assert max(part.numel() for part in parts) < 2**31, "the kernels' offsets are 32-bit"
        views = iter([part.view(runs, -1, side) for part, (_, side) in zip(parts, sides, strict=True)])
        found = [
            products([(next(views), next(views)) for _ in group], (runs, samples, 1, count))
            for count, group in groupby(readings.pairs, lambda pair: pair[0])
        ]
        return torch.cat([*found, sums.sum((1, 2))], 1), None


def _nothing(readings: Readings) -> tuple[Tensor, Tensor]:
    """Of the ledger's shape, without its memory."""
    lines = readings.slots * sum(count * (x + by) for count, x, by in readings.pairs)
    sums = (len(readings.packed), readings.steps, readings.problems, readings.total)
    return nothing((lines,), readings.low), nothing(sums, readings.packed)


class KernelContext(Function):
    """context [R,B,C,E], grid [R,B,H,W,E] and the ledger → the next context, λ [R,B], and the ledger. The context stays
    of samples that have left; their λ has no meaning, nor has the grid's gradient outside of a run's own."""

    @staticmethod
    def forward(
        ctx: Any, context: Tensor, grid: Tensor, readings: Readings, reading: Reading, *_: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        context, grid = context.contiguous(), grid.contiguous()
        out, halting = torch.empty_like(context), context.new_empty(context.shape[:2])
        saves = any(ctx.needs_input_grad)
        shape = (*context.shape[:2], readings.heads * readings.length, readings.width)
        found = readings.low.new_empty(shape) if saves else readings.low
        readings.launch(read_context, context, grid, reading, out, halting, found, int(saves))
        ctx.save_for_backward(context, grid, found)
        ctx.readings, ctx.reading = readings, reading
        ctx.set_materialize_grads(False)
        return out, halting, *_nothing(readings)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        context, grid, found = ctx.saved_tensors
        by_out, by_halting, lines, sums = gradients
        readings, reading = ctx.readings, ctx.reading
        by_out = torch.zeros_like(context) if by_out is None else by_out.contiguous()
        by_halting = by_out.new_zeros(by_out.shape[:2]) if by_halting is None else by_halting.contiguous()
        lines, sums = (summands(*pair) for pair in zip((lines, sums), _nothing(readings), strict=True))
        by_context, by_grid = torch.empty_like(context), torch.empty_like(grid)
        # Of the ledger, as much as a reading fills: who counts what a kernel moves sees no more.
        share = lines[: len(lines) // readings.steps], sums[:, 0]
        readings.launch(
            read_context_back, context, grid, reading, found, by_out, by_halting, by_context, by_grid, *share,
            readings.total, reading[0], readings.steps, readings.problems, readings.slots,
        )  # fmt: skip
        return by_context, by_grid, None, None, lines, sums


def fits_context(reader: Any, cells: int) -> bool:
    """Whether the kernels compute a `ContextTransformer` on grids of so many cells: a program holds a whole sample."""
    length, width = reader.initial.shape[1:]
    inner, decision = reader.feed_forward.layers, reader.decision.layers
    hidden, last = inner[0].weight.shape[-1], decision[0].weight.shape[-1]
    shapes = [tuple(layer.weight.shape[1:]) for layer in (*inner, *decision)]
    expected = [(width, hidden), (hidden, width), (length * width, last), (last, 1)]
    return (
        shapes == expected
        and all(fits(side, _WIDTH) for side in (width, hidden, last))
        and length <= _VECTORS
        and length * reader.attention.heads <= _ROWS
        and cells <= _CELLS
    )


def packed_context(reader: Any) -> Tensor:
    """A run's parameters in one row but for the keys' bias (see `gridsum.ops.context.cpu`), padded so that every row
    begins at an even address."""
    attention = reader.attention
    query, key, value = attention.projection.unbind(1)
    inner, decision = (part.layers for part in (reader.feed_forward, reader.decision))
    matrices = (key, value, query, attention.output, inner[0].weight, inner[1].weight, decision[0].weight)
    before, after = ((norm.weight, norm.bias) for norm in (reader.norm_attention, reader.norm_feed_forward))
    biases = (*attention.projection_bias[:, ::2].unbind(1), attention.output_bias)
    vectors = (*biases, *before, inner[0].bias, inner[1].bias, *after, decision[0].bias, *decision[1].parameters())
    packed = side_by_side([*matrices, *vectors])
    return F.pad(packed, (0, -packed.shape[1] % 16))
