"""Which rule an attention head follows: the terms of its score (Eq. 7), and what decides where it looks.

The score (Q+s)·(K+r) has four terms. Which of them dominates cannot be read from their size alone: a softmax does
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

from gridsum.model.inside import Trace
from gridsum.model.paper import LocalAttention
from gridsum.ops.attention.plain import neighbours

HeadLabel = Literal["position-based", "content-based", "mixed", "unselective"]

CLEAR_SHARE = 2 / 3
"""A head is named after the part that makes up at least this share of its selectivity."""
TERMS = ("Q·K", "s·K", "Q·r", "s·r")
LEAST_SELECTIVITY = 0.1
"""Bits (of log₂ 9 = 3.17 for a 3 × 3 neighbourhood) below which a head looks everywhere alike: no rule to name."""


class RuleError(ValueError):
    """Computations that show no rule; the message says what to do."""


@torch.no_grad()
def score_terms(attention: LocalAttention, grid: Tensor) -> Tensor:
    """(Q+s)·(K+r) = Q·K + s·K + Q·r + s·r on one grid [H,W,E] under a model of one run.

    [4,k²,H,W,h]: each of `TERMS` for every neighbour, cell and head. Outside the grid K is zero. Without a query
    encoding s, the terms with s are zero.
    """
    assert grid.dim() == 3, "one grid [rows, columns, features]"
    assert attention.relative.shape[0] == 1, "a model of one run"
    batch = grid[None, None]
    query, key, _ = attention.project(batch).chunk(3, -1)
    bias = torch.zeros_like(query) if attention.query is None else attention.query[:, None, None, None].expand_as(query)
    around = torch.stack(neighbours(key, attention.kernel))
    encoding = attention.relative.flatten(1, 2).transpose(0, 1)[:, :, None, None, None].expand_as(around)

    def product(a: Tensor, b: Tensor) -> Tensor:
        return (a * b).unflatten(-1, (attention.heads, -1)).sum(-1)[:, 0, 0]

    return torch.stack([product(a, b) for b in (around, encoding) for a in (query, bias)])


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
    term_shares: tuple[float, float, float, float]
    """How much of the score's variance over the neighbours goes along with each of `TERMS` (their covariance with the
    score over its variance): they sum to 1, and one is negative where it works against the others."""

    @property
    def selectivity(self) -> float:
        """Bits by which the head is narrower than looking everywhere alike."""
        return self.position + self.border + self.content


def head_rules(attention: LocalAttention, traces: Sequence[Trace]) -> list[HeadRule]:
    """The rule of every head, in order, on the computations given (of a model of one run)."""
    looked = _collect(attention, traces)
    weights = looked.scores.softmax(1)
    mean = weights.mean(0)
    narrow = math.log2(weights.shape[1])
    position = narrow - _entropy(mean, 0)
    by_border = _entropy_by_border(weights, looked.borders)
    border = _entropy(mean, 0) - by_border
    content = by_border - _entropy(weights, 1).mean(0)
    surprise = (torch.special.xlogy(weights, weights) - torch.special.xlogy(weights, mean)).sum(1)
    rules = []
    for head in range(weights.shape[-1]):
        bits = [max(0.0, float(part[head])) for part in (position, border, content)]
        label = _label(*bits)
        best = surprise[:, head].argmin() if label == "position-based" else surprise[:, head].argmax()
        rules.append(
            HeadRule(
                head=head,
                label=label,
                position=bits[0],
                border=bits[1],
                content=bits[2],
                mean_attention=tuple(mean[:, head].tolist()),
                example=looked.places[int(best)],
                term_shares=looked.shares[head],
            )
        )
    return rules


def clearest(rules: Sequence[HeadRule], part: Literal["position", "content"]) -> HeadRule:
    """Of the heads based on it the one with most bits of this part over the others.

    Where there are none, it is one of those that choose at all, and else of all.
    """
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


class _Looked(NamedTuple):
    """Every cell of every step: C of them."""

    scores: Tensor
    """[C,k²,h]"""
    borders: Tensor
    """[C], a number for each set of neighbours outside the grid."""
    places: list[Place]
    shares: list[tuple[float, float, float, float]]
    """Of each head."""


def _collect(attention: LocalAttention, traces: Sequence[Trace]) -> _Looked:
    parts, borders, places = list[Tensor](), list[Tensor](), list[Place]()
    for index, trace in enumerate(traces):
        inside = trace.grids.new_ones(1, 1, *trace.grids.shape[1:3], 1)
        outside = torch.stack(neighbours(inside, attention.kernel))[:, 0, 0, :, :, 0] == 0
        number = (outside * 2 ** torch.arange(len(outside), device=outside.device)[:, None, None]).sum(0)
        for step, grid in enumerate(trace.grids[:-1]):
            parts.append(score_terms(attention, grid).flatten(2, 3).transpose(1, 2).double())
            borders.append(number.flatten())
            places += [Place(index, step, *divmod(cell, grid.shape[1])) for cell in range(number.numel())]
    if not places:
        raise RuleError("the computation halts before any step, so no head has looked anywhere; choose another sum")
    terms = torch.cat(parts, 1)
    scores = terms.sum(0)
    # What is added to all neighbours alike is no part of the rule: the softmax does not see it.
    centred, total = terms - terms.mean(2, keepdim=True), scores - scores.mean(1, keepdim=True)
    variance = (total**2).sum((0, 1)).clamp(min=torch.finfo(total.dtype).tiny)
    shares = ((centred * total).sum((1, 2)) / variance).T.tolist()
    return _Looked(scores, torch.cat(borders), places, [tuple(share) for share in shares])


def _entropy_by_border(weights: Tensor, borders: Tensor) -> Tensor:
    """mean_b H(Ā_b), [h]."""
    kinds, kind, count = borders.unique(return_inverse=True, return_counts=True)
    sums = weights.new_zeros(len(kinds), *weights.shape[1:]).index_add(0, kind, weights)
    means = sums / count[:, None, None]
    return (_entropy(means, 1) * count[:, None]).sum(0) / len(borders)


def _entropy(weights: Tensor, dim: int) -> Tensor:
    return -torch.special.xlogy(weights, weights).sum(dim) / math.log(2)
