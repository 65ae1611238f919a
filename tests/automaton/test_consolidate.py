"""Consolidation on column addition, where what it should find is known. It is not told what is added."""

import ast
import inspect
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gridsum.automaton import apart, consolidate, minimise, observe, repair, search, targets
from gridsum.automaton.consolidate import fit
from gridsum.automaton.construct import construct
from gridsum.automaton.minimise import LEFT, OWN, Behaviour
from gridsum.automaton.observe import Observed
from gridsum.automaton.proof import prove
from gridsum.automaton.rule import LearnedRule, agreement, around, come_to_rest
from gridsum.automaton.search import Search, Sums
from gridsum.automaton.table import RuleTable
from gridsum.automaton.targets import ANY, TargetTable, siblings
from gridsum.config.exact import PROVABLE, ConsolidationConfig
from gridsum.data import problems
from gridsum.model.rule import RuleNetwork
from gridsum.tasks import PAD, find
from gridsum.training import discovery, exact
from tests.oracles.column_addition import (
    BLANK,
    CELL_SYMBOLS,
    CODES,
    EMPTY_CELL,
    OUTSIDE,
    carry_of,
    changed,
    code,
    column_addition,
    column_addition_in_other_codes,
)
from tests.oracles.sizes import SMALL_RULE

RULE = column_addition()
ZERO = code(0, 0)
LOOK = ConsolidationConfig(problems=12_000, digits=(1, 3))
GLANCE = ConsolidationConfig(problems=4_000, digits=(1, 2))


@dataclass
class TableRule:
    """A table as consolidation sees a network's rule: codes are their numbers."""

    rule: RuleTable
    places: tuple[str, ...] = PROVABLE

    def __post_init__(self) -> None:
        self.outside, self.device, self.task = self.rule.outside, torch.device("cpu"), self.rule.task
        steps = self.rule.steps if self.places == PROVABLE else self.rule.steps.swapaxes(1, 2)
        self.steps = torch.tensor(steps).long()

    def exchanged(self) -> "TableRule":
        other = copy(self)
        other.places = ("right", "left", "below")
        other.__post_init__()
        return other

    def outputs(self) -> torch.Tensor:
        return torch.tensor(self.rule.outputs)

    def actions(self) -> torch.Tensor:
        return torch.tensor(self.rule.actions)

    def table(self, codes: list[int]) -> RuleTable:
        """On these codes alone; one that is not of them becomes one that reads alike, or the first."""
        places, read = [*codes, self.outside], self.outputs().tolist()
        known = {code: number for number, code in enumerate(codes)}
        reading = {read[code]: number for number, code in reversed(list(enumerate(codes)))}
        number = torch.tensor([known.get(code, reading.get(read[code], 0)) for code in range(self.outside)])
        steps = number[self.steps[:, places][:, :, places][:, :, :, places]].numpy().astype(np.uint8)
        kept = {"states": tuple(self.rule.states[c] for c in codes), "outputs": tuple(read[c] for c in codes)}
        return replace(self.rule, steps=steps, **kept)

    def step(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return self.steps[x, *around(state, self.outside, self.places)]

    def rest(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return come_to_rest(self.step, x, torch.zeros_like(x))

    def taught(self, learnt: TargetTable) -> RuleTable:
        """What it becomes if it learns a target table; where any state will do, it is as it was."""
        small = self.table(learnt.states.tolist())
        return replace(small, steps=np.where(learnt.targets == ANY, small.steps, learnt.targets).astype(np.uint8))


def observed_of(table: RuleTable, config: ConsolidationConfig = LOOK) -> Observed:
    return observe.observe(TableRule(table), config, 0)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def seen() -> Observed:
    return observed_of(RULE)


def codes_in(seen: Observed) -> np.ndarray:
    """Windows as symbol, left, right, below and own code."""
    return np.column_stack((seen.windows[:, 0], np.append(seen.patterns, OUTSIDE)[seen.windows[:, 1:]]))


def behaviour_of(observed: Observed, reading: tuple[int, ...] = RULE.outputs, rare: float = 0.0) -> Behaviour:
    shown = minimise.Shown(observed, np.array(reading), rare)
    return shown.behaviour(minimise.partition(shown.seen, shown.reads))


def targets_of(observed: Observed) -> TargetTable:
    return targets.one_way(behaviour_of(observed))


def test_what_is_seen_is_what_the_rule_does(seen: Observed):
    assert seen.right == 1.0
    x, left, right, below, own = codes_in(seen).T
    assert (RULE.steps[x, left, right, below] == own).all()
    assert len(np.unique(seen.windows, axis=0)) == len(seen.windows)
    assert seen.counts.min() > 0
    assert set(own.tolist()) == set(range(CODES))


def test_only_problems_answered_right_count(seen: Observed):
    """A rule that misreads whatever has a carry is right where nothing carries: it shows no carry. One that misreads
    everything shows nothing."""
    reading = tuple(1 if carry_of(number) else symbol for number, symbol in enumerate(RULE.outputs))
    found = observed_of(replace(RULE, outputs=reading))
    assert 0 < found.right < seen.right
    kept, all_ = ({tuple(window) for window in codes_in(part).tolist()} for part in (found, seen))
    assert kept < all_
    nothing = observed_of(replace(RULE, outputs=(1,) * CODES), GLANCE)
    assert nothing.right == 0
    assert len(nothing.windows) == len(nothing.counts) == 0


def test_a_term_right_above_the_lowest_row_is_read():
    """A rule that hides the digit 0 where nothing but the lowest row lies below it is wrong on the sum `0` alone."""
    table = column_addition_in_other_codes(2)
    lowest = int(table.steps[EMPTY_CELL, table.outside, table.outside, table.outside])
    assert observed_of(table, GLANCE).right == 1.0
    assert observed_of(changed(table, {(0, None, table.outside, lowest): BLANK}), GLANCE).right < 1.0


def test_rare_codes_are_taken_for_mistakes(seen: Observed):
    frequency = np.bincount(codes_in(seen)[:, OWN], seen.counts, minlength=CODES) / seen.counts.sum()
    rare = float(np.median(frequency))
    found = behaviour_of(seen, rare=rare)
    assert set(found.states.tolist()) <= set(np.flatnonzero(frequency >= rare).tolist())


def test_zero_and_blank_are_siblings_and_nothing_else(seen: Observed):
    behaviour = behaviour_of(seen)
    classes = siblings(behaviour)
    assert classes[ZERO] == classes[BLANK]
    assert len(set(classes.tolist())) == CODES - 1


def test_what_is_no_pair_tells_others_apart():
    """0 and 1 change into each other, and 2 and 3. But 2 and 3 lead to 4 and 5: so 0 and 1 differ, too."""
    windows, changes, nobody = list[tuple[int, ...]](), np.zeros((6, 6), np.int64), 6
    for one, other in ((0, 1), (2, 3)):
        changes[one, other] = changes[other, one] = 50
    for beside, own in ((0, 2), (1, 3), (2, 4), (3, 5)):
        windows.append((0, nobody, beside, nobody, own))
    codes, counts = np.arange(6), np.full(len(windows), 100)
    assert siblings(Behaviour(codes, codes, np.array(windows), counts, changes, codes, 1)).tolist() == list(range(6))


def test_the_target_table_is_what_the_rule_does(seen: Observed):
    """For every left neighbour, also those that were not seen there."""
    learnt = targets_of(seen)
    taught = learnt.targets != ANY
    assert learnt.states.tolist() == list(range(CODES))
    assert learnt.targets.shape == RULE.steps.shape
    assert (taught.all(1) == taught.any(1)).all(), "a context is taught for all left neighbours or for none"
    shown = {tuple(context) for context in codes_in(seen)[:, [0, 2, 3]].tolist()}
    assert shown <= {tuple(context) for context in np.argwhere(taught.any(1)).tolist()}
    right = learnt.targets == RULE.steps
    # A zero and a blank may stand for each other where no left neighbour at rest decides.
    alike = np.isin(RULE.steps, (BLANK, ZERO)) & np.isin(learnt.targets, (BLANK, ZERO))
    assert (right | alike | ~taught).all()
    x, left, beside, below, _ = codes_in(seen).T
    assert right[x, left, beside, below].all()
    assert right[taught].mean() > 0.99


def test_the_target_table_reaches_contexts_by_the_siblings_of_those_seen(seen: Observed):
    """What was seen beside a zero holds beside a blank: which of them stands there hangs on the cell itself."""
    taught = (targets_of(seen).targets != ANY).any(1)
    assert (taught[:, ZERO] == taught[:, BLANK]).all()


def test_left_neighbours_that_decide_do_so_where_they_were_not_seen(seen: Observed):
    """Beside a blank a 0 is blank, also in a context that right sums show beside digits alone, or once by mistake."""
    x, left, right, below, own = codes_in(seen).T
    reads = np.array([*RULE.outputs, len(RULE.outputs)])
    (first, *_) = np.flatnonzero((own == ZERO) & (left != BLANK) & (reads[right] > reads[ZERO]) & (right != OUTSIDE))
    there = (x == x[first]) & (right == right[first]) & (reads[below] == reads[below[first]])
    beside_blank = np.isin(left, (BLANK, OUTSIDE))
    zeros, blanks = there & ~beside_blank, there & beside_blank
    assert (own[zeros] == ZERO).all()
    assert (own[blanks] == BLANK).all()
    mistaken, kept = np.flatnonzero(blanks)[:1], ~blanks
    windows, counts = seen.windows.copy(), seen.counts.copy()
    windows[mistaken, 4], counts[mistaken], counts[zeros] = seen.windows[zeros, 4][0], 1, 100
    for known in (kept, kept | np.isin(np.arange(len(kept)), mistaken)):
        learnt = targets_of(replace(seen, windows=windows[known], counts=counts[known]))
        assert learnt.targets[x[first], BLANK, right[first], below[first]] == BLANK


def test_two_blanks_that_nothing_at_rest_compares_are_two_states():
    """One of them borrows. They differ in what they become beside a digit: zeros, of which one borrows."""
    table = construct(find("subtract:base=2"))
    run = TableRule(table)
    found, learnt = consolidate.draw(run, replace(LOOK, digits=(1, 6)), 0, lambda _: None)  # type: ignore[arg-type]
    assert (found.states, found.tried, found.targets_right) == (len(table.states), 0, 1.0)
    assert learnt is not None
    assert prove(run.taught(learnt)).proved


def test_what_goes_to_the_right_is_drawn_with_left_and_right_exchanged():
    """The larger of two numbers shows at the first digits that differ. The last 0 of a row is no blank for the border's
    sake alone, and nothing else tells it from a 0 that some neighbour has made one."""
    table = construct(find("max:base=3"))
    run = TableRule(table)
    found, learnt = consolidate.draw(run, replace(LOOK, problems=48_000), 0, lambda _: None)  # type: ignore[arg-type]
    assert (found.goes, found.states, found.tried, found.targets_right) == ("right", len(table.states), 0, 1.0)
    assert learnt is not None
    assert prove(run.taught(learnt)).proved


def with_twins(table: RuleTable) -> TableRule:
    """The same rule, but every code has a twin that is not in use."""
    twins = np.array([*range(table.outside), *range(table.outside), table.outside])
    steps = table.steps[:, twins][:, :, twins][:, :, :, twins]
    outputs, codes = table.outputs * 2, tuple(range(2 * table.outside))
    return TableRule(replace(table, bits=table.bits + 1, states=codes, steps=steps, outputs=outputs))


def test_states_that_no_situation_compares_are_kept_apart_where_else_the_table_fails():
    """A product by 1 and one by 2 never stand in the same situation. As every code has a twin, there is one left for a
    state that is kept apart in vain."""
    run = with_twins(table := construct(find("times:base=3")))
    look = replace(LOOK, problems=20_000, digits=(1, 4), repair=False)
    found, learnt = consolidate.draw(run, look, 0, lambda _: None)  # type: ignore[arg-type]
    assert (found.goes, found.targets_right) == ("left", 1.0)
    assert learnt is not None
    few = behaviour_of(observed_of(run.rule, look), run.rule.outputs)
    assert len(few.states) < table.outside <= found.states
    assert prove(run.taught(learnt)).proved


@pytest.mark.parametrize("rarer", [1, 100])
def test_what_goes_both_ways_in_one_row_is_drawn_from_what_was_seen_beside_each_neighbour(rarer: int):
    """The sign goes to the right, to the digits; then carries and borrows go to the left. A blank hands on what a 0
    does, also where blanks are hardly seen beside numbers, as a 0 is."""
    run = with_twins(construct(find("mixed:base=3")))
    look = replace(LOOK, problems=48_000, digits=(1, 7))
    seen, chance = observed_of(run.rule, look), np.random.default_rng(0)
    # What a digit becomes once, beside what it never has on its right, is a mistake.
    mistaken = seen.windows[chance.choice(np.flatnonzero((seen.counts > 100) & (seen.windows[:, 0] < 3)), 40)]
    mistaken[:, [2, OWN]] = chance.integers(len(seen.patterns), size=(40, 2))
    reads = np.array([*run.rule.outputs, PAD])[np.append(seen.patterns, run.outside)]
    blanks = (reads[seen.windows[:, OWN]] == PAD) & (reads[seen.windows[:, 2]] > PAD)
    counts = np.where(blanks, np.maximum(seen.counts // rarer, 1), seen.counts)
    seen = replace(seen, windows=np.concatenate((seen.windows, mistaken)), counts=np.append(counts, [1] * 40))
    shown = minimise.Shown(seen, np.array(run.rule.outputs), 0)
    search = Search.begin(shown, "both", run.places, Sums.asked(run, look, 0), lambda _: None)  # type: ignore[arg-type]
    assert search.share == 1
    assert prove(run.taught(search.learnt)).proved


@pytest.fixture(scope="module")
def mixed() -> Behaviour:
    table = construct(find("mixed:base=3"))
    seen = observed_of(table, replace(LOOK, problems=48_000, digits=(1, 7)))
    shown = minimise.Shown(seen, np.array(table.outputs), 0)
    return shown.behaviour(shown.seen.patterns)


def test_a_number_that_begins_over_blanks_is_what_was_seen_there_mostly(mixed: Behaviour):
    """Where the blank that leads the first row leads rows of minus, too, and a number is at times as there."""
    plus, minus, reads = 0, 11, np.append(mixed.outputs, PAD)
    x, left, right, below, own = mixed.windows.T
    first = (x < 3) & (left == plus) & (reads[below] == PAD) & (reads[own] > PAD) & (right < len(mixed.states))
    windows = mixed.windows.copy()
    windows[first, LEFT] = minus
    others = windows[first] + [0, 0, 0, 0, 5]
    assert set(own[first].tolist()) == {2, 3}
    counts = np.append(mixed.counts, mixed.counts[first] // 4)
    learnt = targets.both_ways(replace(mixed, windows=np.concatenate((windows, others)), counts=counts))
    assert learnt.targets[1:3, minus, 1:4, plus].tolist() == [[2] * 3, [3] * 3]


def test_a_blank_counts_as_a_zero_where_it_was_never_seen(mixed: Behaviour):
    """Over a number a sign has no blank on its right, and here nearly always one that borrows."""
    sign, zero, borrowing, blank = 4, 6, [9, 10], 11
    x, _, right, below, _ = mixed.windows.T
    assert not ((x == sign) & (right == blank) & np.isin(below, np.flatnonzero(mixed.outputs))).any()
    often = np.where((x == sign) & np.isin(right, borrowing), 20, 1)
    over_zero = targets.both_ways(replace(mixed, counts=often * mixed.counts)).targets[sign, :, :, 1]
    assert (over_zero[:, blank] == over_zero[:, zero]).all()
    assert (over_zero[:, blank] != over_zero[:, borrowing[0]]).all()


def test_a_search_parts_what_is_joined_and_joins_what_is_parted_until_all_sums_are_right(
    monkeypatch: pytest.MonkeyPatch,
):
    """Of products in base 3, two states that read alike count as one at first, and cells of another one as two."""
    run, look = with_twins(table := construct(find("times:base=3"))), replace(LOOK, problems=20_000, digits=(1, 4))
    shown = minimise.Shown(observed_of(run.rule, look), run.outputs().numpy(), 0.0)
    one, other, parted = 3, 8, 12
    assert table.outputs[one] == table.outputs[other] != table.outputs[parted]
    classes = np.where(shown.seen.patterns == other, one, shown.seen.patterns)
    classes = np.where((classes == parted) & (shown.seen.kinds % 2 > 0), table.outside, classes)
    found = Search(shown, targets.one_way, run.places, Sums.asked(run, look, 0), classes)  # type: ignore[arg-type]
    assert found.share < 0.9
    told = list[str]()
    monkeypatch.setattr(apart, "_CHILD", f"from gridsum.automaton import search; search._NEWS = 5; {apart._CHILD}")
    other = apart.apart(found.run, told.append)
    learnt = found.run(lambda _: None).learnt
    assert np.array_equal(other.learnt.targets, learnt.targets)
    with pytest.raises(TypeError, match="integer"):
        apart.apart(int, 1, told.append)
    assert told[0].startswith("5 partitions tried, ")
    assert told[-1].endswith(" states, 1.0000 right")
    assert found.answered(found.sums, learnt).all()
    assert len(np.unique(found.classes)) <= table.outside
    assert prove(run.taught(learnt)).proved


@pytest.mark.parametrize("exchanged", [False, True])
def test_grids_in_one_line_come_to_what_each_cell_does_by_itself(exchanged: bool):
    """Grids of chance by two tables of chance, where many never rest; half of each is smaller than the others."""
    generator = torch.Generator().manual_seed(0)
    run = TableRule(RULE).exchanged() if exchanged else TableRule(RULE)
    trial = search.Trial(run.outputs(), run.places, targets_of(observed_of(RULE, GLANCE)))
    tables = torch.randint(3, (2, *trial.steps.shape), generator=generator, dtype=torch.uint8)
    tables[:, -1] = trial.n
    x, start = torch.randint(12, (40, 3, 5), generator=generator), torch.randint(3, (40, 3, 5), generator=generator)
    x[::2, -1], x[::2, :, 0] = [len(trial.steps) - 1] * 2
    own = torch.arange(40)[:, None, None] // 20
    state, resting = start, torch.zeros(40, dtype=torch.bool)
    for _ in range(4 * 8):
        after = tables[own, x, *around(state, trial.n, run.places)].long()
        state, resting = after, (after == state).flatten(1).all(1)
    ended, rests = trial.rest(x, start, tables)
    assert torch.equal(rests, resting)
    assert 0 < rests.sum() < 40
    assert torch.equal(ended[rests].long(), state[rests])


def test_a_rule_with_left_and_right_exchanged_takes_the_same_steps():
    rule = LearnedRule(RuleNetwork(SMALL_RULE, [0]))
    other, codes = rule.exchanged(), list(range(16))
    assert (other.table(codes).steps == rule.table(codes).steps.swapaxes(1, 2)).all()
    assert not (other.table(codes).steps == rule.table(codes).steps).all()
    x, state = (torch.randint(8, (5, 3, 6), generator=torch.Generator().manual_seed(n)) for n in (0, 1))
    assert torch.equal(other.step(x, state), rule.step(x, state))


def test_what_becomes_another_but_never_comes_back_is_a_mistake(seen: Observed):
    """Blanks of a type that no neighbour changes become a 3, beside one that they never have."""
    blanks = np.flatnonzero((seen.patterns == BLANK) & ~seen.lowest)
    erring = blanks[~np.isin(blanks, seen.changes[seen.patterns[seen.changes[:, 1]] == ZERO, 0])]
    wrong = [(blank, np.flatnonzero(seen.patterns == code(3, 0))[0]) for blank in erring]
    changes = np.concatenate((seen.changes, wrong))
    counts = np.append(seen.change_counts, np.full(len(wrong), seen.change_counts.sum()))
    assert len(behaviour_of(replace(seen, changes=changes, change_counts=counts)).states) == CODES


def test_the_start_is_a_code_like_any_other(seen: Observed):
    """Codes are renumbered so that the start, all bits off, comes first; one that is never at rest is added."""
    behaviour, start = behaviour_of(seen), code(3, 1)
    plain = targets.one_way(replace(behaviour, states=1 + np.arange(CODES)))
    assert plain.states.tolist() == list(range(CODES + 1))
    assert plain.targets.shape == (len(CELL_SYMBOLS), *[CODES + 2] * 3)
    assert (plain.targets[:, :, 0] == ANY).all()
    assert (plain.targets[:, :, :, 0] == ANY).all()
    known = targets.one_way(behaviour).targets
    assert (plain.targets[:, 1:, 1:, 1:] == np.where(known == ANY, ANY, known + 1)).all()
    assert ((plain.targets[:, 0, 1:, 1:] != ANY) == (known != ANY).any(1)).all()
    swapped = np.arange(CODES)
    swapped[[0, start]] = start, 0
    moved = targets.one_way(replace(behaviour, states=swapped))
    assert moved.states[0] == 0
    assert (moved.targets[:, 0, 0, 0] == ANY).tolist() == (known[:, start, start, start] == ANY).tolist()


def test_what_was_never_right_is_found_by_trying():
    """7 above a 5, with a carry or without, and a sum of 0, which is blank: wrong sums show them more often."""
    wrong = {(7, None, OUTSIDE, code(5, carry)): code(2, 0) for carry in (0, 1)} | {(0, None, OUTSIDE, BLANK): BLANK}
    table = changed(RULE, wrong)
    observed = observed_of(table, GLANCE)
    assert observed.right < 1
    shown = targets_of(observed)
    learnt, tried, found = repair.repair(TableRule(table), shown, GLANCE, 0)  # type: ignore[arg-type]
    assert 2 <= found <= tried
    for x, _, right, below in wrong:
        lefts = [
            left
            for left in (BLANK, code(3, 0))
            if RULE.steps[x, left, right, below] != table.steps[x, left, right, below]
        ]
        assert (learnt.targets[x, lefts, right, below] == RULE.steps[x, lefts, right, below]).all()
    assert observed_of(TableRule(table).taught(learnt), GLANCE).right == 1.0


def test_contexts_beside_siblings_are_repaired_together(seen: Observed):
    """A change beside a zero alone would make it a blank, beside which the old state returns: to and fro for ever."""
    alike = repair._alike(targets_of(seen), (7, ZERO, code(5, 0)), torch.device("cpu"))
    assert alike[7, [ZERO, BLANK], code(5, 0)].all()
    assert {tuple(place) for place in alike.nonzero()[:, :2].tolist()} == {(7, ZERO), (7, BLANK)}


def test_where_all_is_right_nothing_is_tried(seen: Observed):
    assert repair.repair(TableRule(RULE), targets_of(seen), GLANCE, 0)[1:] == (0, 0)  # type: ignore[arg-type]


def test_results_are_also_judged_from_random_codes(seen: Observed, monkeypatch: pytest.MonkeyPatch):
    """Every second batch of sums begins with codes of chance, all others with the start."""
    starts, rest = [], repair.Trial.rest

    def watched(trial: repair.Trial, x: torch.Tensor, start: torch.Tensor, *tables: torch.Tensor):
        starts.append(start)
        return rest(trial, x, start, *tables)

    monkeypatch.setattr(repair.Trial, "rest", watched)
    repair.repair(TableRule(RULE), targets_of(seen), GLANCE, 0)  # type: ignore[arg-type]
    assert [len(start.unique()) for start in starts] == [1, CODES] * (len(starts) // 2)


def test_what_fills_the_gaps_of_a_target_table_where_sums_rest_is_taught(seen: Observed):
    """A run whose lowest row never rests shows nothing of it, and the target table leaves it free."""
    learnt = targets_of(seen)
    learnt.targets[EMPTY_CELL, :, :, OUTSIDE] = ANY
    right, judged = repair.judge(TableRule(RULE), learnt, GLANCE, 0)  # type: ignore[arg-type]
    assert right == 1.0
    assert (judged.targets[EMPTY_CELL, :, BLANK, OUTSIDE] == BLANK).all()
    assert (judged.targets[EMPTY_CELL, :, OUTSIDE, OUTSIDE] == BLANK).all()


def test_a_grid_that_goes_to_and_fro_is_wrong(seen: Observed):
    """The lowest row, which nobody reads, blinks: the top row reads right, and still the table is not one to learn."""
    learnt = targets_of(seen)
    learnt.targets[EMPTY_CELL, BLANK, BLANK, OUTSIDE] = ZERO
    learnt.targets[EMPTY_CELL, ZERO, :, OUTSIDE] = BLANK
    learnt.targets[EMPTY_CELL, :, ZERO, OUTSIDE] = BLANK
    assert repair.judge(TableRule(RULE), learnt, GLANCE, 0)[0] == 0.0  # type: ignore[arg-type]


def test_a_network_learns_its_target_table():
    """A small table with entries that are free: the network ends within the codes that are at rest, which the start is
    not, and does what is asked."""
    network = RuleNetwork(SMALL_RULE, [0])
    codes = np.array([0, 5, 10])
    numbers = np.random.default_rng(0)
    targets = numbers.integers(1, 3, (1, 1, 4, 4)).repeat(len(CELL_SYMBOLS), 0).repeat(4, 1)
    targets[numbers.random(targets.shape) < 0.3] = ANY
    learnt, looks = TargetTable(codes, targets, *[np.arange(4)] * 2), []
    config = ConsolidationConfig(steps=600, batch=128, rate=1e-2)
    frozen = network.reading.weight.clone()
    ((wrong, _),) = fit(network, [learnt], config, [0], lambda *look: looks.append(look))
    assert wrong == 0
    assert looks[0][2] > 100
    assert looks[-1][2] == 0
    rule = LearnedRule(network)
    table = rule.table(codes.tolist())
    found = agreement(rule, table)
    assert (found.entries, found.different) == (targets.size, 0)
    assert (table.steps[targets != ANY] == targets[targets != ANY]).all()
    assert table.steps.all()
    assert torch.equal(network.reading.weight, frozen), "what a code reads as stays"


def test_what_was_hard_at_one_look_is_not_forgotten_at_the_next(monkeypatch: pytest.MonkeyPatch):
    """Else learning the one would undo the other, to and fro. Here a context is hard at each look, never the same."""
    network = RuleNetwork(SMALL_RULE, [0])
    learnt = TargetTable(np.array([0, 5, 10]), np.zeros((len(CELL_SYMBOLS), 4, 4, 4), np.int64), *[np.arange(4)] * 2)
    looks, drawn, loss = [], [], consolidate._Schooling.loss

    def distances(_: consolidate._Schooling) -> torch.Tensor:
        looks.append(F.one_hot(torch.tensor([len(looks)]), learnt.targets.size))
        return 2.0 - looks[-1]

    def watched(school: consolidate._Schooling, which: torch.Tensor, margin: float) -> torch.Tensor:
        drawn.append(which)
        return loss(school, which, margin)

    monkeypatch.setattr(consolidate._Schooling, "distances", distances)
    monkeypatch.setattr(consolidate._Schooling, "loss", watched)
    fit(network, [learnt], ConsolidationConfig(steps=200, batch=64), [0])
    before, after = (torch.cat(part, 1)[0].bincount()[:4].tolist() for part in (drawn[:100], drawn[100:]))
    assert before[0] > 300 > 30 > max(before[1:])
    assert after[1] > 300 > after[0] > 100 > 30 > max(after[2:])


@pytest.mark.parametrize("module", [consolidate, minimise, observe, repair, search, targets])
def test_consolidation_knows_no_arithmetic(module):
    tree = ast.parse(inspect.getsource(module))
    imported = {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    }
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not imported & {"Addition", "find"}
    assert not modules & {f"gridsum.automaton.{name}" for name in ("proof", "rows", "construct")}
    assert not {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} & {9, 10}, "no digits either"


@pytest.mark.parametrize(
    "module", [consolidate, minimise, observe, repair, search, targets, problems, discovery, exact]
)
def test_training_and_consolidation_never_see_what_columns_do(module):
    tree = ast.parse(inspect.getsource(module))
    assert not {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & {"row", "column"}
