"""State minimisation against a textbook's, on machines of chance; and on runs whose codes are no states."""

import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from gridsum.automaton import consolidate
from gridsum.automaton.consolidate import draw, fit
from gridsum.automaton.minimise import BELOW, LEFT, RIGHT, Behaviour, TooManyStates, partition
from gridsum.automaton.minimise import Shown as Types
from gridsum.automaton.observe import Observed, observe
from gridsum.automaton.proof import prove
from gridsum.automaton.rule import LearnedRule
from gridsum.automaton.settle import settle
from gridsum.automaton.table import RuleTable
from gridsum.automaton.targets import ANY, TargetTable, one_way
from gridsum.config.exact import ConsolidationConfig
from gridsum.model.rule import RuleNetwork
from gridsum.tasks import PAD, find
from tests.automaton.test_consolidate import LOOK, TableRule
from tests.oracles.column_addition import CODES, by_columns, changed, column_addition, column_addition_with_two_meanings
from tests.oracles.second_checker import second_check
from tests.oracles.sizes import SMALL_RULE


@dataclass(frozen=True)
class Machine:
    """A Moore machine: what each state shows [S], and where each input leads from it [inputs, S]."""

    output: np.ndarray
    next: np.ndarray

    def minimal(self) -> np.ndarray:
        """The class of each state by the textbook: fill the table of pairs that some input tells apart."""
        apart = self.output[:, None] != self.output
        while True:
            more = apart | np.any([apart[after][:, after] for after in self.next], 0)
            if (more == apart).all():
                return (~apart).argmax(1)
            apart = more


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    states, inputs = draw(st.integers(2, 8)), draw(st.integers(1, 3))
    numbers = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Machine(numbers.integers(0, 3, states), numbers.integers(0, states, (inputs, states)))


def classes_of(windows: np.ndarray, counts: np.ndarray, output: np.ndarray, patterns: np.ndarray) -> np.ndarray:
    """The partition of types by windows alone."""
    nothing = np.zeros((0, 2), np.int64)
    nowhere = np.zeros(len(patterns), bool)
    seen = Observed(windows, counts, patterns, patterns, nowhere, nowhere, nothing, nothing[:, 0], 1.0, 3)
    return partition(seen, output)


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(((one[:, None] == one) == (other[:, None] == other)).all())


def watched(machine: Machine, role: int, copies: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Windows of a machine, and the state of each of its types: several types are copies of one state.

    A cell reads an input and the state of its neighbour in one role; the other neighbours are of any type.
    """
    numbers = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(machine.output)), copies)
    symbol, seen, _ = np.indices((len(machine.next), len(of), 1000)).reshape(3, -1)
    after = machine.next[symbol, of[seen]]
    own = after * copies + numbers.integers(0, copies, len(after))
    wrong = numbers.random(len(own)) < noise
    own[wrong] = numbers.integers(0, len(of), wrong.sum())
    windows = numbers.integers(0, len(of), (len(own), 5))
    windows[:, 0], windows[:, role], windows[:, 4] = symbol, seen, own
    return windows, of


@settings(max_examples=40, deadline=None)
@given(
    machines(), st.sampled_from([RIGHT, BELOW, LEFT]), st.integers(1, 3), st.sampled_from([0.0, 0.02]), st.booleans()
)
def test_a_machine_is_minimised_as_a_textbook_does(
    machine: Machine, role: int, copies: int, noise: float, shared: bool
):
    """Also where a few of its steps are wrong, and where all types have one code."""
    windows, of = watched(machine, role, copies, noise, seed=len(machine.output))
    codes = np.zeros(len(of), np.int64) if shared else np.arange(len(of))
    found = classes_of(windows, np.ones(len(windows), np.int64), machine.output[of], codes)
    assert same_partition(found, machine.minimal()[of])


def test_what_little_is_known_of_is_held_against_what_its_pattern_places():
    """`rare` contradicts `other`, of which no more is known than its pattern; so it cannot be of that group."""
    one, two, other, rare, here, there, nobody = range(7)
    lines = [(0, one, here, 5000), (0, two, there, 5000), (1, other, there, 4000), (1, rare, here, 3000)]
    windows = [(symbol, nobody, right, nobody, own) for symbol, right, own, _ in lines]
    windows += [(2, nobody, nobody, nobody, own) for own in (one, two, other, rare)]
    counts = np.array([*(count for *_, count in lines), 6000, 5000, 4000, 3000])
    found = classes_of(np.array(windows), counts, np.array([0, 0, 0, 0, 1, 2]), np.array([1, 2, 2, 3, 4, 5]))
    assert same_partition(found, np.array([0, 1, 1, 0, 2, 3]))


def test_a_million_windows_take_seconds():
    """Eight states in 80 types, and twelve inputs."""
    numbers = np.random.default_rng(0)
    machine = Machine(numbers.integers(0, 3, 8), numbers.integers(0, 8, (12, 8)))
    windows, of = watched(machine, RIGHT, 10, 0.01, 0)
    started = time.process_time()
    found = classes_of(windows, np.ones(len(windows), np.int64), machine.output[of], np.arange(len(of)))
    assert time.process_time() - started < 20  # 2 on an idle core; the bound is for a busy machine
    assert same_partition(found, machine.minimal()[of])


class Shown(TableRule):
    """A run that comes to what a rule comes to, but writes its states in other codes; all cells are at rest."""

    def __init__(self, rule: RuleTable, extra: tuple[int, ...], recode) -> None:
        super().__init__(rule)
        self.outside = rule.outside + len(extra)
        self.read, self.recode = torch.tensor((*rule.outputs, *extra)), recode
        self.numbers = torch.Generator().manual_seed(0)

    def outputs(self) -> torch.Tensor:
        return self.read

    def rest(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        plain = TableRule(self.rule)
        state, resting = plain.rest(x)
        below = F.pad(state, (0, 0, 0, 1), value=self.rule.outside)[:, 1:]
        chance = torch.rand(x.shape, generator=self.numbers)
        return self.recode(state, below, chance), resting

    def step(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        assert x.shape == state.shape
        return state


def behaviour_of(run: Shown, reading: np.ndarray, rare: float) -> Behaviour:
    types = Types(observe(run, LOOK, 0), reading, rare)  # type: ignore[arg-type]
    return types.behaviour(partition(types.seen, types.reads))


def by_recoding(run: Shown) -> tuple[int, np.ndarray, TargetTable]:
    """How many states a run has, their patterns, and the target table."""
    behaviour = behaviour_of(run, run.outputs().numpy(), 2e-4)
    return len(behaviour.states), behaviour.states, one_way(behaviour)


@pytest.mark.parametrize("state", [0, 4, 17], ids=["blank", "digit", "digit with a carry"])
def test_two_codes_for_one_state_by_chance_are_one(state: int):
    rule = column_addition()
    run = Shown(
        rule,
        (rule.outputs[state],),
        lambda s, _, chance: torch.where((s == state) & (chance < 0.3), rule.outside, s),
    )
    count, patterns, _ = by_recoding(run)
    assert count == CODES
    assert patterns.tolist() == list(range(CODES))


def test_one_code_for_two_states_is_two():
    """Digit 3 has one code with a carry and without it, told apart by what stands below; a free pattern is found."""
    rule, without, with_carry = column_addition(), 4, 14

    def recode(s, below, _):
        odd = below % 2 == 1
        swapped = torch.where(s == without, with_carry, torch.where(s == with_carry, without, s))
        return torch.where(odd, swapped, s)

    count, patterns, drawn = by_recoding(Shown(rule, (rule.outputs[with_carry], PAD), recode))
    assert count == CODES
    assert patterns.tolist() == list(range(CODES))
    taught = drawn.targets != ANY
    number = {int(code): place for place, code in enumerate(drawn.states)}
    # Which of the two codes stands for which state is free: the target table is column addition up to their names.
    names = np.arange(CODES + 1)
    if drawn.targets[3, 0, CODES, 0] != number[without]:
        names[[without, with_carry]] = with_carry, without
    plain = names[rule.steps[:, names][:, :, names][:, :, :, names]]
    alike = np.isin(plain, (0, 1)) & np.isin(drawn.targets, (0, 1))  # a zero and a blank, where no left decides
    right = (plain == drawn.targets) | alike
    assert right[taught].mean() > 0.98  # the rest was seen too rarely in so few sums


def test_states_without_a_pattern_are_refused():
    """The two states of a 3 in one code, and no other code reads as 3."""
    rule = column_addition()
    one = Shown(rule, (), lambda s, *_: torch.where(s == 14, 4, s))
    reading = np.array(rule.outputs)
    reading[14] = PAD
    with pytest.raises(TooManyStates, match="no bit pattern is left"):
        behaviour_of(one, reading, 0.0)


def test_a_run_with_two_meanings_of_a_code_becomes_a_rule_that_both_checkers_prove():
    """Its codes are 22, its states 21; and the rule that it is taught has one meaning for each."""
    table = column_addition_with_two_meanings()
    run = TableRule(table)
    found, learnt = draw(run, ConsolidationConfig(problems=12_000, digits=(1, 4)), 0, lambda _: None)  # type: ignore[arg-type]
    assert found.right == found.targets_right == 1.0
    assert found.states == CODES
    assert learnt is not None
    taught = run.taught(learnt)
    assert not prove(taught).failures[:3]
    assert second_check(taught).proved
    assert (learnt.targets != table.steps)[learnt.targets != ANY].any(), "one meaning for each code"


def network_of(table: RuleTable, targets: np.ndarray, seed: int) -> RuleNetwork:
    """A network that does what a table says: placement and reading by gradients, the step as consolidation fits it."""
    network = RuleNetwork(replace(SMALL_RULE, hidden=32, bits=table.bits), [seed], table.task)
    patterns = LearnedRule(network).patterns[list(table.states)][None]
    descent = torch.optim.Adam(network.parameters(), 1e-2)
    for _ in range(200):
        placed = network.placement(network.embedding.weight)[0].log()
        read = network.read(patterns)[0]
        loss = F.nll_loss(placed, torch.tensor(table.actions)) + F.cross_entropy(read, torch.tensor(table.outputs))
        descent.zero_grad()
        loss.backward()
        descent.step()
    ((wrong, _),) = fit(
        network,
        [TargetTable(np.array(table.states), targets, *[np.arange(len(table.states) + 1)] * 2)],
        ConsolidationConfig(steps=900, batch=512, rate=1e-2),
        [seed],
    )
    assert wrong == 0
    return network


@pytest.fixture(scope="module")
def unfinished() -> RuleNetwork:
    """Binary addition, but a 1 in the first column, where no term has one, is lost: it is right and not proved."""
    table = by_columns(find("add:base=2"))
    return network_of(table, changed(table, {(1, table.outside): 0}).steps.astype(np.int64), 0)


ROUND = ConsolidationConfig(problems=3_000, digits=(1, 4), steps=600, batch=512, rate=5e-3, rounds=2)


def test_networks_are_consolidated_together_and_proved(unfinished: RuleNetwork):
    """One of them has learned nothing, and keeps its weights."""
    fleet, again = unfinished.alone(0, 0), RuleNetwork(unfinished.config, [1], unfinished.task)
    for name, tensor in fleet.state_dict().items():
        tensor[1] = again.state_dict()[name][0]
    news = list[str]()
    first, second = (result for _, result in sorted(settle(fleet, ROUND, (4, 5), news.append)))
    assert (first["seed"], first["proved"], first["round"]) == (4, True, 1)
    assert prove(LearnedRule(fleet.alone(0)).table()).proved
    assert (second["seed"], second["proved"], second["round"]) == (5, False, None)
    assert second["why"].startswith("training failed")
    assert all(torch.equal(a, b) for a, b in zip(fleet.alone(1).parameters(), again.parameters(), strict=True))
    assert any(line.startswith("seed 4: proved") for line in news)


def test_a_fleet_is_consolidated_as_its_runs_alone(unfinished: RuleNetwork):
    """One short round: in long ones another order of adding grows to other weights."""
    short, seeds = replace(ROUND, rounds=1, steps=20), (5, 6)
    fleet = unfinished.alone(0, 0)
    results = dict(settle(fleet, short, seeds))
    for run, seed in enumerate(seeds):
        single = unfinished.alone(0)
        ((_, result),) = settle(single, short, (seed,))
        mine, fleets = result["rounds"][0], results[run]["rounds"][0]
        assert mine | {"wrong": 0} == fleets | {"wrong": 0}
        for parameter, of_fleet in zip(single.parameters(), fleet.alone(run).parameters(), strict=True):
            assert torch.allclose(parameter, of_fleet, rtol=1e-3, atol=1e-4)


def test_a_target_table_worse_than_its_run_is_not_learned(unfinished: RuleNetwork, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(consolidate, "judge", lambda _, learnt, *__: (0.5, learnt))
    fleet, news = unfinished.alone(0), list[str]()
    ((_, result),) = settle(fleet, ROUND, (4,), news.append)
    assert not result["proved"]
    assert [(done["fitted"], done["targets_right"]) for done in result["rounds"]] == [(False, 0.5)], (
        "one round, in vain"
    )
    assert "keeps its weights" in result["why"]
    assert any("keeps its weights" in line for line in news)
    assert all(torch.equal(a, b) for a, b in zip(fleet.parameters(), unfinished.parameters(), strict=True))


def test_a_run_gives_up_after_a_round_without_progress(unfinished: RuleNetwork, monkeypatch: pytest.MonkeyPatch):
    """It is fitted, and nothing comes of it: two rounds show that, and a third is not tried."""
    monkeypatch.setattr(consolidate, "fit", lambda network, *_: [(1, 0)] * network.runs)
    ((_, result),) = settle(unfinished.alone(0), replace(ROUND, rounds=4), (4,))
    assert not result["proved"]
    assert [done["fitted"] for done in result["rounds"]] == [True, True]
