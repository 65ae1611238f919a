import dataclasses
import math
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gridsum.analysis import FigureError
from gridsum.analysis.attention import (
    CLEAR_SHARE,
    LEAST_SELECTIVITY,
    clearest,
    head_rules,
)
from gridsum.model.inside import Trace
from gridsum.model.paper import LocalAttention
from gridsum.model.runs import generators
from gridsum.model.store import load
from tests.figures.conftest import traced as traced_sum
from tests.oracles.column_addition import ADD


def layer(groups: int, heads: int, query_encoding: bool, seed: int = 0) -> LocalAttention:
    return LocalAttention(generators([seed]), 16, groups, heads, 3, query_encoding)


def traced(*grids: torch.Tensor) -> Trace:
    """A trace that holds these grids; rules are made of grids alone."""
    stacked = torch.stack([*grids, grids[-1]])
    decoded = torch.zeros(*stacked.shape[:3], 13)
    return Trace(torch.zeros(1), torch.zeros(1, 3), stacked, decoded, None, None, ADD.alphabet.symbols)


def test_bits_are_those_of_the_attention_counted_cell_by_cell(base, traces):
    """Straight from the definition: means over cells, over cells of the same border, and each cell alone."""
    rules = head_rules(base.network.step.attention, traces)
    weights, borders = [], []
    for shown in traces:
        attention = base.network.step.attention.weights(shown.grids[None, :-1])[:, 0].detach()
        _, steps, height, width, _ = attention.shape
        for n, i, j in product(range(steps), range(height), range(width)):
            weights.append(attention[:, n, i, j].double().numpy())
            borders.append((i == 0, i == height - 1, j == 0, j == width - 1))
    weights = np.stack(weights)

    def entropy(p: np.ndarray) -> np.ndarray:
        return -(p * np.log2(p)).sum(0)

    mean_entropy = np.mean([entropy(cell) for cell in weights], 0)
    of_mean = entropy(weights.mean(0))
    of_borders = np.zeros_like(of_mean)
    for kind in set(borders):
        chosen = weights[[border == kind for border in borders]]
        of_borders += entropy(chosen.mean(0)) * len(chosen) / len(weights)
    for rule in rules:
        assert rule.position == pytest.approx(math.log2(9) - of_mean[rule.head], abs=1e-5)
        assert rule.border == pytest.approx((of_mean - of_borders)[rule.head], abs=1e-5)
        assert rule.content == pytest.approx((of_borders - mean_entropy)[rule.head], abs=1e-5)
        assert rule.selectivity == pytest.approx(math.log2(9) - mean_entropy[rule.head], abs=1e-5)
        assert rule.mean_attention == pytest.approx(weights.mean(0)[:, rule.head], abs=1e-6)


@given(st.integers(0, 1000), st.sampled_from([(4, 4, True), (8, 8, False)]))
def test_no_part_is_negative_and_labels_follow_the_shares(seed, shape):
    attention = layer(*shape, seed=seed)
    grids = torch.randn(3, 3, 4, 16, generator=torch.Generator().manual_seed(seed))
    for rule in head_rules(attention, [traced(*grids)]):
        assert min(rule.position, rule.border, rule.content) >= 0
        assert rule.selectivity <= math.log2(9) + 1e-9
        selective = rule.selectivity >= LEAST_SELECTIVITY
        assert (rule.label == "unselective") == (not selective)
        assert (rule.label == "position-based") == (selective and rule.position >= CLEAR_SHARE * rule.selectivity)
        assert (rule.label == "content-based") == (selective and rule.content >= CLEAR_SHARE * rule.selectivity)


def test_the_clearest_rules_of_a_shipped_model_are_of_their_kind():
    model = load("noGroups")
    _, trace = traced_sum(model, "523+102+9416")
    rules = head_rules(model.network.step.attention, [trace])
    position, content = clearest(rules, "position"), clearest(rules, "content")
    assert (position.label, content.label) == ("position-based", "content-based")
    assert position.position == max(rule.position for rule in rules)
    frames, height, width, _ = trace.grids.shape
    for place in (position.example, content.example):
        assert (place.trace, place.step < frames - 1, place.row < height, place.column < width) == (0, True, True, True)


def test_where_no_head_is_of_a_kind_one_that_chooses_is_shown(base, traces):
    rules = head_rules(base.network.step.attention, traces[:1])
    mixed, undecided = ([rule for rule in rules if rule.label == label] for label in ("mixed", "unselective"))
    for part in ("position", "content"):
        assert clearest(mixed + undecided, part) in mixed
        assert clearest(undecided, part) in undecided


def test_without_a_step_there_is_no_rule(base, traces):
    with pytest.raises(FigureError, match="choose another sum"):
        head_rules(base.network.step.attention, [dataclasses.replace(traces[0], grids=traces[0].grids[:1])])
