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

    @classmethod
    def exactly(cls, middle: Tensor) -> "Box":
        return cls(middle, torch.zeros_like(middle))

    @property
    def size(self) -> Tensor:
        return self.middle.abs() + self.off

    def rows(self, which: Tensor) -> "Box":
        return Box(self.middle[which], self.off[which])

    def further(self, by: Tensor) -> "Box":
        return Box(self.middle, (self.off + by) * _OUTWARD)

    def __add__(self, other: "Box") -> "Box":
        plain = Box(self.middle + other.middle, self.off + other.off)
        return plain.further(_UNIT * plain.size)

    def __mul__(self, other: "Box") -> "Box":
        plain = Box(self.middle * other.middle, self.size * other.size - self.middle.abs() * other.middle.abs())
        return plain.further(_UNIT * plain.size)

    def __matmul__(self, other: "Box") -> "Box":
        """Of a matrix [in,out]; its zeros make no sum longer."""
        rounding = _gamma(int((other.middle != 0).sum(0).max()))
        off = (self.off + rounding * self.size) @ other.size + self.middle.abs() @ other.off
        return Box(self.middle @ other.middle, off * _OUTWARD)


@dataclass(frozen=True)
class Ball:
    """Vectors [...,E], and how far each can be off [...], as the length of a difference."""

    middle: Tensor
    off: Tensor

    @property
    def size(self) -> Tensor:
        return self.middle.norm(dim=-1) + self.off

    def further(self, by: Tensor) -> "Ball":
        return Ball(self.middle, (self.off + by) * _OUTWARD)

    def __add__(self, other: "Ball") -> "Ball":
        plain = Ball(self.middle + other.middle, self.off + other.off)
        return plain.further(_UNIT * plain.size)


def _gamma(terms: int) -> float:
    """For a sum of so many terms and a bias; one more is for float64."""
    return (terms + 2) * _UNIT / (1 - (terms + 2) * _UNIT)


def product(x: Box, matrix: Box, bias: Box) -> Box:
    """x times a matrix, plus a bias, which may be the first of the sum."""
    return (x @ matrix + bias).further(_gamma(len(matrix.middle)) * bias.size)


def _layer(linear: torch.nn.Module, x: Box) -> Box:
    return product(x, *(Box.exactly(linear.get_parameter(name)[0]) for name in ("weight", "bias")))


def _layer_of_ball(linear: torch.nn.Module, x: Ball) -> Ball:
    weight, bias = (linear.get_parameter(name)[0] for name in ("weight", "bias"))
    plain = Ball(x.middle @ weight + bias, torch.linalg.matrix_norm(weight, 2) * x.off)
    return plain.further(_gamma(len(weight)) * (x.size * weight.norm() + bias.norm()))


def attend(scores: Sequence[Box], values: Sequence[Box]) -> Box:
    """Σ softmax(score) · value over places. A share grows with its own score and falls with the others."""
    plain = torch.stack([score.middle for score in scores]).softmax(0)
    top = torch.stack([score.middle + score.off for score in scores]).amax(0)
    far = [top - score.middle + score.off for score in scores]
    together = (plain * torch.stack(far)).sum(0)
    terms = []
    for k, (score, share, value) in enumerate(zip(scores, plain, values, strict=True)):
        others = [other for j, other in enumerate(scores) if j != k]
        low, high = (
            1 / (1 + sum(((o.middle + sign * o.off) - (score.middle - sign * score.off)).exp() for o in others))
            for sign in (1, -1)
        )
        # exp of a rounded difference, over a rounded sum of such
        rounding = high * (2 * _UNIT * (far[k] + together) + 4 * _FUNCTION)
        terms.append(Box(share, torch.maximum(high - share, share - low) + rounding) * value)
    middle, off, size = (
        torch.stack([getattr(term, part) for term in terms]).sum(0) for part in ("middle", "off", "size")
    )
    return Box(middle, off).further(_gamma(len(terms)) * size)


def silu(x: Ball) -> Ball:
    plain = Ball(F.silu(x.middle), _SLOPE * x.off)
    return plain.further(3 * _FUNCTION * plain.size)


def layer_norm(x: Ball, norm: torch.nn.Module) -> Ball:
    """d / √(d²/n + ε), of the differences d from the mean, stretches by 1/√(d²/n + ε) at most.

    The variance may be computed as the mean of d², or as that of x² less the square of the mean, or on the way.
    """
    features = x.middle.shape[-1]
    weight, bias = (norm.get_parameter(name)[0] for name in ("weight", "bias"))
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


class Enclosed:
    """The step of a network of one run, in float64."""

    def __init__(self, rule: LearnedRule) -> None:
        self.rule, self.network, looking = rule, rule.network, rule.network.looking
        to_query, to_key, to_value = block_matrix(looking.projection)[0].chunk(3, -1)
        self.cell = _layer(self.network.own, Box.exactly(rule.vectors()[0]))
        self.query = product(self.cell, Box.exactly(to_query), Box.exactly(looking.query[0]))
        self.keys, self.values = (
            Box(F.pad(shown.middle, (0, 0, 0, 1)), F.pad(shown.off, (0, 0, 0, 1)))
            for shown in (self.through_view(to_key), self.through_view(to_value))
        )

    def through_view(self, matrix: Tensor) -> Box:
        """What another matrix makes of the view of each state. Either product may be computed first."""
        view, patterns, after = self.network.view, Box.exactly(self.rule.patterns), Box.exactly(matrix)
        one = _layer(view, patterns) @ after
        other = product(patterns, Box.exactly(view.weight[0]) @ after, Box.exactly(view.bias) @ after)
        return Box(one.middle, torch.maximum(one.off, other.off)).further((one.middle - other.middle).abs())

    def logits(self, x: Tensor, contexts: Tensor) -> Box:
        """Of symbols x [N] and contexts [N,3]: left, right, below."""
        network, transition, query = self.network, self.network.transition, self.query.rows(x)
        seen = [contexts[:, PROVABLE.index(name)] for name in network.config.positions]
        places = zip(seen, network.looking.relative[0], strict=True)
        scores = [query * (self.keys.rows(state) + Box.exactly(relative)) for state, relative in places]
        attended = self.cell.rows(x) + attend(scores, [self.values.rows(state) for state in seen])
        between = layer_norm(Ball(attended.middle, attended.off.norm(dim=-1)), transition.norm_attention)
        made = between
        for index, layer in enumerate(transition.feed_forward.layers):
            made = _layer_of_ball(layer, silu(made) if index else made)
        last = layer_norm(between + made, transition.norm_feed_forward)
        weight, bias = network.logits.weight[0], network.logits.bias[0]
        rounding = _gamma(len(weight) + 1)
        off = (last.off + rounding * last.size)[:, None] * weight.norm(dim=0) + rounding * bias.abs()
        return Box(SHARPNESS * (last.middle @ weight + bias), SHARPNESS * off * _OUTWARD)

    def readings(self) -> Box:
        """The logits over Σ of each state."""
        matrix, bias = self.network.reading.weight[0], Box.exactly(self.network.reading.bias[0])
        return (self.through_view(matrix) + bias).further(_gamma(len(matrix)) * bias.size)

    def actions(self) -> Box:
        """The logits of the actions of each symbol."""
        first, second = self.network.placement.encoder.layers
        hidden = _layer(first, Box.exactly(self.network.vectors()[0]))
        smooth = Box(F.silu(hidden.middle), _SLOPE * hidden.off)
        return _layer(second, smooth.further(3 * _FUNCTION * smooth.size))


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
