"""Which neighbours a rule needs, learned by deletion: runs that see more than three are narrowed, taught and proved.

    gridsum train --variant exact --setting small --rule.neighbours "left right below above" --consolidation.rounds 0 \
        --seeds 0-4 --out FOLDER
    python benchmarks/neighbourhood.py FOLDER [--json FILE]

States are minimised from what stands to the left, to the right and below at rest, as if a cell saw nothing else. If
the target table that follows answers as many sums right as the run itself, what else the run sees is not needed: it is
deleted, the narrowed network keeps its other weights and learns the table, and its rule is proved. How well the states
are explained without each of the three says whether it is needed. Nothing but the proof knows addition.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from gridsum.automaton.consolidate import draw, fit
from gridsum.automaton.minimise import minimise
from gridsum.automaton.observe import observe
from gridsum.automaton.rule import LearnedRule, alone, together
from gridsum.automaton.settle import settle
from gridsum.config.exact import PROVABLE, ConsolidationConfig
from gridsum.model.rule import RuleNetwork
from gridsum.model.store import load_runs
from gridsum.ops.devices import describe, pick_device

AT_ONCE = 10_000
"""Grids that are stepped at a time."""


class Wide(LearnedRule):
    """The rule of a run that sees more, on grids; of contexts it knows what the narrowed network makes of them."""

    def __init__(self, network: RuleNetwork, narrow: RuleNetwork) -> None:
        super().__init__(narrow)
        self.wide = network

    @torch.no_grad()
    def step(self, x: Tensor, state: Tensor) -> Tensor:
        cells, queries = self.wide.meet(self.vectors())
        return torch.cat(
            [
                self.states_of(self.wide.step(cells[:, symbols], queries[:, symbols], self.patterns[held][None])[0])
                for symbols, held in zip(x.split(AT_ONCE), state.split(AT_ONCE), strict=True)
            ]
        )


def narrowed(network: RuleNetwork, kept: tuple[str, ...]) -> RuleNetwork:
    """The network with these neighbours alone."""
    positions = network.config.positions
    part = RuleNetwork(replace(network.config, neighbours=" ".join(kept)), range(network.runs), network.task)
    weights = dict(network.state_dict())
    weights["looking.relative"] = weights["looking.relative"][:, [positions.index(name) for name in kept]]
    part.load_state_dict(weights)
    return part.to(network.decided.device)


def explained(rule: LearnedRule, config: ConsolidationConfig, seed: int) -> dict[str, float]:
    """The share of cells that hold what most in their context hold, with the three neighbours and without each."""
    counts = minimise(observe(rule, config, seed), rule.outputs().cpu().numpy(), config.rare).counts
    without = {f"without {name}": counts.sum(1 + axis) for axis, name in enumerate(PROVABLE)}
    return {name: float(part.max(-1).sum() / part.sum()) for name, part in {"all three": counts, **without}.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of trained runs that are not consolidated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the record")
    parser.add_argument("--problems", type=int, help="sums that are looked at")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    device = pick_device(options.device)
    model = load_runs("exact", sorted(options.folder.glob("seed-*/weights.safetensors")), device)
    seen, config = model.network.config.positions, model.config.consolidation
    config = replace(config, problems=options.problems or config.problems)
    runs, taught, tables = [], [], []
    for run, seed in enumerate(model.seeds):
        network = alone(model.network, run)
        narrow = narrowed(network, PROVABLE)
        rule = Wide(network, narrow)
        found = {"seed": seed, "explained": explained(rule, replace(config, problems=config.problems // 10), seed)}
        runs.append(found)
        print(f"seed {seed}: explained by", {name: round(share, 4) for name, share in found["explained"].items()})
        found["round"], table = draw(rule, config, seed * 1000, lambda news: print("  ", news, flush=True))
        found["round"] = vars(found["round"])
        if table is not None:
            taught.append((found, narrow))
            tables.append(table)
    if tables:
        fleet = together([narrow for _, narrow in taught]).requires_grad_(True)
        seeds = [found["seed"] for found, _ in taught]
        fit(fleet, tables, config, seeds)
        for run, result in settle(fleet, replace(config, rounds=1), seeds, lambda news: print("  ", news, flush=True)):
            taught[run][0]["proof"] = result
    for found in runs:
        print("seed", found["seed"], "proved" if found.get("proof", {}).get("proved") else "not proved", flush=True)
    if options.json:
        record = {"command": f"python benchmarks/neighbourhood.py ({' '.join(seen)})", "device": describe(device)}
        options.json.write_text(json.dumps(record | {"runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
