"""Which neighbours a rule needs, learned by deletion: runs that see more than three are narrowed, taught and proved.

    gridsum train --variant exact --setting small --rule.neighbours "left right below above own" \
        --consolidation.rounds 0 --seeds 0-4 --out FOLDER
    python benchmarks/neighbourhood.py FOLDER [--seeds 0-4] [--json FILE]

At rest a cell's own state tells nothing but itself: `own` is deleted first. For any three of the other neighbours, in
any order, states are minimised as if a cell saw nothing else, and the target table that follows solves sums. The three
whose table has most of them right are kept: what else the run sees is not needed. It is deleted, the narrowed network
keeps its other weights and learns the table, and its rule is consolidated and proved as any is. Nothing but the proof
knows addition.
"""

import argparse
import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gridsum.automaton.consolidate import draw, fit
from gridsum.automaton.rule import LearnedRule
from gridsum.automaton.settle import settle
from gridsum.automaton.targets import TargetTable
from gridsum.config.exact import PROVABLE, ConsolidationConfig
from gridsum.config.fields import seeds_of
from gridsum.model.rule import RuleNetwork
from gridsum.model.store import load_runs
from gridsum.ops.devices import describe, pick_device

AT_ONCE = 10_000
"""Grids that are stepped at a time."""
GLANCE = 12_000
"""Sums by which three neighbours are compared with three others."""


class Wide(LearnedRule):
    """The rule of a run that sees more, on grids; of contexts it knows what the narrowed network makes of them."""

    def __init__(self, network: RuleNetwork, narrow: RuleNetwork) -> None:
        self.wide, self.places = network, narrow.config.positions
        super().__init__(narrow)

    @torch.no_grad()
    def step(self, x: Tensor, state: Tensor) -> Tensor:
        cells, queries = self.wide.meet(self.vectors())
        return torch.cat(
            [
                self.states_of(self.wide.step(cells[:, symbols], queries[:, symbols], self.patterns[held][None])[0])
                for symbols, held in zip(x.split(AT_ONCE), state.split(AT_ONCE), strict=True)
            ]
        )


class Remembering(Wide):
    """It shows the same grids at rest, whichever of its neighbours are looked at."""

    known: dict[bytes, tuple[Tensor, Tensor]]

    def rest(self, x: Tensor) -> tuple[Tensor, Tensor]:
        key = x.cpu().numpy().tobytes()
        if key not in self.known:
            self.known[key] = super().rest(x)
        return self.known[key]


def narrowed(network: RuleNetwork, kept: tuple[str, ...]) -> RuleNetwork:
    """The network with these neighbours alone."""
    positions = network.config.positions
    part = RuleNetwork(replace(network.config, neighbours=" ".join(kept)), range(network.runs), network.task)
    weights = dict(network.state_dict())
    weights["looking.relative"] = weights["looking.relative"][:, [positions.index(name) for name in kept]]
    part.load_state_dict(weights)
    return part.to(network.decided.device)


def compared(network: RuleNetwork, config: ConsolidationConfig, seed: int) -> dict[tuple[str, ...], float]:
    """The share of sums that a target table from any three neighbours has right, the best first."""
    look, known = replace(config, problems=min(GLANCE, config.problems), repair=False), {}
    shares = dict[tuple[str, ...], float]()
    for kept in permutations([name for name in network.config.positions if name != "own"], len(PROVABLE)):
        rule = Remembering(network, narrowed(network, kept))
        rule.known = known
        shares[kept] = draw(rule, look, seed, lambda _: None)[0].targets_right
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def in_order(table: TargetTable, kept: tuple[str, ...]) -> TargetTable:
    """The table with its neighbours in the order of the proof's."""
    axes = [1 + kept.index(name) for name in PROVABLE]
    return replace(table, targets=np.ascontiguousarray(table.targets.transpose(0, *axes)))


def deleted(network: RuleNetwork, config: ConsolidationConfig, seed: int) -> dict[str, Any]:
    """What one run comes to with the three neighbours that it needs."""
    shares = compared(network, config, seed)
    kept = next(iter(shares))
    found: dict[str, Any] = {"seed": seed, "right": {" ".join(places): share for places, share in shares.items()}}
    for places, share in list(shares.items())[:3]:
        print(f"seed {seed}: {share:.4f} right from {', '.join(places)}", flush=True)
    narrow = narrowed(network, kept)
    round_, table = draw(Wide(network, narrow), config, seed * 1000, lambda news: print("  ", news, flush=True))
    found |= {"kept": kept, "round": vars(round_)}
    if table is not None and set(kept) == set(PROVABLE):
        narrow.requires_grad_(True)
        fit(narrow, [in_order(table, kept)], config, [seed])
        ((_, found["proof"]),) = settle(narrow, config, [seed], lambda news: print("  ", news, flush=True))
    print(f"seed {seed}: kept {', '.join(kept)};", "proved" if found.get("proof", {}).get("proved") else "not proved")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of trained runs that are not consolidated")
    parser.add_argument("--seeds", type=seeds_of, help="some of them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the record")
    parser.add_argument("--problems", type=int, help="sums that are looked at")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    device = pick_device(options.device)
    model = load_runs("exact", sorted(options.folder.glob("seed-*/weights.safetensors")), device)
    usual = ConsolidationConfig()
    config = replace(model.config.consolidation, rounds=usual.rounds, problems=options.problems or usual.problems)
    runs = [
        deleted(model.network.alone(run), config, seed)
        for run, seed in enumerate(model.seeds)
        if options.seeds is None or seed in options.seeds
    ]
    if options.json:
        seen = " ".join(model.network.config.positions)
        record = {"command": f"python benchmarks/neighbourhood.py FOLDER ({seen})", "device": describe(device)}
        options.json.write_text(json.dumps(record | {"runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
