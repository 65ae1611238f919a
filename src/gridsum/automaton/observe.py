"""What a run shows when it solves sums: what stands around cells at rest, and what they become beside another."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.rule import LearnedRule, around, cells
from gridsum.config.exact import POSITIONS, ConsolidationConfig
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.tasks import FIRST_DIGIT, PAD

# Terms at most, empty rows under so many, columns beyond the longest result, and how many problems have few digits.
# With few terms at most the first of them is read right above the lowest row, as solving has it.
_GRIDS = ((4, 1, 1, 1.0), (4, 1, 2, 1.0), (4, 2, 1, 1.0), (4, 1, 1, 0.0), (1, 1, 1, 1.0), (2, 1, 1, 1.0))
_AT_ONCE = 25_000
# Of more symbols than so many more sums are asked: there are more triples of them to meet, and each is rarer.
_SYMBOLS = 12
# Types that are told apart, so that a window is one integer of 61 bits: 3 types, 12 bits of its own, 7 of its symbol.
_TYPES = 1 << 14
# A pattern is put beside others if it has this share of the cells.
_USUAL = 1e-3
# Kinds of cells: what placement does with the symbol that a cell holds; one with nothing is like one that is skipped.
_KINDS = 3


@dataclass(frozen=True)
class Observed:
    """What stands around cells at rest.

    A cell's *type* is the kind of its symbol, its pattern of bits, the one below it, and whether it would read as
    something else if its row went on to the left with another like it. Types are numbered from 0 to T − 1, and T stands
    for no cell.
    """

    windows: np.ndarray
    """[N,5]: a cell's symbol, the types of its left, right and lower neighbour, and its own type."""
    counts: np.ndarray
    """[N]: how often each window was seen."""
    kinds: np.ndarray
    """[T]: the kind of each type's symbol, and whether a blank is below."""
    patterns: np.ndarray
    """[T]: the pattern of each type."""
    lowest: np.ndarray
    """[T]: whether such cells are in the lowest row."""
    edge: np.ndarray
    """[T]: whether such cells read as they do because nothing is on their left."""
    changes: np.ndarray
    """[M,2]: the type of a cell, and the one that it comes to if another pattern is put on its left."""
    change_counts: np.ndarray
    """[M]: how often each change was seen."""
    right: float
    """The share of the problems that were answered right."""
    symbols: int
    """How many symbols a cell can hold, nothing among them."""


def asked(rule: LearnedRule, config: ConsolidationConfig, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Sums as they stand on grids [B,H,W], and the results that their top rows [B,W] should read."""
    actions = rule.actions()
    parts = max(len(_GRIDS), config.problems // _AT_ONCE)
    more = max(1.0, len(rule.task.alphabet.cell_symbols) / _SYMBOLS) ** 4
    for part in range(parts):
        terms, rows, columns, few = _GRIDS[part % len(_GRIDS)]
        space = Space((1, min(terms, rule.task.most_terms or terms)), config.digits)
        stream = Stream.of_seeds([seed], rule.device).fold(part)
        batch = sample(space, max(1, round(more * config.problems) // parts), stream, few, rule.task)
        height, width = space.terms[1] + rows, max(space.columns_of(rule.task), space.digits[1] + 1) + columns
        yield cells(batch.symbols[0], actions, height, width), batch.targets_for(width)[0]


@torch.no_grad()
def observe(rule: LearnedRule, config: ConsolidationConfig, seed: int) -> Observed:
    """Windows at rest, in problems that were answered right."""
    side, device = rule.outside + 1, rule.device
    outputs = rule.outputs()
    kind = F.pad(rule.actions()[FIRST_DIGIT:-1], (0, 1), value=_KINDS - 1)  # by symbol
    symbols, kind = len(kind), torch.cat((kind, kind + _KINDS))  # and once more, for cells at the edge
    nowhere = 2 * _KINDS * side**2
    numbers = torch.full((nowhere + 1,), -1, device=device)
    numbers[nowhere] = 0  # outside; types follow in the order in which they are seen
    known, keys, changed, solved, problems = 1, [], [], 0, 0
    generator = torch.Generator(device).manual_seed(seed)
    for x, wanted in asked(rule, config, seed):
        state, _ = rule.rest(x)
        right = (outputs[state[:, 0]] == wanted).all(-1)
        solved, problems = solved + int(right.sum()), problems + len(x)
        x, state = x[right], state[right]
        resting, plain = rule.step(x, state) == state, x
        x = x + symbols * _at_edge(rule, x, state, outputs)
        types = (kind[x] * side + state) * side + around(state, rule.outside, rule.places)[2]
        fresh = types[numbers[types] < 0].unique()[: _TYPES - known]
        numbers[fresh] = known + torch.arange(len(fresh), device=device)
        known += len(fresh)
        left, beside, below = (numbers[part] for part in around(types, nowhere, rule.places))
        noted = resting & (numbers[types] >= 0) & (left >= 0) & (beside >= 0) & (below >= 0)
        key = (((x * side + state) * _TYPES + left) * _TYPES + beside) * _TYPES + below
        keys.append(torch.stack(key[noted].unique(return_counts=True)))
        changed.append(_changed(rule, plain, state, kind, numbers, generator))
    unique, total = _tally(keys)
    pairs, times = _tally(changed)
    changes = torch.stack((pairs // _TYPES - 1, pairs % _TYPES - 1), 1)
    seen = torch.zeros(known, dtype=torch.int64, device=device)
    seen[numbers[numbers >= 0]] = (numbers >= 0).nonzero()[:, 0]
    below, beside, left = (unique // _TYPES**place % _TYPES for place in range(3))
    x, own = unique // _TYPES**3 // side, unique // _TYPES**3 % side
    under = torch.where(below == 0, rule.outside, seen[below] // side % side)
    own = numbers[(kind[x] * side + own) * side + under]
    # The number of no cell goes from the first to the last.
    types = torch.stack((left, beside, below, own), 1) - 1
    windows = torch.cat((x[:, None] % symbols, torch.where(types < 0, known - 1, types)), 1).cpu().numpy()
    seen, blank = seen[1:].cpu().numpy(), F.pad(outputs == PAD, (0, 1), value=True).cpu().numpy()
    return Observed(
        windows,
        total.cpu().numpy(),
        2 * (seen // side**2 % _KINDS) + blank[seen % side],
        seen // side % side,
        seen % side == rule.outside,
        seen // side**2 >= _KINDS,
        changes.cpu().numpy(),
        times.cpu().numpy(),
        solved / problems,
        len(rule.task.alphabet.cell_symbols),
    )


def _at_edge(rule: LearnedRule, x: Tensor, state: Tensor, outputs: Tensor) -> Tensor:
    """Which cells above the lowest row would read as something else if their row went on with one like them."""
    columns = [0, 0, 1] if rule.places[0] == "left" else [-2, -1, -1]
    beyond = rule.step(x[:, :, columns], state[:, :, columns])[:, :-1, 1]
    edge = torch.zeros_like(state)
    edge[:, :-1, columns[1]] = outputs[beyond] != outputs[state[:, :-1, columns[1]]]
    return edge


def _tally(parts: list[Tensor]) -> tuple[Tensor, Tensor]:
    """The different keys of parts [2,N] of keys and counts, and how often each was seen in all."""
    keys, counts = torch.cat(parts, 1)
    unique, where = keys.unique(return_inverse=True)
    return unique, torch.zeros_like(unique).index_add_(0, where, counts)


def _changed(
    rule: LearnedRule, x: Tensor, state: Tensor, kind: Tensor, numbers: Tensor, generator: torch.Generator
) -> Tensor:
    """In each row, what one cell comes to if another pattern is put on its left and held there."""
    side, device, width = rule.outside + 1, rule.device, x.shape[2]
    _, left = POSITIONS[rule.places[0]]
    x, now = (torch.stack((part[:, :-1], part[:, 1:]), 2).flatten(0, 1) for part in (x, state))
    row, choose = torch.arange(len(x), device=device), {"generator": generator, "device": device}
    column = max(0, -left) + torch.randint(width - 1, (len(x),), **choose)
    before = now[row, 0, column]
    shown = state.flatten().bincount(minlength=1)
    usual = (shown >= _USUAL * shown.sum()).nonzero()[:, 0]
    now[row, 0, column + left] = usual[torch.randint(len(usual), (len(x),), **choose)]
    moving = row
    for _ in range(width):
        part, free = now[moving], left * (torch.arange(width, device=device) - column[moving, None]) <= 0
        after = torch.where(free, rule.step(x[moving], part)[:, 0], part[:, 0])
        changed = (after != part[:, 0]).any(1)
        now[moving, 0] = after
        moving = moving[changed]
    held, below = kind[x[row, 0, column]], now[row, 1, column]
    old, new = (numbers[(held * side + own) * side + below] for own in (before, now[row, 0, column]))
    noted = (old >= 0) & (new >= 0)
    noted[moving] = False
    return torch.stack((old * _TYPES + new)[noted].unique(return_counts=True))
