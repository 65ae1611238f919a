"""Gradients of weights: products over the cells of each run, of which only those that are there are read."""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from gridsum.model.engine.cuda.cells import entries, own_grid, place_of

# A program's share of the product, the cells that it takes at a time, and into how many shares the cells are divided.
_ROWS, _COLUMNS, _LINES, _SHARES = 128, 128, 64, 8
_OPTIONS = {"num_warps": 8, "num_stages": 3}


@triton.jit(do_not_specialize=["problems", "H", "W"])
def _product(
    x, by, sizes, problems, H, W, out, total,
    INPUTS: tl.constexpr, OUTPUTS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, LINES: tl.constexpr,
    ENTRIES: tl.constexpr, PLACED: tl.constexpr,
):  # fmt: skip
    """`ROWS` × `COLUMNS` of the product xᵀ·by over a share of a run's cells, which lie in its grids if `PLACED`."""
    run, share, shares = tl.program_id(1), tl.program_id(2), tl.num_programs(2)
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    row = tl.program_id(0) // (OUTPUTS // COLUMNS) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % (OUTPUTS // COLUMNS) * COLUMNS + tl.arange(0, COLUMNS)
    lines = tl.cdiv(count * rows * columns, shares * LINES) * LINES
    end = tl.minimum((share + 1) * lines, count * rows * columns)
    x += run * problems * H * W * INPUTS + row[None, :]
    by += run * problems * H * W * OUTPUTS + column[None, :]
    product = tl.zeros((ROWS, COLUMNS), tl.float32)
    for begin in tl.range(share * lines, end, LINES):
        line = begin + tl.arange(0, LINES)
        valid = (line < end)[:, None]
        if PLACED:
            line = place_of(line, run, rows, columns, H, W, sizes, ENTRIES)
        left = tl.load(x + line[:, None] * INPUTS, mask=valid, other=0.0)
        right = tl.load(by + line[:, None] * OUTPUTS, mask=valid, other=0.0)
        product = tl.dot(tl.trans(left.to(right.dtype)), right, product, input_precision="ieee")
    out += (share * tl.num_programs(1) + run) * total
    tl.store(out + row[:, None] * OUTPUTS + column[None, :], product)


def products(
    pairs: Sequence[tuple[Tensor, Tensor]], shape: Sequence[int], sizes: Tensor | None, placed: bool = False
) -> Tensor:
    """xᵀ·by over a run's cells for each pair, one behind the other: [R, sum of their sizes], in fp32.

    `shape` begins with [R,B,H,W], and `sizes` says which cells there are (see `cells`). The features of x and by lie
    cell after cell in the order of the run's own grid, or in the grids themselves if `placed`.
    """
    runs, *common = shape[:4]
    total = sum(x.shape[-1] * by.shape[-1] for x, by in pairs)
    out, at = torch.empty(_SHARES, runs, total, device=pairs[0][0].device), 0
    for x, by in pairs:
        inputs, outputs = x.shape[-1], by.shape[-1]
        # Of a side that is no power of two, the largest that divides it.
        rows, columns = min(inputs & -inputs, _ROWS), min(outputs & -outputs, _COLUMNS)
        _product[inputs // rows * (outputs // columns), runs, _SHARES](
            x, by, x if sizes is None else sizes, *common, out[..., at:], total,
            INPUTS=inputs, OUTPUTS=outputs, ROWS=rows, COLUMNS=columns, LINES=_LINES,
            ENTRIES=entries(sizes), PLACED=placed, **_OPTIONS,
        )  # fmt: skip
        at += inputs * outputs
    return out.sum(0)
