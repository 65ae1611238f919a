"""Trainings small enough to be stopped thousands of times, and what an undisturbed one comes to."""

import io
import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gridsum.cli import main
from gridsum.config.exact import ExactConfig
from gridsum.config.fields import override
from gridsum.config.paper import Config
from gridsum.config.registry import find
from gridsum.model.store import load
from gridsum.training.folders import read_setup
from gridsum.training.loop import train
from tests.oracles.sizes import SMALLEST, TINY_EXACT

CPU = torch.device("cpu")
SEEDS = (1, 2)
_TINY = SMALLEST | {
    "task.terms": (1, 2),
    "task.bucket_bounds": (),
    "task.digits": (1, 2),
    "task.random_rows": 0,
    "task.random_columns": 0,
    "model.halting": "fixed",
    "model.fixed_steps": 1,
    "objective.regulariser": "none",
    "training.batch": 2,
    "training.steps_per_epoch": 1,
    "training.epochs": 3,
    "training.checkpoint_epochs": 1,
}
PAPER = override(Config(), _TINY)
EXACT = override(
    ExactConfig(),
    TINY_EXACT
    | {
        "rule.bits": 2,
        "rule.neighbours": "left right below above",  # from which no rule is taken, so there is nothing to consolidate
        "phases.place.steps": 2,
        "phases.soft.steps": 1,
        **{f"phases.{name}.{part}": (1, 2) for name in ("place", "soft") for part in ("terms", "digits", "recurrent")},
    },
)
_CONSOLIDATED = override(
    EXACT,
    {
        "rule.neighbours": "left right below",
        "consolidation.problems": 20,
        "consolidation.rounds": 1,
        "consolidation.steps": 2,
        "consolidation.batch": 32,
        "consolidation.digits": (1, 2),
        "consolidation.enough": 1e-6,
    },
)


@dataclass(frozen=True)
class Scenario:
    """How a training, or another command, is begun in a folder, and what it comes to if nothing goes wrong."""

    name: str
    begin: Callable[..., object]
    expected: dict[str, bytes]
    resumed: bool = True
    """Whether one goes on by resuming, not by the same command again."""

    def go_on(self, folder: Path, device: str = "cpu") -> None:
        """As a person does: resume what is there, or begin."""
        if self.resumed and (folder / "config.json").exists():
            config, seeds = read_setup(folder)
            train(config, seeds, folder, torch.device(device), resume=True)
        else:
            self.begin(folder, torch.device(device))

    def differs(self, folder: Path) -> str | None:
        """The first file that is not as it should be."""
        found = outcome(folder)
        wrong = next((name for name, content in self.expected.items() if found.get(name) != content), None)
        return wrong and f"{wrong} is {'another one' if wrong in found else 'missing'}"


def outcome(folder: Path) -> dict[str, bytes]:
    """All files that are meant to be there, but for times and what hangs on them; records in any order."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, content = str(path.relative_to(folder)), path.read_bytes()
        if path.name == "metrics.jsonl":
            content = json.dumps([{**json.loads(line), "seconds": 0} for line in content.splitlines()]).encode()
        elif path.name == "proof.json":
            content = json.dumps({**json.loads(content), "seconds": 0, "checksum": ""}).encode()
        elif path.suffix == ".jsonl":
            content = b"\n".join(sorted(content.splitlines()))
        if not (path.name.startswith((".", "checkpoint", "start")) or path.name in _TIMES):
            found[name] = content
    return found


_TIMES = ("machine.jsonl", "summary.json")


def _begun(config: Any, source: Path | None, folder: Path, device: torch.device = CPU) -> object:
    """A training from random weights, or one that goes on with those of `source`."""
    return train(config, SEEDS, folder, device, start=source and load(str(source)))


def scenarios(place: Path) -> list[Scenario]:
    """Every kind of training."""
    source = place / "source"
    train(PAPER, SEEDS, source, CPU)
    more = override(find(PAPER.variant).following(PAPER), {"training.epochs": 2})
    kinds = {"train": (PAPER, None), "train --start-from": (more, source), "train --variant exact": (EXACT, None)}
    return [_scenario(place, name, partial(_begun, *kind)) for name, kind in kinds.items()]


def consolidated(place: Path) -> Scenario:
    """A training of `exact` whose runs are consolidated."""
    return _scenario(place, "consolidation", partial(_begun, _CONSOLIDATED, None))


def commands(place: Path) -> list[Scenario]:
    """A small reproduction, and a model for other programs."""
    reproduce = ("reproduce", "--quick", "--variants", "SASA", "--only", "train", "validate", "measure", "--out")
    lines = {"export": ("export", "exact", "--to", "hf", "--out"), "reproduce": reproduce}

    def begin(line: tuple[str, ...], folder: Path, *_: object) -> None:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
            assert main([*line, str(folder)]) == 0, said.getvalue()

    return [_scenario(place, name, partial(begin, line), resumed=False) for name, line in lines.items()]


def _scenario(place: Path, name: str, begin: Callable[..., object], resumed: bool = True) -> Scenario:
    """With what it comes to undisturbed."""
    whole = place / "whole"
    begin(whole)
    expected = outcome(whole)
    shutil.rmtree(whole)
    return Scenario(name, begin, expected, resumed)
