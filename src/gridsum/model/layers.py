"""The layers every part is made of, each for R runs at once.

A layer's parameters lead with the run: a linear map's weight is [R, in, out], and `x` is [R, ..., in]. One run is
the case R = 1. Nothing mixes runs, so a run computes the same alone or in a fleet.
"""

import functools
import importlib.util
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, cast

import torch
from torch import Generator, Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

from gridsum.streams import Stream, lane_index, lane_threshold

# What the features dropped from a hidden layer are set to: SiLU and its slope are 0 there, as exp(-x) is infinite.
_DROPPED = -1e30
# Lines of cells in products of less precision come in so many.
_LINES = 512


@functools.cache
def _triton_installed() -> bool:
    return importlib.util.find_spec("triton") is not None


def triton_serves(x: Tensor) -> bool:
    """Whether the Triton kernels can take `x`: on a GPU, and in no more than float32."""
    return x.is_cuda and x.dtype != torch.float64 and _triton_installed()


def is_power_of_two(number: int) -> bool:
    """What a kernel needs of the features it computes together."""
    return number & (number - 1) == 0


class RunModule(nn.Module):
    """A module with parameters of its own, drawn run by run so that a seed gives the same weights in any fleet."""

    decayed: tuple[str, ...] = ()
    """The parameters that weight decay applies to."""

    def draw(self, run: int, generator: Generator) -> None:
        raise NotImplementedError(f"{type(self).__name__} must say how a run's parameters are drawn")


def draw_all(module: nn.Module, seeds: Sequence[int]) -> None:
    """Initialise run r of `module`, which lives on the CPU, from seeds[r]."""
    for parameter in module.parameters():
        if parameter.shape[0] != len(seeds):
            raise ValueError(f"{len(seeds)} seeds for {parameter.shape[0]} runs; give each run one")
    with torch.no_grad():
        for run, seed in enumerate(seeds):
            generator = torch.Generator().manual_seed(seed)
            for part in module.modules():
                if isinstance(part, RunModule):
                    part.draw(run, generator)


class Linear(RunModule):
    """x W + b, initialised as torch.nn.Linear is."""

    decayed = ("weight",)

    def __init__(self, runs: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(runs, outputs))

    def draw(self, run: int, generator: Generator) -> None:
        bound = 1 / math.sqrt(self.weight.shape[1])
        self.weight[run].uniform_(-bound, bound, generator=generator)
        self.bias[run].uniform_(-bound, bound, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        return apply_matrix(x, self.weight, self.bias)


def apply_matrix(x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [R,...,in] times matrix [R,in,out], plus bias [R,out]."""
    runs, inputs, outputs = matrix.shape
    if runs == 1:  # a plain product, as torch.nn.Linear computes it; squeezed, as the gradient of an index is a copy
        return F.linear(x, matrix.squeeze(0).T, None if bias is None else bias.squeeze(0))
    flat = x.reshape(runs, -1, inputs)
    if bias is None:
        product = torch.bmm(flat, matrix)
    elif x.is_cuda:
        # Products whose sides are no multiples of 8 have slow kernels. The sum fuses with what follows it, where
        # baddbmm would copy the bias to every cell first.
        product = torch.bmm(flat, F.pad(matrix, (0, -outputs % 8)))[..., :outputs] + bias[:, None]
    else:
        product = torch.baddbmm(bias[:, None], flat, matrix)
    return product.view(*x.shape[:-1], outputs)


def flatten(tensors: Iterable[Tensor]) -> Tensor:
    """[R, ...] tensors side by side: [R,P]."""
    return torch.cat([tensor.reshape(tensor.shape[0], -1) for tensor in tensors], 1)


class LayerNorm(RunModule):
    """Normalises the features of each cell."""

    def __init__(self, runs: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, features))
        self.bias = nn.Parameter(torch.empty(runs, features))

    def draw(self, run: int, generator: Generator) -> None:  # noqa: ARG002
        self.weight[run] = 1
        self.bias[run] = 0

    def forward(self, x: Tensor) -> Tensor:
        if self.weight.shape[0] == 1:
            return F.layer_norm(x, x.shape[-1:], self.weight.squeeze(0), self.bias.squeeze(0))
        shape = (-1, *[1] * (x.dim() - 2), x.shape[-1])
        return F.layer_norm(x, x.shape[-1:]) * self.weight.view(shape) + self.bias.view(shape)


@dataclass(frozen=True)
class Cells:
    """The cells of a batch, numbered by their place on its largest grid.

    So the same cells drop the same features whether a grid is computed at its own size or inside a larger one.
    """

    numbers: Tensor
    """int64, of any shape."""
    _lanes: dict[int, Tensor] = field(default_factory=dict)

    def lanes(self, features: int) -> Tensor:
        if features not in self._lanes:
            self._lanes[features] = lane_index(self.numbers, features)
        return self._lanes[features]


class Drop(Protocol):
    """Dropout at one place of the network."""

    def __call__(self, x: Tensor, in_place: bool = False) -> Tensor: ...


@dataclass(frozen=True)
class Dropout:
    """Which features are dropped at one place of the network: x is [R, *cells, F]."""

    stream: Stream
    cells: Cells
    probability: float

    @property
    def factor(self) -> float:
        """What the features that are kept are multiplied by."""
        return 1 / (1 - self.probability)

    def __call__(self, x: Tensor, in_place: bool = False) -> Tensor:
        if torch.compiler.is_compiling():
            lanes = self.stream.lanes(self.cells.lanes(x.shape[-1]))
            kept = (lanes >= lane_threshold(self.probability)).to(x.dtype)
        else:
            kept = self.kept(x)
        kept.mul_(self.factor)
        return x.mul_(kept) if in_place else x * kept

    def kept(self, x: Tensor) -> Tensor:
        """1 for the features of x that are kept, 0 for the others."""
        kept = torch.empty_like(x, memory_format=torch.contiguous_format)
        for part, lanes in self._lanes(x):
            # straight into numbers, which is several times faster than by way of booleans
            torch.ge(lanes, lane_threshold(self.probability), out=kept.view(len(x), -1)[:, part])
        return kept

    def exclude(self, hidden: Tensor) -> None:
        """Set the dropped features of a hidden layer, before its SiLU, to where SiLU is 0: in place."""
        for part, lanes in self._lanes(hidden):
            dropped = torch.lt(lanes, lane_threshold(self.probability), out=hidden.new_empty(lanes.shape))
            hidden.view(len(hidden), -1)[:, part].add_(dropped, alpha=_DROPPED)

    def _lanes(self, x: Tensor) -> Iterator[tuple[slice, Tensor]]:
        return self.stream.lane_parts(self.cells.lanes(x.shape[-1]))


@dataclass(frozen=True)
class PackedDropout:
    """The same with the decisions made before: a bit a feature, uint8 [R, *cells, F / 8]."""

    bits: Tensor
    probability: float

    @property
    def factor(self) -> float:
        """What the features that are kept are multiplied by."""
        return 1 / (1 - self.probability)

    def __call__(self, x: Tensor, in_place: bool = False) -> Tensor:
        bits = (self.bits[..., None] >> torch.arange(8, dtype=torch.uint8, device=x.device)) & 1
        kept = bits.flatten(-2).to(x.dtype) * self.factor
        return x.mul_(kept) if in_place else x * kept


class FeedForward(nn.Module):
    """FFN_L of Eq. 1: linear layers with SiLU between them, dropout (if any) on the input of each."""

    products: torch.dtype | None = None
    """What a CPU multiplies in where there is a gradient to compute, if not in the dtype of x."""

    def __init__(self, runs: int, sizes: Sequence[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Linear(runs, *pair) for pair in pairwise(sizes))

    def forward(self, x: Tensor, dropouts: Sequence[Drop] | None = None) -> Tensor:
        if self._fuses(x, dropouts):
            layers = cast("Iterable[Linear]", self.layers)
            parameters = (part for layer in layers for part in layer.parameters())
            return FusedFeedForward.apply(x, dropouts, self.products or x.dtype, *parameters)
        for index, layer in enumerate(self.layers):
            x = F.silu(x) if index else x
            # SiLU's gradient does not need its result, so that may be overwritten.
            x = layer(dropouts[index](x, in_place=index > 0) if dropouts else x)
        return x

    def _fuses(self, x: Tensor, dropouts: Sequence[Drop] | None) -> bool:
        """Whether the fast form serves: eagerly on a CPU, where there is a gradient to compute."""
        drops = all(isinstance(drop, Dropout) for drop in dropouts or ())
        return drops and torch.is_grad_enabled() and not (x.is_cuda or torch.compiler.is_compiling())


class FusedFeedForward(Function):
    """FFN_L for eager torch, from weight and bias (if any) of each layer in turn; products and hidden layers in `kind`.

    Dropout costs the gradient nothing: features that are dropped from a hidden layer are set to where SiLU is 0, and
    the factor of the others goes into the products.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, dropouts: Sequence[Dropout] | None, kind: torch.dtype, *parameters: Tensor | None
    ) -> Tensor:
        ctx.factor = dropouts[0].factor if dropouts else 1.0
        kept = dropouts[0].kept(x) if dropouts else None
        values, inputs, hidden = _lines(x if kept is None else x * kept, kind), [], []
        weights = [cast("Tensor", weight).to(kind) for weight in parameters[::2]]
        for index, (weight, bias) in enumerate(zip(weights, parameters[1::2], strict=True)):
            if index:
                if dropouts:
                    dropouts[index].exclude(values)
                hidden.append(values)
                values = F.silu(values)
            inputs.append(values)
            values = _product(values, weight, ctx.factor, bias if bias is None else bias.to(kind))
        ctx.save_for_backward(kept, *inputs, *hidden, *weights)
        return _cells(values, x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        kept, *saved = ctx.saved_tensors
        depth = (len(saved) + 1) // 3
        inputs, hidden, weights = saved[:depth], saved[depth : 2 * depth - 1], saved[2 * depth - 1 :]
        given, by_parameters = gradients[0], []
        gradient = _lines(given, weights[0].dtype)
        for index in reversed(range(depth)):
            by_weight = _product(inputs[index].transpose(1, 2), gradient, ctx.factor).to(given.dtype)
            has_bias = ctx.needs_input_grad[2 * index + 4]
            by_parameters[:0] = by_weight, gradient.sum(1, dtype=given.dtype) if has_bias else None
            gradient = _product(gradient, weights[index].transpose(1, 2), ctx.factor)
            if index:
                torch.ops.aten.silu_backward.grad_input(gradient, hidden[index - 1], grad_input=gradient)
        by_x = _cells(gradient, given)
        return by_x if kept is None else by_x.mul_(kept), None, None, *by_parameters


def _lines(x: Tensor, kind: torch.dtype) -> Tensor:
    """x [R,...,F] as lines [R,n,F] of another dtype, some zero ones after its own.

    oneDNN, which computes products of less precision, takes milliseconds to prepare for a number of lines that it has
    not met before. Samples that leave would show it new ones at every step.
    """
    lines = x.flatten(1, -2)
    if kind == x.dtype:
        return lines
    count = lines.shape[1]
    result = x.new_empty(len(x), count + -count % _LINES, x.shape[-1], dtype=kind)
    result[:, :count] = lines
    result[:, count:] = 0
    return result


def _cells(lines: Tensor, like: Tensor) -> Tensor:
    """What `_lines` made of cells, as cells again, of the shape and dtype of `like` but for the features."""
    shape = like.shape[:-1]
    return lines[:, : math.prod(shape[1:])].to(like.dtype).view(*shape, lines.shape[-1])


def _product(x: Tensor, matrix: Tensor, factor: float, bias: Tensor | None = None) -> Tensor:
    """factor · x [R,n,in] times matrix [R,in,out], plus bias [R,out]."""
    start = x.new_empty(()) if bias is None else bias[:, None]
    if len(x) == 1:
        return torch.addmm(start.view(1, -1), x[0], matrix[0], beta=bias is not None, alpha=factor)[None]
    return torch.baddbmm(start, x, matrix, beta=bias is not None, alpha=factor)
