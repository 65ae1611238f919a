"""Consolidation on column addition, where what it should find is known. It is not told what is added."""

import ast
import inspect
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gridsum.automaton import consolidate
from gridsum.automaton.consolidate import Behaviour, Observed, lesson, merge, observe, siblings
from gridsum.automaton.table import RuleTable
from gridsum.recipe import ConsolidationConfig
from tests.oracles.column_addition import BLANK, CODES, OUTSIDE, carry_of, code, column_addition

RULE = column_addition()
ZERO = code(0, 0)
LOOK = ConsolidationConfig(problems=12_000, digits=(1, 3))


@dataclass
class TableRule:
    """A table as consolidation sees a network's rule: codes are their numbers."""

    table: RuleTable

    def __post_init__(self) -> None:
        self.outside, self.device = self.table.outside, torch.device("cpu")
        self.steps = torch.tensor(self.table.steps).long()

    def reading(self) -> torch.Tensor:
        return torch.tensor(self.table.reading)

    def actions(self) -> torch.Tensor:
        return torch.tensor(self.table.actions)

    def step(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        around = F.pad(state, (1, 1, 0, 1), value=self.outside)
        return self.steps[x, around[:, :-1, :-2], around[:, :-1, 2:], around[:, 1:, 1:-1]]

    def rest(self, x: torch.Tensor, limit: int) -> tuple[torch.Tensor, torch.Tensor]:
        state = torch.zeros_like(x)
        for _ in range(limit):
            state = self.step(x, state)
        return state, (self.step(x, state) == state).flatten(1).all(1)


def observed_of(table: RuleTable, config: ConsolidationConfig = LOOK) -> Observed:
    return observe(TableRule(table), config, 0)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def seen() -> Observed:
    return observed_of(RULE)


def behaviour_of(observed: Observed, reading: tuple[int, ...] = RULE.reading) -> Behaviour:
    return merge(observed, np.array(reading), 0.0)


def test_what_is_seen_is_what_the_rule_does(seen: Observed):
    assert seen.right == 1.0
    x, left, right, below, own = seen.windows.T
    assert (RULE.steps[x, left, right, below] == own).all()
    assert len(np.unique(seen.windows, axis=0)) == len(seen.windows)
    assert seen.counts.min() > 0
    assert set(own.tolist()) == set(range(CODES))


def test_only_problems_answered_right_count():
    """A rule that reads 7 as 8 is right where no 7 is in the result: no cell of the top row shows one."""
    reading = list(RULE.reading)
    for carry in (0, 1):
        reading[code(7, carry)] = reading[code(8, carry)]
    table = RuleTable(RULE.bits, RULE.codes, RULE.steps, tuple(reading), RULE.actions)
    # Of one term, so that what the top row shows is seen in no other row.
    found = observed_of(table, ConsolidationConfig(problems=4000, digits=(1, 1)))
    assert 0 < found.right < 1
    wrong = RuleTable(RULE.bits, RULE.codes, RULE.steps, (1,) * CODES, RULE.actions)
    nothing = observed_of(wrong, ConsolidationConfig(problems=400, digits=(1, 1)))
    assert nothing.right == 0
    assert len(nothing.windows) == len(nothing.counts) == 0


def test_where_a_digit_is_misread_its_windows_are_not_seen():
    """Rules that misread whatever has a carry are right where nothing carries; so no carry is seen."""
    reading = tuple(1 if carry_of(number) else symbol for number, symbol in enumerate(RULE.reading))
    table = RuleTable(RULE.bits, RULE.codes, RULE.steps, reading, RULE.actions)
    everything = observed_of(RULE, LOOK)
    found = observed_of(table, LOOK)
    assert 0 < found.right < everything.right
    kept, all_ = ({tuple(window) for window in part.windows.tolist()} for part in (found, everything))
    assert kept < all_
    assert found.counts.sum() < everything.counts.sum()


def test_codes_of_column_addition_stay_apart(seen: Observed):
    found = behaviour_of(seen)
    assert found.codes.tolist() == list(range(CODES))
    assert found.members == {number: number for number in range(CODES)}
    assert found.counts.sum() == seen.counts.sum()


@pytest.mark.parametrize("split", [code(3, 0), code(6, 1), BLANK])
def test_two_codes_that_read_and_act_alike_are_one(seen: Observed, split: int):
    """One code is split in two by chance; merging undoes it, and (d, 0) stays apart from (d, 1)."""
    twin = CODES  # a new number; outside moves on by one
    numbers = np.random.default_rng(0)
    parts = []
    for share in range(4):
        windows = seen.windows.copy()
        windows[:, 1:4][windows[:, 1:4] == OUTSIDE] = twin + 1
        windows[:, 1:][(windows[:, 1:] == split) & (numbers.random(windows[:, 1:].shape) < 0.3)] = twin
        parts.append(np.column_stack((windows, seen.counts // 4 + (seen.counts % 4 > share))))
    rows = np.concatenate(parts)
    unique, where = np.unique(rows[:, :5], axis=0, return_inverse=True)
    counts = np.zeros(len(unique), np.int64)
    np.add.at(counts, where.ravel(), rows[:, 5])
    found = behaviour_of(Observed(unique[counts > 0], counts[counts > 0], 1.0), (*RULE.reading, RULE.reading[split]))
    assert len(found.codes) == CODES
    assert found.members[twin] == found.members[split]
    assert len({found.members[number] for number in range(CODES)}) == CODES
    assert found.counts.sum() == seen.counts.sum()


def test_rare_codes_are_taken_for_mistakes(seen: Observed):
    frequency = np.bincount(seen.windows[:, 4], seen.counts, minlength=CODES) / seen.counts.sum()
    rare = float(np.median(frequency))
    found = merge(seen, np.array(RULE.reading), rare)
    assert set(found.codes.tolist()) == set(np.flatnonzero(frequency >= rare).tolist())


def test_zero_and_blank_are_siblings_and_nothing_else(seen: Observed):
    classes = siblings(behaviour_of(seen))
    assert classes[ZERO] == classes[BLANK]
    assert len(set(classes.tolist())) == CODES - 1


def test_the_lesson_is_what_the_rule_does(seen: Observed):
    """For every left neighbour, also those that were not seen there."""
    taught = lesson(TableRule(RULE), behaviour_of(seen))  # type: ignore[arg-type]
    x, left, right, below = taught.contexts.T.numpy()
    expected, targets = RULE.steps[x, left, right, below], taught.targets.numpy()
    assert taught.taught == len({tuple(context) for context in seen.windows[:, [0, 2, 3]].tolist()} | {
        tuple(context) for context in taught.contexts[:, [0, 2, 3]].tolist()})  # fmt: skip
    assert len(x) == taught.taught * (CODES + 1)
    assert not taught.free.any(), "every code is in use"
    # A zero and a blank may stand for each other where no left neighbour at rest decides.
    alike = np.isin(expected, (BLANK, ZERO)) & np.isin(targets, (BLANK, ZERO))
    assert ((targets == expected) | alike).all()
    at_rest = {tuple(window[:4]) for window in seen.windows.tolist()}
    rests = np.array([tuple(context) in at_rest for context in taught.contexts.tolist()])
    assert (targets == expected)[rests].all()
    assert (targets == expected).mean() > 0.99


def test_the_lesson_reaches_contexts_by_the_siblings_of_those_seen(seen: Observed):
    """What was seen beside a zero holds beside a blank: which of them stands there hangs on the cell itself."""
    taught = lesson(TableRule(RULE), behaviour_of(seen))  # type: ignore[arg-type]
    beside = {number: {(int(x), int(below)) for x, _, right, below in taught.contexts.tolist() if right == number}
              for number in (ZERO, BLANK)}  # fmt: skip
    assert beside[ZERO] == beside[BLANK]


def test_consolidation_knows_no_arithmetic():
    tree = ast.parse(inspect.getsource(consolidate))
    imported = {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    }
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert "exact_sum" not in imported
    assert not {"gridsum.symbols", "gridsum.automaton.proof"} & modules
    assert not {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} & {9, 10}, "no digits either"
