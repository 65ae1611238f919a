"""How far rounding can move the bits of a network: in every entry of its rule, in float32, summed in any order.

Every number of a step is enclosed: a middle, computed in float64, and how far whatever float32 makes of it can be off.
A sum of n products, rounded in any order, fused or not, is off by at most γ_n = n u / (1 − n u) times the sum of their
sizes, u = 2⁻²⁴ (Higham, Accuracy and Stability of Numerical Algorithms, chapter 3). Up to the first norm each number
has a bound of its own (`Box`), from there on each vector has one, of its length (`Ball`), which a layer stretches by
its largest singular value. Where a logit is further from 0 than it can be off, its bit is certain. Of float32 it is
assumed that sums and products are rounded to nearest, and that exp, division and roots are within 8 u of the truth:
so of TF32 and bfloat16 nothing is said.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.rule import LearnedRule, entries
from gridsum.automaton.table import RuleTable
from gridsum.config.exact import PROVABLE
from gridsum.model.rule import SHARPNESS
from gridsum.ops.attention import block_matrix

_UNIT = 2.0**-24
_FUNCTION = 8 * _UNIT
"""How far exp, a division or a root may be off."""
_OUTWARD = 1 + 2.0**-30
"""Bounds are made larger by this, which is far more than float64 is off."""
_SLOPE = 1.1
"""SiLU is nowhere steeper."""
_EPSILON = 1e-5
"""Of LayerNorm."""


@dataclass(frozen=True)
class Certainty:
    """What rounding can do, over all entries of a table."""

    entries: int
    different: int
    """Entries of which a bit is not certain, or not what the table says; and such readings and actions of symbols."""
    error: float
    """How far a logit can be off."""
    surplus: float
    """How much further from 0 each logit is than it can be off, at least."""


@dataclass(frozen=True)
class Box:
    """Numbers, and how far each can be off."""

    middle: Tensor
    off: Tensor

    @property
    def size(self) -> Tensor:
        return self.middle.abs() + self.off

    def rows(self, which: Tensor) -> "Box":
        return Box(self.middle[which], self.off[which])

    def further(self, by: Tensor) -> Self:
        return type(self)(self.middle, (self.off + by) * _OUTWARD)

    def __add__(self, other: Self) -> Self:
        plain = type(self)(self.middle + other.middle, self.off + other.off)
        return plain.further(_UNIT * plain.size)

    def silu(self) -> Self:
        plain = type(self)(F.silu(self.middle), _SLOPE * self.off)
        return plain.further(3 * _FUNCTION * plain.size)

    def layer(self, weight: Tensor, bias: Tensor) -> Self:
        """Zeros of the weight make no sum longer."""
        plain = type(self)(self.middle @ weight + bias, self.off @ weight.abs())
        return plain.further(_gamma(int((weight != 0).sum(0).max())) * (self.size @ weight.abs() + bias.abs()))


class Ball(Box):
    """Vectors [...,E], and how far each can be off [...], as the length of a difference."""

    @property
    def size(self) -> Tensor:
        return self.middle.norm(dim=-1) + self.off

    def layer(self, weight: Tensor, bias: Tensor) -> Self:
        plain = type(self)(self.middle @ weight + bias, torch.linalg.matrix_norm(weight, 2) * self.off)
        return plain.further(_gamma(len(weight)) * (self.size * weight.norm() + bias.norm()))


def _gamma(terms: int) -> float:
    """For a sum of so many terms and a bias; one more is for float64."""
    return (terms + 2) * _UNIT / (1 - (terms + 2) * _UNIT)


def score(query: Box, key: Box, relative: Tensor) -> Box:
    beside = key + Box(relative, torch.zeros_like(relative))
    plain = Box(query.middle * beside.middle, query.off * beside.size + query.middle.abs() * beside.off)
    return plain.further(_UNIT * plain.size)


def attend(scores: Sequence[Box], values: Sequence[Box]) -> Box:
    """Σ softmax(score) · value over places.

    By its derivative, the sum moves with a score by share · (1 − share) · how far the values lie apart, at most; shares
    that move themselves make this larger by less than `growth`. A share is exp of a rounded difference, over a rounded
    sum of such: off by (far + 27) u of itself, and so with its product and the sum by less than (far + 50) u.
    """
    plain, wrong = (torch.stack([getattr(one, part) for one in scores]) for part in ("middle", "off"))
    held, off, size = (torch.stack([getattr(one, part) for one in values]) for part in ("middle", "off", "size"))
    share, growth = plain.softmax(0), (4 * wrong.max()).exp()
    moved = (1 - share) * wrong * (held.amax(0) - held.amin(0))
    rounding = _UNIT * (plain.amax(0) - plain + 50) * size
    return Box((share * held).sum(0), growth * (share * (moved + off + rounding)).sum(0) * _OUTWARD)


def layer_norm(x: Ball, norm: torch.nn.Module) -> Ball:
    """d / √(d²/n + ε), of the differences d from the mean, stretches by 1/√(d²/n + ε) at most.

    The variance may be computed as the mean of d², or as that of x² less the square of the mean, or on the way.
    """
    features = x.middle.shape[-1]
    weight, bias = _parameters(norm)
    rounding = _gamma(features + 2)
    apart = Ball(x.middle - x.middle.mean(-1, keepdim=True), x.off).further(2 * rounding * x.size)
    shortest = (apart.middle.norm(dim=-1) - apart.off).clamp(min=0)
    moved = 2 * rounding * x.size.square() / features
    scale = (apart.middle.square().mean(-1) + _EPSILON).rsqrt()
    least = (shortest.square() / features - moved).clamp(min=0) + _EPSILON
    stretch = least.rsqrt()
    # 1/√v changes by at most moved / (2 v^1.5); x · scale − mean · scale may be what is computed
    by_variance = apart.size * moved * stretch**3 / 2
    normed = Ball(apart.middle * scale[..., None], apart.off * stretch + by_variance)
    normed = normed.further((2 * _FUNCTION + 4 * _UNIT) * 2 * x.size * stretch)
    made = Ball(normed.middle * weight + bias, normed.off * weight.abs().max())
    return made.further(4 * _UNIT * (normed.size * weight.abs().max() + bias.norm()))


def _parameters(module: torch.nn.Module) -> tuple[Tensor, Tensor]:
    """Weight and bias of the only run."""
    return module.get_parameter("weight")[0], module.get_parameter("bias")[0]


class Enclosed:
    """The step of a network of one run, in float64."""

    def __init__(self, rule: LearnedRule) -> None:
        self.rule, self.network, looking = rule, rule.network, rule.network.looking
        to_query, to_key, to_value = block_matrix(looking.projection)[0].chunk(3, -1)
        symbols, nothing = rule.vectors()[0], to_key.new_zeros(len(to_key))
        self.cell = Box(symbols, torch.zeros_like(symbols)).layer(*_parameters(self.network.own))
        self.query = self.cell.layer(to_query, looking.query[0])
        keys, values = self.through_view(to_key, nothing), self.through_view(to_value, nothing)
        self.keys, self.values = (
            Box(F.pad(shown.middle, (0, 0, 0, 1)), F.pad(shown.off, (0, 0, 0, 1))) for shown in (keys, values)
        )

    def through_view(self, weight: Tensor, bias: Tensor) -> Box:
        """What another layer makes of the view of each state. Either product may be computed first."""
        (view, first), patterns = _parameters(self.network.view), self.rule.patterns
        size = (patterns.abs() @ view.abs() + first.abs()) @ weight.abs() + bias.abs()
        return Box((patterns @ view + first) @ weight + bias, _gamma(len(view) + len(weight) + 1) * size)

    def logits(self, x: Tensor, contexts: Tensor) -> Box:
        """Of symbols x [N] and contexts [N,3]: left, right, below."""
        network, transition, query = self.network, self.network.transition, self.query.rows(x)
        seen = [contexts[:, PROVABLE.index(name)] for name in network.config.positions]
        places = zip(seen, network.looking.relative[0], strict=True)
        scores = [score(query, self.keys.rows(state), relative) for state, relative in places]
        attended = self.cell.rows(x) + attend(scores, [self.values.rows(state) for state in seen])
        between = layer_norm(Ball(attended.middle, attended.off.norm(dim=-1)), transition.norm_attention)
        first, *others = transition.feed_forward.layers
        made = between.layer(*_parameters(first))
        for layer in others:
            made = made.silu().layer(*_parameters(layer))
        last = layer_norm(between + made, transition.norm_feed_forward)
        weight, bias = _parameters(network.logits)
        rounding = _gamma(len(weight) + 1)
        off = (last.off + rounding * last.size)[:, None] * weight.norm(dim=0) + rounding * bias.abs()
        return Box(SHARPNESS * (last.middle @ weight + bias), SHARPNESS * off * _OUTWARD)

    def readings(self) -> Box:
        """The logits over Σ of each state."""
        return self.through_view(*_parameters(self.network.reading))

    def actions(self) -> Box:
        """The logits of the actions of each symbol."""
        first, second = map(_parameters, self.network.placement.encoder.layers)
        symbols = self.network.vectors()[0]
        return Box(symbols, torch.zeros_like(symbols)).layer(*first).silu().layer(*second)


def _undecided(logits: Box, chosen: Sequence[int]) -> int:
    """How many rows have another number that may be larger than the chosen one, or as large within a thousandth."""
    which = torch.tensor(chosen)[:, None]
    least = (logits.middle - logits.off).gather(1, which)
    most = (logits.middle + logits.off).scatter(1, which, -torch.inf)
    return int((least <= most.amax(1, keepdim=True) + 1e-3).sum())


@torch.no_grad()
def certainty(rule: LearnedRule, table: RuleTable) -> Certainty:
    """Whether float32 can come to another state in any entry. The rule's network is one in float64, on the CPU."""
    enclosed = Enclosed(rule)
    different = _undecided(enclosed.readings().rows(torch.tensor(table.states)), table.outputs)
    different += _undecided(enclosed.actions(), table.actions)
    error, surplus = 0.0, float("inf")
    for x, contexts, wanted in entries(rule, table):
        z = enclosed.logits(x, contexts)
        certain = (z.middle.abs() > z.off).all(1) & (rule.states_of(z.middle) == wanted)
        different += int((~certain).sum())
        error, surplus = max(error, float(z.off.max())), min(surplus, float((z.middle.abs() - z.off).min()))
    return Certainty(table.steps.size, different, error, surplus)
