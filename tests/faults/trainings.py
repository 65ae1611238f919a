"""Trainings small enough to be stopped thousands of times, and what an undisturbed one comes to."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from gridsum.config.exact import ExactConfig
from gridsum.config.fields import override
from gridsum.config.paper import Config
from gridsum.config.registry import find
from gridsum.model.store import load
from gridsum.training.folders import read_setup
from gridsum.training.loop import train

CPU = torch.device("cpu")
SEEDS = (1, 2)
_TINY = {
    "task.terms": (1, 2),
    "task.group_bounds": (),
    "task.digits": (1, 2),
    "task.random_rows": 0,
    "task.random_columns": 0,
    "model.width": 8,
    "model.groups": 2,
    "model.heads": 4,
    "model.placement_hidden": 8,
    "model.step_hidden": 8,
    "model.context_heads": 2,
    "model.halting": "fixed",
    "model.fixed_steps": 1,
    "objective.regulariser": "none",
    "training.batch": 2,
    "training.steps_per_epoch": 1,
    "training.epochs": 3,
    "training.checkpoint_epochs": 1,
}
PAPER = override(Config(), _TINY)
_NO_STEPS = {f"phases.{name}.steps": 0 for name in ("anneal", "hard", "robust")}
EXACT = override(
    ExactConfig(),
    {
        "rule.bits": 2,
        "rule.width": 8,
        "rule.hidden": 8,
        "rule.placement_hidden": 8,
        "rule.groups": 2,
        "rule.neighbours": "left right below above",  # from which no rule is taken, so there is nothing to consolidate
        "discovery.batch": 4,
        "discovery.epoch_steps": 1,
        "phases.place.steps": 2,
        "phases.soft.steps": 1,
        **{
            f"phases.{name}.{field}": (1, 2) for name in ("place", "soft") for field in ("terms", "digits", "recurrent")
        },
        **_NO_STEPS,
    },
)


@dataclass(frozen=True)
class Scenario:
    """How a training is begun in a folder, and what it comes to if nothing goes wrong."""

    name: str
    begin: Callable[[Path], None]
    expected: dict[str, bytes]

    def go_on(self, folder: Path) -> None:
        """As a person does: resume what is there, or begin."""
        if (folder / "config.json").exists():
            resume(folder)
        else:
            self.begin(folder)

    def differs(self, folder: Path) -> str | None:
        """The first file that is not as it should be, and in what."""
        found = outcome(folder)
        wrong = next((name for name, content in self.expected.items() if found.get(name) != content), None)
        return wrong and f"{wrong} is another one: {_difference(self.expected[wrong], found.get(wrong))}"


def _difference(expected: bytes, found: bytes | None) -> str:
    if found is None:
        return "it is missing"
    try:
        ours, theirs = json.loads(expected), json.loads(found)
    except ValueError:
        return f"{sum(a != b for a, b in zip(expected, found, strict=False))} of {len(expected)} bytes"
    if len(ours) != len(theirs):
        return f"{len(theirs)} lines, not {len(ours)}"
    differing = {(line["epoch"], name) for line, other in zip(ours, theirs, strict=True) for name in line | other
                 if line.get(name) != other.get(name)}  # fmt: skip
    return f"epochs and fields {sorted(differing)}"


def resume(folder: Path) -> None:
    config, seeds = read_setup(folder)
    train(config, seeds, folder, CPU, resume=True)


def outcome(folder: Path) -> dict[str, bytes]:
    """Weights and logs, but for the times in them."""
    found = {}
    for path in sorted(folder.glob("seed-*/*")):
        if path.name == "metrics.jsonl":
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            found[f"{path.parent.name}/{path.name}"] = json.dumps([{**line, "seconds": 0} for line in lines]).encode()
        elif path.suffix == ".safetensors":
            found[f"{path.parent.name}/{path.name}"] = path.read_bytes()
    return found


def scenarios(place: Path) -> list[Scenario]:
    """A training from random weights, one that goes on with another's, and one of `exact`."""
    source = place / "source"
    train(PAPER, SEEDS, source, CPU)
    more = override(find(PAPER.variant).following(PAPER), {"training.epochs": 2})
    begins: dict[str, Callable[[Path], None]] = {
        "train": lambda folder: train(PAPER, SEEDS, folder, CPU),
        "train --start-from": lambda folder: train(more, SEEDS, folder, CPU, start=load(str(source))),
        "train --variant exact": lambda folder: train(EXACT, SEEDS, folder, CPU),
    }
    found = []
    for name, begin in begins.items():
        whole = place / "whole"
        begin(whole)
        found.append(Scenario(name, begin, outcome(whole)))
        shutil.rmtree(whole)
    return found
