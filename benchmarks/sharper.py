"""The runs of FOLDER/block-3/VARIANT for 100 epochs more, with the entropy of actions in the loss; then what placement
loses, and accuracy.

    gridsum reproduce --variants base noGroups --blocks 3 --only train --out FOLDER
    python benchmarks/sharper.py FOLDER base 0.1

With weight 0 they are only trained further, which is what the others are compared with.
"""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import torch

from gridsum.config.fields import override
from gridsum.config.registry import GradientSource, register
from gridsum.evaluation.evaluate import evaluate
from gridsum.evaluation.records import append
from gridsum.evaluation.suites import Suite
from gridsum.io.version import source_commit
from gridsum.model.store import WEIGHTS, load_runs
from gridsum.ops.devices import pick_device
from gridsum.ops.grids import side_by_side
from gridsum.training.folders import read_setup, seed_folder
from gridsum.training.loop import train
from gridsum.training.paper import Paper

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.leakage import SHARPER, append_leakage, leakage

SUITES = ("2x100", "2x602", "2x1000", "2x2000", "[1,4]x[1,10]", "[5,6]x[1,10]", "[7,10]x[1,10]")


class Sharpened(GradientSource):
    """The paper's gradients and those of the mean entropy of a symbol's actions, whose weight rises to its full size
    over the first half of training."""

    def __init__(self, inner: Any, network: Any, config: Any, weight: float) -> None:
        self.inner, self.network, self.weight, self.half = inner, network, weight, max(1, config.steps // 2)
        symbols = len(config.task.task.alphabet.symbols)
        device = next(network.parameters()).device
        self.codes = torch.arange(1, symbols, device=device).expand(network.runs, 1, -1)

    def rate(self, step: int) -> float:
        return self.inner.rate(step)

    def __call__(self, step: int) -> Any:
        found = self.inner(step)
        if not self.weight:
            return found
        with torch.enable_grad():
            p = self.network.actions(self.codes)
            entropy = -(p * p.clamp_min(1e-9).log()).sum(-1).mean((1, 2))
            total = self.weight * min(1.0, (step + 1) / self.half) * entropy.sum()
            parameters = list(self.network.parameters())
            gradients = torch.autograd.grad(total, parameters, allow_unused=True)
        rows = [torch.zeros_like(part) if own is None else own for part, own in zip(parameters, gradients, strict=True)]
        return dataclasses.replace(found, gradient=found.gradient + side_by_side(rows))


class Sharp(Paper):
    def __init__(self, name: str, weight: float) -> None:
        super().__init__(name)
        self.weight = weight

    def gradients(self, network: Any, config: Any, seeds: Any) -> Any:
        return Sharpened(super().gradients(network, config, seeds), network, config, self.weight)


def main(folder: Path, of: str, weight: float) -> None:
    device = pick_device("auto")
    name = f"{of}-sharp-{weight:g}" if weight else f"{of}-further"
    register(Sharp(name, weight))
    there, seeds = read_setup(folder / "block-3" / of)
    start = load_runs(of, [seed_folder(folder / "block-3" / of, seed) / WEIGHTS for seed in seeds])
    config = override(Paper(of).following(there), {"training.epochs": 100})
    out = folder / "sharper" / name
    train(dataclasses.replace(config, variant=name), seeds, out, device, start=start)
    model = load_runs(name, [seed_folder(out, seed) / WEIGHTS for seed in seeds], device)
    append_leakage(out, leakage(model))
    (subject,) = Paper(of).subjects(model, grids="published", placement="soft")
    for suite in map(Suite.parse, SUITES):
        append(folder / SHARPER, evaluate(subject, suite, 128, 0, source_commit()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
