"""What a run shows when it solves sums: what stands around each cell at rest."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.rule import LearnedRule, around, cells
from gridsum.config.exact import ConsolidationConfig
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.tasks import FIRST_DIGIT, find

# Terms at most, empty rows under so many, columns beyond the longest result, and how many problems have few digits.
# With few terms at most the first of them is read right above the lowest row, as solving has it.
_GRIDS = ((4, 1, 1, 1.0), (4, 1, 2, 1.0), (4, 2, 1, 1.0), (4, 1, 1, 0.0), (1, 1, 1, 1.0), (2, 1, 1, 1.0))
_AT_ONCE = 25_000
KINDS = 3
"""Of cells: what placement does with the symbol that a cell holds; a cell with nothing is like one that is skipped."""
OUTSIDE_KIND = KINDS


@dataclass(frozen=True)
class Observed:
    """What stands around cells at rest: rows of (own symbol, left, right, below, own code, kind of the right cell)."""

    windows: np.ndarray
    counts: np.ndarray
    """How often each was seen."""
    right: float
    """The share of the problems that were answered right."""
    symbols: int = len(find().alphabet.cell_symbols)
    """How many symbols a cell can hold, nothing among them."""


def kinds_of(actions: Tensor) -> np.ndarray:
    """The kind of a cell for each of the symbols that it can hold, by the actions of a run."""
    kinds = actions[FIRST_DIGIT:-1].cpu().numpy()
    return np.append(kinds, KINDS - 1)


def asked(rule: LearnedRule, config: ConsolidationConfig, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Sums as they stand on grids [B,H,W], and the results that their top rows [B,W] should read."""
    actions = rule.actions()
    parts = max(len(_GRIDS), config.problems // _AT_ONCE)
    for part in range(parts):
        terms, rows, columns, few = _GRIDS[part % len(_GRIDS)]
        space = Space((1, min(terms, rule.task.most_terms or terms)), config.digits)
        stream = Stream.of_seeds([seed], rule.device).fold(part)
        batch = sample(space, config.problems // parts, stream, few, rule.task)
        height, width = space.terms[1] + rows, max(space.columns_of(rule.task), space.digits[1] + 1) + columns
        yield cells(batch.symbols[0], actions, height, width), batch.targets_for(width)[0]


@torch.no_grad()
def observe(rule: LearnedRule, config: ConsolidationConfig, seed: int) -> Observed:
    """Windows at rest, in problems that were answered right."""
    side = rule.outside + 1
    reading = rule.reading()
    kind = torch.tensor(kinds_of(rule.actions()), device=rule.device)
    keys, solved, problems = [], 0, 0
    for x, wanted in asked(rule, config, seed):
        state, _ = rule.rest(x, 4 * sum(x.shape[1:]))
        right = (reading[state[:, 0]] == wanted).all(-1)
        solved, problems = solved + int(right.sum()), problems + len(x)
        x, state = x[right], state[right]
        resting = rule.step(x, state) == state
        left, beside, below = around(state, rule.outside)
        beside_kind = F.pad(kind[x], (0, 1), value=OUTSIDE_KIND)[..., 1:]
        key = ((((x * side + left) * side + beside) * side + below) * side + state) * (KINDS + 1) + beside_kind
        keys.append(torch.stack(key[resting].unique(return_counts=True)))
    all_keys, counts = torch.cat(keys, 1)
    unique, where = all_keys.unique(return_inverse=True)
    total = torch.zeros_like(unique).index_add_(0, where, counts)
    rest, columns = unique // (KINDS + 1), []
    for _ in range(4):
        columns.append(rest % side)
        rest = rest // side
    windows = torch.stack((rest, *columns[::-1], unique % (KINDS + 1)), 1)
    return Observed(windows.cpu().numpy(), total.cpu().numpy(), solved / problems, len(rule.task.alphabet.cell_symbols))
