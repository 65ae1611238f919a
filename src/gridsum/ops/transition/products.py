"""Gradients of weights: products over the cells of each run, of which only those that are there are read."""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from gridsum.ops.kernels.cells import entries, own_grid, place_of

# The largest part of a product that a program computes, and the cells that it takes at a time. Without a bound on
# registers, one program a multiprocessor has them all.
_OPTIONS = {"ROWS": 128, "COLUMNS": 128, "LINES": 64, "num_warps": 8, "num_stages": 3, "maxnreg": 128}
# Products in fp32 have no tensor cores: large tiles of them take a compiler minutes.
_IN_FP32 = {"ROWS": 64, "COLUMNS": 64, "LINES": 32, "num_warps": 8, "num_stages": 2}
SHARES = 12
"""Into how many shares the cells are divided: each is summed apart."""


@triton.jit
def _add_product(
    x, by, sizes, problems, H, W, out, total, tile,
    INPUTS: tl.constexpr, OUTPUTS: tl.constexpr, BIAS: tl.constexpr, PLACED: tl.constexpr,
    MOST_ROWS: tl.constexpr, MOST_COLUMNS: tl.constexpr, LINES: tl.constexpr, ENTRIES: tl.constexpr,
):  # fmt: skip
    """The part number `tile` of xᵀ·by over a share of a run's cells, added onto `out`.

    The cells lie in the run's grids if `PLACED`, else one after the other. With a `BIAS`, x has a last feature of 1.
    """
    # Of a side that is no power of two, the largest that divides it.
    ROWS: tl.constexpr = MOST_ROWS if INPUTS % MOST_ROWS == 0 else INPUTS & -INPUTS
    COLUMNS: tl.constexpr = MOST_COLUMNS if OUTPUTS % MOST_COLUMNS == 0 else OUTPUTS & -OUTPUTS
    run, share, shares = tl.program_id(1), tl.program_id(2), tl.num_programs(2)
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    row = tile // (OUTPUTS // COLUMNS) * ROWS + tl.arange(0, ROWS)
    column = tile % (OUTPUTS // COLUMNS) * COLUMNS + tl.arange(0, COLUMNS)
    lines = tl.cdiv(count * rows * columns, shares * LINES) * LINES
    end = tl.minimum((share + 1) * lines, count * rows * columns)
    x += run * problems * H * W * INPUTS + row[None, :]
    by += run * problems * H * W * OUTPUTS + column[None, :]
    out += (share * tl.num_programs(1) + run) * total + column[None, :]
    product = tl.load(out + row[:, None] * OUTPUTS)
    if BIAS:
        # By tensor cores, too: they have no fewer than 64 rows, which are all the same.
        same = tl.arange(0, 64)[:, None]
        at = out + INPUTS * OUTPUTS + 0 * same
        ones, sums = tl.full((64, LINES), 1.0, by.dtype.element_ty), tl.load(at)
    for begin in tl.range(share * lines, end, LINES):
        line = begin + tl.arange(0, LINES)
        valid = (line < end)[:, None]
        if PLACED:
            line = place_of(line, run, rows, columns, H, W, sizes, ENTRIES)
        left = tl.load(x + line[:, None] * INPUTS, mask=valid, other=0.0)
        right = tl.load(by + line[:, None] * OUTPUTS, mask=valid, other=0.0)
        product = tl.dot(tl.trans(left.to(right.dtype)), right, product, input_precision="ieee")
        if BIAS:
            sums = tl.dot(ones, right, sums, input_precision="ieee")
    tl.store(out + row[:, None] * OUTPUTS, product)
    if BIAS:
        tl.store(at, sums, mask=same + tile // (OUTPUTS // COLUMNS) == 0)


@triton.jit(do_not_specialize=["problems", "H", "W"])
def _product(
    x, by, sizes, problems, H, W, out, total, INPUTS: tl.constexpr, OUTPUTS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, LINES: tl.constexpr, ENTRIES: tl.constexpr,
):  # fmt: skip
    _add_product(
        x, by, sizes, problems, H, W, out, total, tl.program_id(0),
        INPUTS, OUTPUTS, False, False, ROWS, COLUMNS, LINES, ENTRIES,
    )  # fmt: skip


@triton.jit(do_not_specialize=["problems", "H", "W"])
def _products_of_a_step(
    x0, by1, x1, by2, x2, by3, grid, by_qkv, sizes, problems, H, W, out, total,
    E: tl.constexpr, F: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr, THIRD: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, LINES: tl.constexpr, ENTRIES: tl.constexpr,
):  # fmt: skip
    """The products of FFN_3's layers, of so many parts, and that of the projections."""
    tile = tl.program_id(0)
    if tile < FIRST:
        _add_product(
            x0, by1, sizes, problems, H, W, out, total, tile,
            E, F, True, False, ROWS, COLUMNS, LINES, ENTRIES,
        )  # fmt: skip
    elif tile < FIRST + SECOND:
        _add_product(
            x1, by2, sizes, problems, H, W, out + (E + 1) * F, total, tile - FIRST,
            F, F, True, False, ROWS, COLUMNS, LINES, ENTRIES,
        )  # fmt: skip
    elif tile < FIRST + SECOND + THIRD:
        _add_product(
            x2, by3, sizes, problems, H, W, out + (E + F + 2) * F, total, tile - (FIRST + SECOND),
            F, E, True, False, ROWS, COLUMNS, LINES, ENTRIES,
        )  # fmt: skip
    else:
        _add_product(
            grid, by_qkv, sizes, problems, H, W, out + (E + F + 2) * F + (F + 1) * E, total,
            tile - (FIRST + SECOND + THIRD),
            E, 3 * E, False, True, ROWS, COLUMNS, LINES, ENTRIES,
        )  # fmt: skip


def _options(by: Tensor) -> dict[str, int]:
    return _IN_FP32 if by.dtype == torch.float32 else _OPTIONS


def _parts(inputs: int, outputs: int, options: dict[str, int]) -> int:
    """How many programs share a product."""
    rows, columns = (min(side & -side, options[most]) for side, most in ((inputs, "ROWS"), (outputs, "COLUMNS")))
    return inputs // rows * (outputs // columns)


def products(pairs: Sequence[tuple[Tensor, Tensor]], shape: Sequence[int]) -> Tensor:
    """xᵀ·by over a run's cells for each pair, one behind the other: [R, sum of their sizes], in fp32.

    `shape` begins with [R,B,H,W]; the features of x and by lie cell after cell.
    """
    runs, *common = shape[:4]
    total = sum(x.shape[-1] * by.shape[-1] for x, by in pairs)
    out, at = torch.zeros(SHARES, runs, total, device=pairs[0][0].device), 0
    for x, by in pairs:
        inputs, outputs, options = x.shape[-1], by.shape[-1], _options(by)
        _product[_parts(inputs, outputs, options), runs, SHARES](
            x, by, x, *common, out[..., at:], total, INPUTS=inputs, OUTPUTS=outputs, ENTRIES=0, **options
        )
        at += inputs * outputs
    return out.sum(0)


def add_products_of_a_step(
    layers: Sequence[tuple[Tensor, Tensor]], grid: Tensor, by_qkv: Tensor | None, sizes: Tensor | None, out: Tensor
) -> None:
    """The gradients of a step's matrices, added onto `out` [SHARES,R,...], where they lie as in `packed_transition`.

    `layers` are the inputs of FFN_3's layers and the gradients of their products, cell after cell in the order of the
    run's own grid; `grid` is the next one, of whose projections there are gradients if there is a next step. `sizes`
    says which cells there are (see `cells`).
    """
    runs, *common, features = grid.shape
    hidden, options = layers[0][1].shape[-1], _options(layers[0][1])
    first, second, third = (_parts(x.shape[-1], by.shape[-1], options) for x, by in layers)
    last = 0 if by_qkv is None else _parts(features, 3 * features, options)
    _products_of_a_step[first + second + third + last, runs, SHARES](
        *(part for pair in layers for part in pair), grid, layers[0][0] if by_qkv is None else by_qkv,
        grid if sizes is None else sizes, *common, out, out.shape[-1],
        E=features, F=hidden, FIRST=first, SECOND=second, THIRD=third, ENTRIES=entries(sizes), **options,
    )  # fmt: skip
