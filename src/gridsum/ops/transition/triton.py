"""The part of a step that looks at one cell at a time, from attention's result to the next grid.

Memory bounds it. Going forward a program takes a tile of cells through all three layers of FFN_3, and writes only what
the gradient cannot do without: the hidden layers before SiLU. The gradient is two kernels, from the next grid to the
second layer and from there to the input. They leave the layers' inputs and the gradients of their products, cell after
cell: the gradients of weights and biases are products over all cells (see `products`).
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

from gridsum.ops.grids import side_by_side
from gridsum.ops.kernels.cells import MOST_CELLS, cell_of, entries, own_grid, sample_of
from gridsum.ops.kernels.gathering import Gathered, nothing, summands
from gridsum.ops.kernels.layers import add_to, fits, keep_factor, normalise, reduced_kind, sigmoid, through_norm
from gridsum.ops.transition.products import SHARES, add_products_of_a_step

# Cells and warps of a program, and how many hidden features it has at a time where it does not need all.
_FORWARD = {"TILE": 64, "BLOCK": 32, "num_warps": 4, "num_stages": 3}
_TO_SECOND = {"TILE": 64, "BLOCK": 64, "num_warps": 4, "num_stages": 3}
_TO_INPUT = {"TILE": 64, "BLOCK": 32, "num_warps": 4, "num_stages": 3}
# Products in fp32 have no tensor cores: large tiles of them take a compiler minutes.
_IN_FP32 = {"TILE": 16, "BLOCK": 16, "num_warps": 4, "num_stages": 1}
# The most features that a program holds of its cells, and of FFN_3.
_WIDTH, _HIDDEN = 128, 256
# Who reads the next grid.
_READERS = ("OUT", "QKV", "SEEN", "TOP")


@triton.jit
def _sum_of(grid, attended, at, valid):
    x = tl.load(grid + at, mask=valid, other=0.0).to(tl.float32)
    return x + tl.load(attended + at, mask=valid, other=0.0).to(tl.float32)


@triton.jit
def _places(number, run, rows, columns, problems, H, W, sizes, ENTRIES: tl.constexpr):
    """Where a run's cells lie among all cells, where among those of all top rows, and which of them are in one."""
    index, row, column = cell_of(number, rows, columns, ENTRIES)
    sample = run * problems + sample_of(index, run, sizes, ENTRIES)
    column += W - columns
    return (sample * H + row) * W + column, sample * W + column, row == 0


@triton.jit
def _forward(
    grid, attended, packed, low, stride, bits0, bits1, bits2, factor, sizes, problems, H, W,
    out, qkv, top, first, second, result,
    E: tl.constexpr, F: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr,
    ENTRIES: tl.constexpr, DROPOUT: tl.constexpr, SAVES: tl.constexpr, PROJECTS: tl.constexpr,
):  # fmt: skip
    """A tile of cells from grid and attended to the next grid, and on to its projections."""
    # Where parts of a run's row of parameters begin. A layer is its weights and, as their last row, its bias.
    SECOND: tl.constexpr = (E + 1) * F
    THIRD: tl.constexpr = SECOND + (F + 1) * F
    MATRIX: tl.constexpr = THIRD + (F + 1) * E
    NORMS: tl.constexpr = MATRIX + 3 * E * E
    run, cells = tl.program_id(1), problems * H * W
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    number = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = number < count * rows * columns
    valid = inside[:, None]
    if tl.program_id(0) * TILE >= count * rows * columns:
        return
    place, above, is_top = _places(number, run, rows, columns, problems, H, W, sizes, ENTRIES)
    feature, hidden, line = tl.arange(0, E), tl.arange(0, F), (run * cells + number)[:, None]
    at = place[:, None] * E + feature
    w, packed = low + run * stride, packed + run * stride
    norms = packed + NORMS + feature
    normal, _ = normalise(_sum_of(grid, attended, at, valid), E)
    between = normal * tl.load(norms)[None, :] + tl.load(norms + E)[None, :]
    dropped = (between * keep_factor(bits0, place, inside, factor, 0, E, E, TILE, DROPOUT)).to(low.dtype.element_ty)
    a = tl.zeros((TILE, F), tl.float32) + tl.load(packed + SECOND + F * F + hidden)[None, :]
    for begin in tl.range(0, F, BLOCK):
        block = begin + tl.arange(0, BLOCK)
        weights = tl.load(w + feature[:, None] * F + block[None, :])
        before = tl.dot(dropped, weights, input_precision="ieee") + tl.load(packed + E * F + block)[None, :]
        if SAVES:
            tl.store(first + line * F + block, before, mask=valid)
        x = before * sigmoid(before) * keep_factor(bits1, place, inside, factor, begin, F, BLOCK, TILE, DROPOUT)
        weights = tl.load(w + SECOND + block[:, None] * F + hidden[None, :])
        a = tl.dot(x.to(weights.dtype), weights, a, input_precision="ieee")
    if SAVES:
        tl.store(second + line * F + hidden, a, mask=valid)
    x = a * sigmoid(a) * keep_factor(bits2, place, inside, factor, 0, F, F, TILE, DROPOUT)
    weights = tl.load(w + THIRD + hidden[:, None] * E + feature[None, :])
    z = tl.dot(x.to(weights.dtype), weights, input_precision="ieee").to(weights.dtype)
    if SAVES:
        tl.store(result + line * E + feature, z, mask=valid)
    normal, _ = normalise(between + tl.load(packed + THIRD + F * E + feature)[None, :] + z.to(tl.float32), E)
    y = normal * tl.load(norms + 2 * E)[None, :] + tl.load(norms + 3 * E)[None, :]
    tl.store(out + at, y, mask=valid)
    if PROJECTS:
        reduced = y.to(low.dtype.element_ty)
        for part in tl.static_range(3):
            matrix = tl.load(w + MATRIX + feature[:, None] * (3 * E) + part * E + feature[None, :])
            product = tl.dot(reduced, matrix, input_precision="ieee")
            tl.store(qkv + place[:, None] * (3 * E) + part * E + feature, product, mask=valid)
    tl.store(top + above[:, None] * E + feature, y, mask=valid & is_top[:, None])


@triton.jit
def _back_to_second(
    grid, attended, packed, low, stride, bits, factor, sizes, problems, H, W,
    by_out, by_qkv, by_seen, by_top, second, result, by_sum, x2, by2, by3, by_norms,
    E: tl.constexpr, F: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr,
    ENTRIES: tl.constexpr, DROPOUT: tl.constexpr,
    OUT: tl.constexpr, QKV: tl.constexpr, SEEN: tl.constexpr, TOP: tl.constexpr,
):  # fmt: skip
    """From the gradients of the next grid to those of the second layer's product, and of what goes past FFN_3.

    It leaves the input of the third layer (`x2`) and the gradients of the last two products (`by2`, `by3`). Each
    program adds its share of the norm's gradients onto its own place in `by_norms`.
    """
    THIRD: tl.constexpr = (E + 1) * F + (F + 1) * F
    MATRIX: tl.constexpr = THIRD + (F + 1) * E
    NORMS: tl.constexpr = MATRIX + 3 * E * E
    run, cells = tl.program_id(1), problems * H * W
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    number = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = number < count * rows * columns
    valid = inside[:, None]
    feature, line = tl.arange(0, E), (run * cells + number)[:, None]
    by_norms += (tl.program_id(0) * tl.num_programs(1) + run) * (4 * E)
    if tl.program_id(0) * TILE >= count * rows * columns:
        return
    place, above, is_top = _places(number, run, rows, columns, problems, H, W, sizes, ENTRIES)
    at = place[:, None] * E + feature
    w, packed = low + run * stride, packed + run * stride
    norms = packed + NORMS + feature
    normal, _ = normalise(_sum_of(grid, attended, at, valid), E)
    y = normal * tl.load(norms)[None, :] + (tl.load(norms + E) + tl.load(packed + THIRD + F * E + feature))[None, :]
    y += tl.load(result + line * E + feature, mask=valid, other=0.0).to(tl.float32)
    normal, scale = normalise(y, E)
    g = tl.zeros((TILE, E), tl.float32)
    if OUT:
        g += tl.load(by_out + at, mask=valid, other=0.0)
    if QKV:
        for part in tl.static_range(3):
            by = tl.load(by_qkv + place[:, None] * (3 * E) + part * E + feature, mask=valid, other=0.0)
            matrix = tl.load(w + MATRIX + feature[:, None] * (3 * E) + part * E + feature[None, :])
            g = tl.dot(by, tl.trans(matrix), g, input_precision="ieee")
    if SEEN:
        g += tl.load(by_seen + at, mask=valid, other=0.0)
    if TOP:
        g += tl.load(by_top + above[:, None] * E + feature, mask=valid & is_top[:, None], other=0.0)
    add_to(by_norms + 2 * E + feature, tl.sum(g * normal, 0))
    add_to(by_norms + 3 * E + feature, tl.sum(g, 0))
    g = through_norm(g * tl.load(norms + 2 * E)[None, :], normal, scale, E)
    tl.store(by_sum + at, g, mask=valid)
    reduced = g.to(low.dtype.element_ty)
    tl.store(by3 + line * E + feature, reduced, mask=valid)
    for begin in tl.range(0, F, BLOCK):
        block = begin + tl.arange(0, BLOCK)
        a = tl.load(second + line * F + block, mask=valid, other=0.0).to(tl.float32)
        s = sigmoid(a)
        kept = keep_factor(bits, place, inside, factor, begin, F, BLOCK, TILE, DROPOUT)
        tl.store(x2 + line * F + block, a * s * kept, mask=valid)
        weights = tl.load(w + THIRD + block[:, None] * E + feature[None, :])
        through = tl.dot(reduced, tl.trans(weights), input_precision="ieee") * s * (1 + a * (1 - s)) * kept
        tl.store(by2 + line * F + block, through, mask=valid)


@triton.jit
def _back_to_input(
    grid, attended, packed, low, stride, bits0, bits1, factor, sizes, problems, H, W,
    first, by2, by_sum, by_attended, x0, x1, by1, by_norms,
    E: tl.constexpr, F: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr,
    ENTRIES: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """From there to the gradients of grid and attended. It leaves `x0`, `x1`, `by1`, and adds as above.

    A sample that has left now was there the step before, which adds up what comes back for it: zeros.
    """
    SECOND: tl.constexpr = (E + 1) * F
    NORMS: tl.constexpr = SECOND + (F + 1) * F + (F + 1) * E + 3 * E * E
    run, cells = tl.program_id(1), problems * H * W
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    number = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = number < count * rows * columns
    valid = inside[:, None]
    feature, hidden, line = tl.arange(0, E), tl.arange(0, F), (run * cells + number)[:, None]
    by_norms += (tl.program_id(0) * tl.num_programs(1) + run) * (4 * E)
    place, _, _ = _places(number, run, rows, columns, problems, H, W, sizes, ENTRIES)
    at, present_or_not = place[:, None] * E + feature, (number < problems * rows * columns)[:, None]
    if tl.program_id(0) * TILE >= count * rows * columns:
        tl.store(by_sum + at, tl.zeros((TILE, E), tl.float32), mask=present_or_not)
        return
    w = low + run * stride
    through2 = tl.load(by2 + line * F + hidden, mask=valid, other=0.0)
    back = tl.zeros((TILE, E), tl.float32)
    for begin in tl.range(0, F, BLOCK):
        block = begin + tl.arange(0, BLOCK)
        a = tl.load(first + line * F + block, mask=valid, other=0.0).to(tl.float32)
        s = sigmoid(a)
        kept = keep_factor(bits1, place, inside, factor, begin, F, BLOCK, TILE, DROPOUT)
        tl.store(x1 + line * F + block, a * s * kept, mask=valid)
        weights = tl.load(w + SECOND + block[:, None] * F + hidden[None, :])
        through = tl.dot(through2, tl.trans(weights), input_precision="ieee") * s * (1 + a * (1 - s)) * kept
        tl.store(by1 + line * F + block, through, mask=valid)
        weights = tl.load(w + feature[:, None] * F + block[None, :])
        back = tl.dot(through.to(weights.dtype), tl.trans(weights), back, input_precision="ieee")
    norms = packed + run * stride + NORMS + feature
    normal, scale = normalise(_sum_of(grid, attended, at, valid), E)
    kept = keep_factor(bits0, place, inside, factor, 0, E, E, TILE, DROPOUT)
    x = (normal * tl.load(norms)[None, :] + tl.load(norms + E)[None, :]) * kept
    tl.store(x0 + line * E + feature, x, mask=valid)
    g = tl.load(by_sum + at, mask=valid, other=0.0) + back * kept
    add_to(by_norms + feature, tl.sum(g * normal, 0))
    add_to(by_norms + E + feature, tl.sum(g, 0))
    g = through_norm(g * tl.load(norms)[None, :], normal, scale, E)
    tl.store(by_sum + at, g, mask=present_or_not)
    tl.store(by_attended + at, g, mask=valid)


class KernelTransition(Function):
    """grid and attended [R,B,H,W,E] → the next grid, for each of its four readers.

    They are the next step's residual, its attention (which is given the projections [R,B,H,W,3E] if there is a next
    step, in the precision of the products), the context and, the top row alone, the output: so their gradients come
    back apart, and are added up where they are needed.

    `packed` [R,P] holds a run's parameters (see `packed_transition`), `low` the same in the precision of the products.
    Their gradients are gathered on the ways `by_matrices` and `by_norms` (see `gathering`). `bits` say which inputs of
    the three layers are kept, times `factor` (none: no dropout). `sizes` says which cells are computed (see `cells`):
    for the others the next grid has no meaning, and `top`, where its top row is written, stays as it is. Of the `last`
    step the output alone reads the next grid: so only top rows are computed.
    """

    @staticmethod
    def forward(
        ctx: Any,
        grid: Tensor,
        attended: Tensor,
        by_matrices: Tensor,
        by_norms: Tensor,
        packed: Tensor,
        low: Tensor,
        hidden: int,
        sizes: Tensor | None,
        bits: tuple[Tensor, ...],
        factor: float,
        top: tuple[Tensor],
        last: bool,
    ) -> tuple[Tensor | None, ...]:
        grid, attended = grid.contiguous(), attended.contiguous()
        if last and sizes is not None:  # as if the top rows were the grids
            sizes = torch.cat((torch.ones_like(sizes[:, :1]), sizes[:, 1:]), 1)
        out, qkv = torch.empty_like(grid), None if last else low.new_empty(*grid.shape[:-1], 3 * grid.shape[-1])
        call, saves = ((grid, attended, packed, low), hidden, sizes, factor), any(ctx.needs_input_grad)
        bits = bits or (grid, grid, grid)  # a kernel that is told to look away is still given something to point at
        saved = _lines(grid, low, hidden, hidden, grid.shape[-1]) if saves else [low, low, low]
        written = (out, low if qkv is None else qkv, *top, *saved)
        _launch(_forward, _FORWARD, call, bits, *written, SAVES=saves, PROJECTS=not last)
        ways = [nothing(way.shape, way) for way in (by_matrices, by_norms)]
        ctx.save_for_backward(grid, attended, *ways, packed, low, sizes, out, *saved, *bits)
        ctx.arguments = (hidden, factor, last)
        ctx.set_materialize_grads(False)
        return out, qkv, out.view(out.shape), *top, *ways

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        grid, attended, *ways, packed, low, sizes, out, first, second, result = ctx.saved_tensors[:11]
        bits = ctx.saved_tensors[11:]
        by_matrices, by_norms = (summands(*pair) for pair in zip(gradients[4:], ways, strict=True))
        hidden, factor, last = ctx.arguments
        features, call = grid.shape[-1], ((grid, attended, packed, low), hidden, sizes, factor)
        x0, x1, x2, by1, by2, by3 = _lines(grid, low, features, hidden, hidden, hidden, hidden, features)
        new = torch.zeros_like if last else torch.empty_like
        by_sum, by_attended = new(grid), new(attended)
        come = [grid if gradient is None else gradient.contiguous() for gradient in gradients[:4]]
        told = {name: gradient is not None for name, gradient in zip(_READERS, gradients, strict=False)}
        written = (second, result, by_sum, x2, by2, by3, by_norms)
        _launch(_back_to_second, _TO_SECOND, call, bits[2:], *come, *written, **told)
        written = (first, by2, by_sum, by_attended, x0, x1, by1, by_norms)
        _launch(_back_to_input, _TO_INPUT, call, bits[:2], *written)
        layers = ((x0, by1), (x1, by2), (x2, by3))
        add_products_of_a_step(layers, out, come[1] if told["QKV"] else None, sizes, by_matrices)
        return by_sum, by_attended, by_matrices, by_norms, *[None] * 8


def fits_transition(step: Any) -> bool:
    """Whether the kernels have a `Transition` of these sizes."""
    layers = step.feed_forward.layers
    width, hidden = layers[0].weight.shape[1:]
    shapes = [tuple(layer.weight.shape[1:]) for layer in layers]
    return (
        shapes == [(width, hidden), (hidden, hidden), (hidden, width)] and fits(width, _WIDTH) and fits(hidden, _HIDDEN)
    )


def packed_transition(step: Any, matrix: Tensor, cells: int) -> tuple[list[Tensor], tuple[Tensor, Tensor]]:
    """For grids of so many cells, the ways of the gradients of a `Transition`'s parameters; and these as the kernels
    take them, a row a run, and in the precision of the products: weights and bias of each layer of FFN_3, the
    projections' `matrix` for the next step's attention, the weight and bias of either norm."""
    reduced, norms = reduced_kind(matrix), (step.norm_attention, step.norm_feed_forward)
    matrices = side_by_side(
        [*(part for layer in step.feed_forward.layers for part in (layer.weight, layer.bias)), matrix]
    )
    scales = side_by_side([part for norm in norms for part in (norm.weight, norm.bias)])
    # Each program adds up norms' gradients at a place of its own.
    programs = max(triton.cdiv(cells, _options(tuned, reduced)["TILE"]) for tuned in (_TO_SECOND, _TO_INPUT))
    ways = [Gathered.apply(matrices, SHARES), Gathered.apply(scales, programs)]
    packed = torch.cat((matrices, scales), 1).detach()
    return ways, (packed, packed.to(reduced))


def _options(tuned: dict[str, int], kind: torch.dtype) -> dict[str, int]:
    return _IN_FP32 if kind == torch.float32 else tuned


def _lines(grid: Tensor, like: Tensor, *features: int) -> list[Tensor]:
    """Room for so many features of every cell, one line after the other."""
    return [like.new_empty(len(grid), math.prod(grid.shape[1:4]), size) for size in features]


def _launch(
    kernel: Any, tuned: dict[str, int], call: tuple[Any, ...], bits: Sequence[Tensor], *rest: Tensor, **told: bool
) -> None:
    """`kernel`, with what all kernels of a `call` have, the dropout of its sites, and the tensors that it alone has."""
    (grid, _, packed, low), hidden, sizes, factor = call
    runs, *shape, features = grid.shape
    cells, options = math.prod(shape), _options(tuned, low.dtype)
    assert runs * cells * hidden < 2**31, "the kernels' offsets are 32-bit"
    assert cells < MOST_CELLS, "more cells than the kernels count"
    kernel[triton.cdiv(cells, options["TILE"]), runs](
        *call[0], packed.shape[1], *bits, factor, grid if sizes is None else sizes, *shape, *rest,
        E=features, F=hidden, ENTRIES=entries(sizes), DROPOUT=factor != 1,
        **told, **options | {"BLOCK": min(hidden, options["BLOCK"])},
    )  # fmt: skip
