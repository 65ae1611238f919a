"""Consolidation: runs are taught, each by itself, to do in one step what they settle to.

A trained run is right at rest, but in contexts that occur only on the way it may be wrong for a step and repair itself.
It is its own teacher here. Nothing in this file, or in those that it calls, knows what is added; all it is told are the
results of training problems. Whether it needs another round is for the checker to say (`settle`).

1. It solves many sums. Where its result is right, what stands around every cell at rest is noted, and what a cell
   becomes if another pattern is put on its left (`observe`).
2. The fewest states that explain this are found, and a bit pattern for each (`minimise`). Then patterns are counted as
   other states, one after another, and results judge (`search`).
3. What a cell holds at rest is a function of its symbol, its right and its lower neighbour, and among a few states
   (siblings) also of its left one. This is its target table (`targets`): for any left neighbour, go there in one step.
   Siblings count as the same to the right of a cell, because which of them stands there depends on that cell itself.
   Where rows pass on what they know to the right, left and right change places in all of this; where they do so both
   ways, the left neighbour tells what leads the row, and what the right one passes on hangs on that.
4. Where sums stay wrong, each state is tried in the contexts that no right sum shows, and results judge (`repair`). In
   all other contexts never seen at rest any state will do, so that the run stays within its states.
5. A target table that answers fewer sums right than the run itself is not learned: the run keeps its weights.
6. The step is trained on all contexts of these states until none differs and every logit has a margin (`fit`). The run
   then is a table, entry by entry. All runs are trained together.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.apart import apart
from gridsum.automaton.minimise import Shown, TooManyStates
from gridsum.automaton.observe import Observed, observe
from gridsum.automaton.repair import judge, repair
from gridsum.automaton.rule import LearnedRule, Rules
from gridsum.automaton.search import Search, Sums
from gridsum.automaton.targets import ANY, TargetTable
from gridsum.config.exact import ConsolidationConfig
from gridsum.model.rule import RuleNetwork
from gridsum.ops.devices import Replayed, on_gpu

_CONTEXTS = 1 << 16
# What is hard comes more often: in this share of a batch, but each context so many times at most.
_HARD, _COPIES = 0.25, 4
# What was hard at a look counts so much at the next: else it is forgotten while others are learned, and comes back.
_MEMORY = 0.5
_WARM_UP = 20
# Between two looks at all contexts.
_LOOK = 100
_FROZEN = ("embedding", "placement", "view", "reading")
# Runs that are looked at side by side on a GPU.
_SIDE_BY_SIDE = 16

Report = Callable[[str], None]


@dataclass
class Round:
    """What one round of consolidation came to for one run."""

    right: float
    """The share of the sums that the run answers right before it."""
    states: int = 0
    contexts: int = 0
    """Symbol, right and below, that were seen."""
    partitions: int = 0
    """Of what was seen into states, that were tried."""
    tried: int = 0
    """Contexts in which other states were tried."""
    found: int = 0
    targets_right: float = 0.0
    """The share of the same sums that the target table answers right."""
    goes: str = "left"
    """Where the rows of its table pass something on to: left, right, or both."""
    fitted: bool = False
    """Whether the target table was learned; if not, the run has kept its weights."""
    wrong: int = 0
    """Contexts that still differ from the target table."""
    steps: int = 0
    why: str = ""


def draw(rule: LearnedRule, config: ConsolidationConfig, seed: int, report: Report) -> tuple[Round, TargetTable | None]:
    """The target table that a run's own results teach, if there is one that is worth learning.

    What a row passes on goes to the left, as a carry does; where minimisation finds no table of this kind that answers
    as many sums as the run, one is drawn that goes to the right, too: left and right are exchanged; and then one that
    goes both ways. They are searched, the best one first. The first that then answers as many sums as the run is taken;
    if none does, the best is told.
    """
    call = apart if on_gpu(rule.device) else lambda function, *arguments: function(*arguments)
    begun, tried = list[tuple[Round, LearnedRule, Search]](), list[Round]()
    looked = dict[bool, Observed]()
    for goes, sides in (("left", rule), ("right", rule.exchanged()), ("both", rule)):
        exchanged = goes == "right"
        looked[exchanged] = observed = looked.get(exchanged) or observe(sides, config, seed)
        found = Round(observed.right, goes=goes)
        if found.right < config.enough:
            found.why = f"training failed: {found.right:.4f} of the sums are right, too few to learn from"
            return found, None
        try:
            shown = Shown(observed, rule.outputs().cpu().numpy(), config.rare)
            search = call(Search.begin, shown, goes, sides.places, Sums.asked(sides, config, seed), report)
        except TooManyStates as error:
            found.why = str(error)
            tried.append(found)
            continue
        begun.append((found, sides, search))
        if search.share >= found.right:
            break
    for found, sides, search in sorted(begun, key=lambda one: -one[2].share):
        first = search.learnt
        ended = call(search.run, report) if config.repair else search
        learnt = _repaired(sides, ended, first, config, seed, found)
        report(_told(found))
        if found.targets_right >= found.right:
            return found, replace(learnt, targets=learnt.targets.swapaxes(1, 2)) if found.goes == "right" else learnt
        tried.append(found)
    best = max(tried, key=lambda one: one.targets_right)
    best.why = best.why or "its target table would answer fewer sums right, so it keeps its weights"
    return best, None


def _repaired(
    rule: LearnedRule, search: Search, first: TargetTable, config: ConsolidationConfig, seed: int, found: Round
) -> TargetTable:
    """The table that a search ended with, repaired, or the `first`, if that then answers more sums right; `found` hears
    what it is like."""
    best = first
    unchanged = np.array_equal(search.learnt.targets, first.targets)
    for learnt in (first,) if unchanged else (search.learnt, first):
        learnt, tried, repaired = repair(rule, learnt, config, seed) if config.repair else (learnt, 0, 0)
        right, learnt = judge(rule, learnt, config, seed)
        if right > found.targets_right:
            best, found.targets_right, found.tried, found.found = learnt, right, tried, repaired
        if right == 1:
            break
    found.partitions, found.states = search.tried, len(np.unique(best.targets[best.targets != ANY]))
    found.contexts = int((best.targets != ANY).any(1).sum())
    return best


def _told(found: Round) -> str:
    return (
        f"{found.right:.4f} of the sums right, {found.states} states, what a row passes on goes {found.goes}, "
        f"{found.partitions} partitions tried, {found.contexts} contexts seen, {found.tried} tried, a state found for "
        f"{found.found}; {found.targets_right:.4f} right by its target table"
    )


def consolidate(
    network: RuleNetwork, config: ConsolidationConfig, seeds: Mapping[int, int], report: Callable[[int, str], None]
) -> dict[int, Round]:
    """One round of looking and learning, in place, for each run whose seed is given; `report` hears the run."""

    def look(run: int) -> tuple[Round, TargetTable | None]:
        stream = torch.cuda.stream(torch.cuda.Stream(device)) if on_gpu(device) else nullcontext()
        with stream:
            found = draw(LearnedRule(network.alone(run)), config, seeds[run], lambda news: report(run, news))
            if on_gpu(device):
                torch.cuda.current_stream(device).synchronize()
            return found

    device = network.decided.device
    if on_gpu(device):
        torch.cuda.synchronize(device)
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            drawn = dict(zip(seeds, pool.map(look, seeds), strict=True))
    else:  # without threads, whose end an interrupt would wait for
        drawn = {run: look(run) for run in seeds}
    for run, (found, _) in drawn.items():
        if found.why:
            report(run, found.why)
    tables = {run: learnt for run, (_, learnt) in drawn.items() if learnt is not None}
    if tables:
        runs = list(tables)
        part = network.alone(*runs).requires_grad_(True)
        taught = fit(
            part,
            list(tables.values()),
            config,
            [seeds[run] for run in runs],
            lambda k, step, wrong: report(
                runs[k], f"step {step}: {wrong} of {tables[runs[k]].targets.size} contexts differ"
            ),
        )
        with torch.no_grad():
            for name, tensor in network.state_dict().items():
                tensor[runs] = part.state_dict()[name]
        for run, (wrong, steps) in zip(runs, taught, strict=True):
            found = drawn[run][0]
            found.fitted, found.wrong, found.steps = True, wrong, steps
    return {run: found for run, (found, _) in drawn.items()}


class _Schooling:
    """A target table for each run: its contexts one by one, and how far the run's logits are from what each wants.

    Where any state will do, it is one that some cell comes to rest in: the start may be none of these. Shorter tables,
    and lists of states, are filled up with their first.
    """

    def __init__(self, rules: Rules, tables: Sequence[TargetTable]) -> None:
        self.rules, device = rules, rules.device
        self.counts = [learnt.targets.size for learnt in tables]
        contexts, targets, patterns, resting = [], [], [], []
        for learnt in tables:
            places = np.append(learnt.states, rules.outside)
            indices = np.indices(learnt.targets.shape).reshape(4, -1).T
            indices[:, 1:] = places[indices[:, 1:]]
            contexts.append(_filled(indices, max(self.counts)))
            targets.append(_filled(learnt.targets.reshape(-1).astype(np.int64), max(self.counts)))
            most = max(len(other.states) for other in tables)
            patterns.append(_filled(learnt.states, most))
            resting.append(np.isin(np.arange(most), learnt.targets))
        self.contexts, self.targets, states, self.resting = (
            torch.tensor(np.stack(part), device=device) for part in (contexts, targets, patterns, resting)
        )
        self.patterns = rules.patterns[states]

    def logits(self, which: Tensor, prepared: tuple[Tensor, ...] | None = None) -> Tensor:
        """Of some contexts [R,N] of each run."""
        contexts = self.contexts.gather(1, which[..., None].expand(-1, -1, 4))
        return self.rules.all_logits(contexts[..., 0], contexts[..., 1:], prepared)

    def loss(self, which: Tensor, margin: float) -> Tensor:
        """How unlikely the state that a context wants is by its logits; where any will do, that all are [R]."""
        z, target = self.logits(which), self.targets.gather(1, which)
        on = (self.patterns > 0).to(z.dtype).mT
        cost = F.softplus(2 * margin - z) @ on + F.softplus(2 * margin + z) @ (1 - on)
        taught = cost.gather(2, target.clamp_min(0)[..., None])[..., 0]
        free = -torch.logsumexp((-cost).masked_fill(~self.resting[:, None], -math.inf), 2)
        return torch.where(target == ANY, free, taught).mean(1)

    @torch.no_grad()
    def distances(self) -> Tensor:
        """How far the logit nearest to 0 of each context is on its right side; where any will do, of the best state."""
        prepared, found = self.rules.prepare(), []
        for which in torch.arange(self.targets.shape[1], device=self.rules.device).split(_CONTEXTS // len(self.counts)):
            which = which.expand(len(self.counts), -1)
            target = self.targets.gather(1, which)
            least = (self.logits(which, prepared)[:, :, None] * self.patterns[:, None]).amin(-1)
            taught = least.gather(2, target.clamp_min(0)[..., None])[..., 0]
            free = least.masked_fill(~self.resting[:, None], -math.inf).amax(2)
            found.append(torch.where(target == ANY, free, taught))
        return torch.cat(found, 1)


def _filled(values: np.ndarray, length: int) -> np.ndarray:
    return np.concatenate((values, np.repeat(values[:1], length - len(values), 0)))


def fit(
    network: RuleNetwork,
    tables: Sequence[TargetTable],
    config: ConsolidationConfig,
    seeds: Sequence[int],
    report: Callable[[int, int, int], None] = lambda *_: None,
) -> list[tuple[int, int]]:
    """Train the step of each run on its target table, in place, until no context differs.

    Returns how many still do in each run, and the steps that it took. `report` hears the run, the step, and how many.
    """
    free = [parameter for name, parameter in network.named_parameters() if not name.startswith(_FROZEN)]
    school = _Schooling(Rules(network), tables)
    device, counts = network.decided.device, torch.tensor(school.counts, device=network.decided.device)[:, None]
    batch = min(config.batch, max(school.counts))
    generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
    rate = torch.zeros((), device=device)
    descent = torch.optim.Adam(free, rate, betas=(0.9, 0.99), capturable=on_gpu(device))

    def learn(drawn: Tensor) -> Tensor:
        loss = school.loss(drawn, config.margin).sum()
        for parameter, gradient in zip(free, torch.autograd.grad(loss, free), strict=True):
            parameter.grad = gradient
        descent.step()
        return loss.detach()

    update = Replayed(learn) if on_gpu(device) else learn
    done: dict[int, tuple[int, int]] = {}
    final = [parameter.detach().clone() for parameter in free]
    inside = torch.arange(max(school.counts), device=device) < counts
    weights = torch.zeros(inside.shape, dtype=torch.float64, device=device)
    listed = weights
    for step in range(config.steps + 1):
        if step % _LOOK == 0 or step == config.steps:
            distances = school.distances()
            near = inside & (distances <= config.margin)
            for run, (wrong, left) in enumerate(
                zip((near & (distances <= 0)).sum(1).tolist(), near.sum(1).tolist(), strict=True)
            ):
                if run not in done:
                    report(run, step, wrong)
                    if not left or step == config.steps:
                        done[run] = wrong, step
                        for kept, parameter in zip(final, free, strict=True):
                            kept[run] = parameter.detach()[run]
            if len(done) == len(tables):
                break
            weights = _MEMORY * weights + near
            listed = weights.cumsum(1)
        drawn = torch.stack([torch.rand(batch, generator=generator, device=device) for generator in generators])
        hard = (_COPIES * listed[:, -1:]).clamp_max(_HARD * batch)
        again = torch.searchsorted(listed, drawn * listed[:, -1:])
        drawn = torch.where(torch.arange(batch, device=device) < hard, again, (drawn * counts).long())
        drawn = drawn.clamp_max(counts - 1)
        warm = min(1.0, (step + 1) / _WARM_UP)
        rate.fill_(config.rate * warm * (1 + math.cos(math.pi * step / config.steps)) / 2)
        update(drawn)
    with torch.no_grad():
        for kept, parameter in zip(final, free, strict=True):
            parameter.copy_(kept)
    return [done[run] for run in range(len(tables))]
