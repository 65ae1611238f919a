"""The part of a step that looks at one cell at a time: kernels for what lies between the products of FFN_3.

The products are torch's. What lies between them (norms, residuals, SiLU, dropout) is bound by memory, so each kernel
reads and writes everything once. Inside, the cells lie one after the other in the order of each run's own grid, which
leaves a run's last lines empty; those are zero, so that products may sum over all lines.
"""

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

from gridsum.model.engine.cuda.cells import entries, own_grid, place_of

# Lines and warps of a program, for cells of E features and for those of F hidden ones, as measured on an H200.
_NARROW = {"TILE": 32, "num_warps": 4}
_WIDE = {"TILE": 8, "num_warps": 4}
# How many lines a program goes through that leaves sums over them behind.
_LINES = 64
_EPSILON = 1e-5  # of torch's layer_norm
# Who reads the next grid.
_READERS = ("OUT", "LOW", "SEEN", "TOP")


@triton.jit
def _normalise(x, E: tl.constexpr, EPSILON: tl.constexpr):
    """x with mean 0 and variance 1 over its features, and what it was multiplied by."""
    centred = x - tl.sum(x, 1)[:, None] / E
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 1) / E + EPSILON)
    return centred * scale[:, None], scale


@triton.jit
def _through_norm(gradient, normal, scale, E: tl.constexpr):
    """The gradient of what was normalised, from that of the result."""
    mean = tl.sum(gradient, 1)[:, None] / E
    along = tl.sum(gradient * normal, 1)[:, None] / E
    return scale[:, None] * (gradient - mean - normal * along)


@triton.jit
def _kept(bits, place, valid, factor, F: tl.constexpr, DROPOUT: tl.constexpr):
    """What each feature is multiplied by: [TILE,F/8,8]. So a byte is loaded once, and stays with its features."""
    if DROPOUT:
        byte = tl.load(bits + place[:, None] * (F // 8) + tl.arange(0, F // 8)[None, :], mask=valid[:, None], other=0)
        kept = ((byte.to(tl.int32)[:, :, None] >> tl.arange(0, 8)[None, None, :]) & 1).to(tl.float32) * factor
    else:
        kept = 1.0
    return kept


@triton.jit
def _flat_kept(bits, place, valid, factor, TILE: tl.constexpr, E: tl.constexpr, DROPOUT: tl.constexpr):
    return tl.reshape(_kept(bits, place, valid, factor, E, DROPOUT), (TILE, E)) if DROPOUT else 1.0


@triton.jit
def _eights(F: tl.constexpr):
    """The features, as [1,F/8,8]."""
    return (tl.arange(0, F // 8) * 8)[None, :, None] + tl.arange(0, 8)[None, None, :]


@triton.jit
def _sigmoid(x):
    return tl.fdiv(tl.full(x.shape, 1.0, tl.float32), 1 + tl.exp(-x))


@triton.jit
def _sum_of(grid, attended, at, valid):
    x = tl.load(grid + at, mask=valid, other=0.0).to(tl.float32)
    return x + tl.load(attended + at, mask=valid, other=0.0).to(tl.float32)


@triton.jit
def _in_top_row(place, H, W):
    """Where a cell of the top row lies among the cells of all top rows."""
    return place // (H * W) * W + place % W


@triton.jit
def _enter(
    grid, attended, norms, stride, bits, factor, sizes, problems, H, W, dropped,
    E: tl.constexpr, TILE: tl.constexpr, ENTRIES: tl.constexpr, DROPOUT: tl.constexpr, EPSILON: tl.constexpr,
):  # fmt: skip
    """The first residual and norm, as FFN_3's input."""
    run, cells = tl.program_id(1), problems * H * W
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    number = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = number < count * rows * columns
    valid = inside[:, None]
    place = run * cells + place_of(number, run, rows, columns, H, W, sizes, ENTRIES)
    feature = tl.arange(0, E)
    norms += run * stride + feature
    normal, _ = _normalise(_sum_of(grid, attended, place[:, None] * E + feature, valid), E, EPSILON)
    between = normal * tl.load(norms)[None, :] + tl.load(norms + E)[None, :]
    x = tl.where(valid, between * _flat_kept(bits, place, inside, factor, TILE, E, DROPOUT), 0.0)
    tl.store(dropped + (run * cells + number)[:, None] * E + feature, x, mask=(number < cells)[:, None])


@triton.jit
def _activate(
    hidden, bias, stride, bits, factor, sizes, problems, H, W, inputs,
    F: tl.constexpr, TILE: tl.constexpr, ENTRIES: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """A hidden layer's product, with bias, SiLU and dropout, as the next layer's input."""
    run, cells = tl.program_id(1), problems * H * W
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    number = tl.program_id(0) * TILE + tl.arange(0, TILE)
    valid = number < count * rows * columns
    place = run * cells + place_of(number, run, rows, columns, H, W, sizes, ENTRIES)
    line = (run * cells + number)[:, None, None] * F + _eights(F)
    a = tl.load(hidden + line, mask=valid[:, None, None], other=0.0).to(tl.float32)
    a += tl.load(bias + run * stride + _eights(F))
    x = a * _sigmoid(a) * _kept(bits, place, valid, factor, F, DROPOUT)
    tl.store(inputs + line, tl.where(valid[:, None, None], x, 0.0), mask=(number < cells)[:, None, None])


@triton.jit
def _leave(
    grid, attended, result, norms, stride, sizes, problems, H, W, out, low, top,
    E: tl.constexpr, TILE: tl.constexpr, ENTRIES: tl.constexpr, EPSILON: tl.constexpr,
):  # fmt: skip
    """The second residual and norm: the next grid."""
    run, cells = tl.program_id(1), problems * H * W
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    number = tl.program_id(0) * TILE + tl.arange(0, TILE)
    valid = (number < count * rows * columns)[:, None]
    feature = tl.arange(0, E)
    place = run * cells + place_of(number, run, rows, columns, H, W, sizes, ENTRIES)
    at = place[:, None] * E + feature
    norms += run * stride + feature
    normal, _ = _normalise(_sum_of(grid, attended, at, valid), E, EPSILON)
    x = normal * tl.load(norms)[None, :] + tl.load(norms + E)[None, :] + tl.load(norms - E)[None, :]
    x += tl.load(result + (run * cells + number)[:, None] * E + feature, mask=valid, other=0.0).to(tl.float32)
    normal, _ = _normalise(x, E, EPSILON)
    x = normal * tl.load(norms + 2 * E)[None, :] + tl.load(norms + 3 * E)[None, :]
    tl.store(out + at, x, mask=valid)
    tl.store(low + at, x, mask=valid)
    tl.store(top + _in_top_row(place, H, W)[:, None] * E + feature, x, mask=valid & (place // W % H == 0)[:, None])


@triton.jit
def _leave_back(
    grid, attended, result, norms, stride, sizes, problems, H, W,
    by_out, by_low, by_seen, by_top, by_sum, by_result, by_norms, total,
    E: tl.constexpr, TILE: tl.constexpr, LINES: tl.constexpr, ENTRIES: tl.constexpr, EPSILON: tl.constexpr,
    OUT: tl.constexpr, LOW: tl.constexpr, SEEN: tl.constexpr, TOP: tl.constexpr,
):  # fmt: skip
    """The gradients of FFN_3's result, of the residual (in `by_sum`), of the last bias and of the second norm."""
    run, cells = tl.program_id(1), problems * H * W
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    feature = tl.arange(0, E)
    norms += run * stride + feature
    by_bias, by_weight, by_shift = (
        tl.zeros((TILE, E), tl.float32),
        tl.zeros((TILE, E), tl.float32),
        tl.zeros((TILE, E), tl.float32),
    )
    for first in tl.range(0, LINES, TILE):
        number = tl.program_id(0) * LINES + first + tl.arange(0, TILE)
        valid = (number < count * rows * columns)[:, None]
        place = run * cells + place_of(number, run, rows, columns, H, W, sizes, ENTRIES)
        at = place[:, None] * E + feature
        line = (run * cells + number)[:, None] * E + feature
        normal, _ = _normalise(_sum_of(grid, attended, at, valid), E, EPSILON)
        x = normal * tl.load(norms)[None, :] + tl.load(norms + E)[None, :] + tl.load(norms - E)[None, :]
        x += tl.load(result + line, mask=valid, other=0.0).to(tl.float32)
        normal, scale = _normalise(x, E, EPSILON)
        g = tl.zeros((TILE, E), tl.float32)
        if OUT:
            g += tl.load(by_out + at, mask=valid, other=0.0)
        if LOW:
            g += tl.load(by_low + at, mask=valid, other=0.0).to(tl.float32)
        if SEEN:
            g += tl.load(by_seen + at, mask=valid, other=0.0)
        if TOP:
            above = _in_top_row(place, H, W)[:, None] * E + feature
            g += tl.load(by_top + above, mask=valid & (place // W % H == 0)[:, None], other=0.0)
        by_weight += g * normal
        by_shift += g
        g = _through_norm(g * tl.load(norms + 2 * E)[None, :], normal, scale, E)
        by_bias += g
        tl.store(by_sum + at, g, mask=valid)
        tl.store(by_result + line, g, mask=(number < cells)[:, None])
    # The last bias lies before the norms, the second norm after the first.
    by_norms += (run * tl.num_programs(0) + tl.program_id(0)) * total + feature
    tl.store(by_norms - E, tl.sum(by_bias, 0))
    tl.store(by_norms + 2 * E, tl.sum(by_weight, 0))
    tl.store(by_norms + 3 * E, tl.sum(by_shift, 0))


@triton.jit
def _activate_back(
    hidden, bias, stride, bits, factor, sizes, problems, H, W, gradient, by_bias, total,
    F: tl.constexpr, TILE: tl.constexpr, LINES: tl.constexpr, ENTRIES: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """The gradient of a hidden layer's product, in place of that of the next layer's input, and of its bias."""
    run, cells = tl.program_id(1), problems * H * W
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    summed = tl.zeros((TILE, F // 8, 8), tl.float32)
    shift = tl.load(bias + run * stride + _eights(F))
    for first in tl.range(0, LINES, TILE):
        number = tl.program_id(0) * LINES + first + tl.arange(0, TILE)
        valid = number < count * rows * columns
        place = run * cells + place_of(number, run, rows, columns, H, W, sizes, ENTRIES)
        line = (run * cells + number)[:, None, None] * F + _eights(F)
        a = tl.load(hidden + line, mask=valid[:, None, None], other=0.0).to(tl.float32) + shift
        s = _sigmoid(a)
        g = tl.load(gradient + line, mask=valid[:, None, None], other=0.0).to(tl.float32)
        g *= s * (1 + a * (1 - s)) * _kept(bits, place, valid, factor, F, DROPOUT)
        summed += g
        tl.store(gradient + line, g, mask=valid[:, None, None])
    by_bias += (run * tl.num_programs(0) + tl.program_id(0)) * total
    tl.store(by_bias + (tl.arange(0, F // 8) * 8)[:, None] + tl.arange(0, 8)[None, :], tl.sum(summed, 0))


@triton.jit
def _enter_back(
    grid, attended, norms, stride, bits, factor, sizes, problems, H, W, gradient, by_sum, by_attended, by_norm, total,
    E: tl.constexpr, TILE: tl.constexpr, LINES: tl.constexpr,
    ENTRIES: tl.constexpr, DROPOUT: tl.constexpr, EPSILON: tl.constexpr,
):  # fmt: skip
    """The gradient of grid + attended, in place of the residual's in `by_sum`, and of the first norm."""
    run, cells = tl.program_id(1), problems * H * W
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    feature = tl.arange(0, E)
    norms += run * stride + feature
    by_weight, by_shift = tl.zeros((TILE, E), tl.float32), tl.zeros((TILE, E), tl.float32)
    for first in tl.range(0, LINES, TILE):
        number = tl.program_id(0) * LINES + first + tl.arange(0, TILE)
        inside = number < count * rows * columns
        valid = inside[:, None]
        place = run * cells + place_of(number, run, rows, columns, H, W, sizes, ENTRIES)
        at = place[:, None] * E + feature
        normal, scale = _normalise(_sum_of(grid, attended, at, valid), E, EPSILON)
        g = tl.load(gradient + (run * cells + number)[:, None] * E + feature, mask=valid, other=0.0).to(tl.float32)
        g *= _flat_kept(bits, place, inside, factor, TILE, E, DROPOUT)
        g += tl.load(by_sum + at, mask=valid, other=0.0)
        by_weight += g * normal
        by_shift += g
        g = _through_norm(g * tl.load(norms)[None, :], normal, scale, E)
        tl.store(by_sum + at, g, mask=valid)
        tl.store(by_attended + at, g, mask=valid)
    by_norm += (run * tl.num_programs(0) + tl.program_id(0)) * total + feature
    tl.store(by_norm, tl.sum(by_weight, 0))
    tl.store(by_norm + E, tl.sum(by_shift, 0))


class _Batch:
    """What all kernels of one call are told, and where a run's parameters lie."""

    def __init__(
        self,
        grid: Tensor,
        packed: Tensor,
        low: Tensor,
        hidden: int,
        sizes: Tensor | None,
        bits: Sequence[Tensor],
        factor: float,
    ) -> None:
        self.runs, self.problems, self.height, self.width, self.features = grid.shape
        self.hidden, self.sizes, self.bits, self.factor = hidden, sizes, bits, factor
        self.cells = self.problems * self.height * self.width
        assert self.runs * self.cells * hidden < 2**31, "the kernels' offsets are 32-bit"
        self.low, self.stride = low, packed.shape[1]
        ins, outs = (self.features, hidden, hidden), (hidden, hidden, self.features)
        counts = [*(a * b for a, b in zip(ins, outs, strict=True)), *outs, 4 * self.features]
        parts = list(low.split(counts, 1))
        self.weights = [part.view(-1, a, b) for part, a, b in zip(parts, ins, outs, strict=False)]
        *_, self.bias1, self.bias2, _, self.norms = packed.split(counts, 1)

    def lines(self, features: int) -> Tensor:
        return self.low.new_empty(self.runs, self.cells, features)

    def launch(
        self,
        kernel: Any,
        options: dict[str, int],
        given: Sequence[Tensor],
        site: int | None,
        rest: Sequence[Tensor | int],
        **shape: int | float,
    ) -> None:
        """`kernel`, with the tensors it reads, then the dropout `site` it is at (if any), then what it writes."""
        # A kernel that is told to look away is still given something to point at.
        dropout = [] if site is None else [self.bits[site] if self.bits else given[0], self.factor]
        told = {} if site is None else {"DROPOUT": bool(self.bits)}
        kernel[(triton.cdiv(self.cells, shape.get("LINES", options["TILE"])), self.runs)](
            *given, self.stride, *dropout, given[0] if self.sizes is None else self.sizes,
            self.problems, self.height, self.width, *rest,
            ENTRIES=entries(self.sizes), **told, **options, **shape,
        )  # fmt: skip


class KernelTransition(Function):
    """grid and attended [R,B,H,W,E] → the next grid, for each of its four readers.

    They are the next step's residual, its projections (in the precision of the products), the context and, the top
    row alone, the output: so their gradients come back apart, and are added up where they are needed.

    `packed` [R,P] holds a run's weights of FFN_3, then its biases, then the weight and bias of either norm; `low` is
    the same in the precision of the products. `bits` say which inputs of the three layers are kept, times `factor`
    (none: no dropout). `sizes` says which cells are computed (see `cells`): for the others the result is zero.
    """

    @staticmethod
    def forward(
        ctx: Any,
        grid: Tensor,
        attended: Tensor,
        packed: Tensor,
        low: Tensor,
        hidden: int,
        sizes: Tensor | None,
        bits: tuple[Tensor, ...] | None,
        factor: float,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        grid, attended = grid.contiguous(), attended.contiguous()
        batch = _Batch(grid, packed, low, hidden, sizes, bits or (), factor)
        narrow, wide = {"E": batch.features, "EPSILON": _EPSILON}, {"F": hidden}
        inputs = [batch.lines(size) for size in (batch.features, hidden, hidden)]
        batch.launch(_enter, _NARROW, (grid, attended, batch.norms), 0, inputs[:1], **narrow)
        first = torch.bmm(inputs[0], batch.weights[0])
        batch.launch(_activate, _WIDE, (first, batch.bias1), 1, inputs[1:2], **wide)
        second = torch.bmm(inputs[1], batch.weights[1])
        batch.launch(_activate, _WIDE, (second, batch.bias2), 2, inputs[2:], **wide)
        result = torch.bmm(inputs[2], batch.weights[2])
        new = torch.empty if sizes is None else torch.zeros
        out = new(grid.shape, dtype=grid.dtype, device=grid.device)
        coarse = new(grid.shape, dtype=low.dtype, device=grid.device)
        top = new(grid[:, :, 0].shape, dtype=grid.dtype, device=grid.device)
        batch.launch(_leave, _NARROW, (grid, attended, result, batch.norms), None, (out, coarse, top), **narrow)
        ctx.save_for_backward(grid, attended, packed, low, sizes, *inputs, first, second, result, *(bits or ()))
        ctx.arguments = (hidden, factor)
        ctx.set_materialize_grads(False)
        return out, coarse, out.view(out.shape), top

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        grid, attended, packed, low, sizes, *saved = ctx.saved_tensors
        inputs, (first, second, result), bits = saved[:3], saved[3:6], saved[6:]
        hidden, factor = ctx.arguments
        batch = _Batch(grid, packed, low, hidden, sizes, bits, factor)
        narrow, wide = {"E": batch.features, "EPSILON": _EPSILON, "LINES": _LINES}, {"F": hidden, "LINES": _LINES}
        back = [weight.transpose(1, 2) for weight in batch.weights]
        # Of the biases and norms, as they lie in `packed`: a sum for each program.
        total = 2 * hidden + 5 * batch.features
        by_vectors = packed.new_empty(batch.runs, triton.cdiv(batch.cells, _LINES), total)
        by_bias1, by_bias2, _, by_norms = by_vectors.split((hidden, hidden, batch.features, 4 * batch.features), 2)

        # A sample that has left now was there the step before, which adds up what comes back for it.
        by_sum = torch.zeros_like(grid) if entries(sizes) > 2 else torch.empty_like(grid)
        by_attended, by_result = torch.empty_like(attended), batch.lines(batch.features)
        given, results = (grid, attended, result, batch.norms), (by_sum, by_result, by_norms, total)
        come = [grid if gradient is None else gradient.contiguous() for gradient in gradients]
        told = {name: gradient is not None for name, gradient in zip(_READERS, gradients, strict=True)}
        batch.launch(_leave_back, _NARROW, given, None, (*come, *results), **narrow, **told)
        by_second = torch.bmm(by_result, back[2])
        batch.launch(_activate_back, _WIDE, (second, batch.bias2), 2, (by_second, by_bias2, total), **wide)
        by_first = torch.bmm(by_second, back[1])
        batch.launch(_activate_back, _WIDE, (first, batch.bias1), 1, (by_first, by_bias1, total), **wide)
        results = (torch.bmm(by_first, back[0]), by_sum, by_attended, by_norms, total)
        batch.launch(_enter_back, _NARROW, (grid, attended, batch.norms), 0, results, **narrow)
        by_outputs = (by_first, by_second, by_result)
        by_weights = [torch.bmm(x.transpose(1, 2), g).flatten(1) for x, g in zip(inputs, by_outputs, strict=True)]
        return by_sum, by_attended, torch.cat([*by_weights, by_vectors.sum(1)], 1), None, None, None, None, None
