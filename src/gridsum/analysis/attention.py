"""Which rule an attention head follows: what decides where it looks.

The score (Q+s)·(K+r) of Eq. 7 has four terms. Which of them dominates cannot be read from their size: a softmax does
not see what is the same for all neighbours, and hardly sees differences once it has decided. So a head is judged by
what it does. Over the cells c of a computation (all of them, in all steps) it attends to the neighbour at offset δ
with weight A_c(δ). Its selectivity, how far it is from looking everywhere alike, is exactly a sum of three parts:

    log k² − mean_c H(A_c)  =  [log k² − H(Ā)]  +  [H(Ā) − mean_b H(Ā_b)]  +  [mean_b H(Ā_b) − mean_c H(A_c)]
                                 position            border                     content

Ā is the mean attention of all cells, Ā_b that of the cells which have the same neighbours outside the grid (in the
second and third mean every b counts by its cells). `position` is what looking at the same offset everywhere explains,
`border` what knowing the grid's edge adds (mutual information), `content` what then is left to the vectors. No part
is negative. Shares are of the sum; bits are their unit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from gridsum.analysis import FigureError
from gridsum.model.inside import Trace
from gridsum.model.paper import LocalAttention
from gridsum.ops.grids import neighbours, places_around

HeadLabel = Literal["position-based", "content-based", "mixed", "unselective"]

CLEAR_SHARE = 2 / 3
"""A head is named after the part that makes up at least this share of its selectivity."""
LEAST_SELECTIVITY = 0.1
"""Bits (of log₂ 9 = 3.17 for a 3 × 3 neighbourhood) below which a head looks everywhere alike: no rule to name."""


class Place(NamedTuple):
    """A cell in a step of one of the computations looked at; the step is that from n to n+1."""

    trace: int
    step: int
    row: int
    column: int


@dataclass(frozen=True)
class HeadRule:
    """What decides where one head looks."""

    head: int
    label: HeadLabel
    position: float
    """Bits, as the module says."""
    border: float
    content: float
    mean_attention: tuple[float, ...]
    """Ā, over the k² offsets row by row."""
    example: Place
    """Where the rule shows best: the attention nearest to Ā for a position-based head, farthest from it for others."""

    @property
    def selectivity(self) -> float:
        """Bits by which the head is narrower than looking everywhere alike."""
        return self.position + self.border + self.content


@torch.no_grad()
def head_rules(attention: LocalAttention, traces: Sequence[Trace]) -> list[HeadRule]:
    """The rule of every head, in order, on the computations given (of a model of one run)."""
    # Of every cell of every step, C of them: attention [C,k²,h], a number for the neighbours outside the grid, place.
    parts, numbers, places = list[Tensor](), list[Tensor](), list[Place]()
    for index, trace in enumerate(traces):
        inside = trace.grids.new_ones(1, 1, *trace.grids.shape[1:3], 1)
        seen = torch.stack(neighbours(inside, places_around(attention.kernel, attention.kernel)))[:, 0, 0, :, :, 0]
        number = ((seen == 0) * 2 ** torch.arange(len(seen), device=seen.device)[:, None, None]).sum(0)
        for step, grid in enumerate(trace.grids[:-1]):
            weights = attention.weights(grid[None, None])[:, 0, 0]
            parts.append(weights.flatten(1, 2).transpose(0, 1).double())
            numbers.append(number.flatten())
            places += [Place(index, step, *divmod(cell, grid.shape[1])) for cell in range(number.numel())]
    if not places:
        raise FigureError("the computation halts before any step, so no head has looked anywhere; choose another sum")
    weights, borders = torch.cat(parts), torch.cat(numbers)
    mean = weights.mean(0)
    narrow = math.log2(weights.shape[1])
    position = narrow - _entropy(mean, 0)
    kinds, kind, count = borders.unique(return_inverse=True, return_counts=True)
    means = weights.new_zeros(len(kinds), *weights.shape[1:]).index_add(0, kind, weights) / count[:, None, None]
    by_border = (_entropy(means, 1) * count[:, None]).sum(0) / len(borders)
    border = _entropy(mean, 0) - by_border
    content = by_border - _entropy(weights, 1).mean(0)
    surprise = (torch.special.xlogy(weights, weights) - torch.special.xlogy(weights, mean)).sum(1)
    bits = torch.stack((position, border, content), 1).clamp_min(0)
    rules = []
    for head, parts in enumerate(bits.tolist()):
        label = _label(*parts)
        best = surprise[:, head].argmin() if label == "position-based" else surprise[:, head].argmax()
        example, mean_of_head = places[int(best)], tuple(mean[:, head].tolist())
        rules.append(HeadRule(head, label, *parts, mean_attention=mean_of_head, example=example))
    return rules


def clearest(rules: Sequence[HeadRule], part: Literal["position", "content"]) -> HeadRule:
    """The head with most bits of this part over the others: of those based on it, else of those that choose at all."""
    selective = [rule for rule in rules if rule.label != "unselective"]
    of_a_kind = [rule for rule in rules if rule.label == f"{part}-based"]
    return max(of_a_kind or selective or rules, key=lambda rule: 2 * getattr(rule, part) - rule.selectivity)


def _label(position: float, border: float, content: float) -> HeadLabel:
    selectivity = position + border + content
    if selectivity < LEAST_SELECTIVITY:
        return "unselective"
    if position >= CLEAR_SHARE * selectivity:
        return "position-based"
    return "content-based" if content >= CLEAR_SHARE * selectivity else "mixed"


def _entropy(weights: Tensor, dim: int) -> Tensor:
    return -torch.special.xlogy(weights, weights).sum(dim) / math.log(2)
