"""From nothing to a proof: a fleet of `exact` trained on results, each run consolidated by itself and proved.

The folder can be resumed:

    FOLDER/config.json, checkpoint.safetensors, seed-K/metrics.jsonl, seed-K/weights.safetensors   as of every training
    FOLDER/seed-K/proof.json    what its consolidation came to and whether it is proved; its weights are final then
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gridsum.automaton.rule import together
from gridsum.automaton.settle import settle
from gridsum.config.exact import ExactConfig
from gridsum.config.paper import ConfigError
from gridsum.io.disk import write_atomically
from gridsum.model.store import WEIGHTS, load_exact, save_run
from gridsum.ops.costs import check_time, exact_work
from gridsum.ops.sizes import check_memory, training_bytes
from gridsum.training.checkpoints import Checkpoint, CheckpointError, Warn, config_of, save_checkpoint
from gridsum.training.discovery import Discovery, Logged, train_steps
from gridsum.training.folders import (
    FolderError,
    append_metrics,
    check_free,
    check_same,
    clear,
    create,
    keep_logs,
    opened,
    seed_folder,
    take_up,
    write_setup,
)
from gridsum.training.phases import at_step, grid_of, total_steps
from gridsum.training.process import set_for_training

PROOF = "proof.json"


@dataclass(frozen=True)
class Progress:
    """How far a fleet has come."""

    phase: str
    done: int
    of: int
    news: str


Report = Callable[[Progress], None]


def train_exact(
    config: ExactConfig,
    seeds: Sequence[int],
    folder: Path,
    device: torch.device,
    resume: bool = False,
    report: Report = lambda _: None,
    warn: Warn = lambda _: None,
    tick: Callable[[int, int], None] = lambda *_: None,
) -> list[dict[str, Any]]:
    """Train, consolidate and prove a run for each seed; returns what each came to.

    `report` hears of every epoch, `tick` of every training step: how many are done, and of how many.
    """
    if len(set(seeds)) != len(seeds) or not seeds:
        raise ConfigError("seeds must be different from each other, and at least one")
    check_memory(f"training {len(seeds)} runs of exact at once", training_bytes(config, len(seeds)), device)
    check_time(f"training {len(seeds)} runs of exact", exact_work(config, len(seeds)), device, "tf32")
    if resume:
        check_same(folder, config, seeds)  # before the lock, which needs a folder
    with opened(folder, warn):
        if resume:
            write_setup(folder, config, seeds)
        else:
            check_free(folder)
            clear(folder)
            create(folder, config, seeds)
        with set_for_training(device, "tf32"):
            _discover(config, tuple(seeds), folder, device, report, warn, tick)
        with set_for_training(device, "fp32"):  # a rule is looked at in the precision that it is solved in
            return _finish(config, seeds, folder, device, report)


def _discover(
    config: ExactConfig,
    seeds: tuple[int, ...],
    folder: Path,
    device: torch.device,
    report: Report,
    warn: Warn,
    tick: Callable[[int, int], None],
) -> None:
    """All phases of training on results; a checkpoint's epoch is the number of training steps."""
    fleet, last = Discovery(config, seeds, device), total_steps(config)

    def expected(checkpoint: Checkpoint) -> dict[str, Tensor]:
        """The states a step ends with are as large as the grids of its phase."""
        if not 0 < checkpoint.epoch <= last:
            raise CheckpointError(f"the checkpoint in {folder} is of step {checkpoint.epoch} of {last}; it is damaged")
        _, phase, _ = at_step(config, checkpoint.epoch - 1)
        shape = len(seeds), config.discovery.batch, *grid_of(phase, config.discovery), config.rule.bits
        return fleet.state() | {"before": torch.zeros(()).expand(shape)}

    checkpoint = take_up(folder, config, seeds, expected, warn)
    done = 0
    if checkpoint is not None:
        done = checkpoint.epoch
        fleet.take_up(checkpoint.tensors)
        for run, seed in enumerate(seeds):
            if not (seed_folder(folder, seed) / PROOF).exists():  # else they have been consolidated
                save_run(seed_folder(folder, seed) / WEIGHTS, fleet.network, run, config, seed)
    started = time.monotonic()

    def log(number: int, means: Tensor) -> None:
        phase, _, _ = at_step(config, number - 1)
        values = dict(zip(Logged._fields, means.tolist(), strict=True))
        values |= {name: value.tolist() for name, value in fleet.held_out()._asdict().items()}
        for run, seed in enumerate(seeds):
            line = {name: value[run] for name, value in values.items()}
            hardened = bool(fleet.network.decided[run])
            append_metrics(folder, seed, {"epoch": number, "phase": phase, **line, "hardened": hardened})
        best, mean = max(values["results"]), sum(values["results"]) / len(seeds)
        placed = int(fleet.network.decided.sum())
        new, codes = (sum(values[name]) / len(seeds) for name in ("held_out", "codes"))
        right = f"results right {mean:.3f} (best {best:.3f}), held out {new:.3f}, {codes:.0f} codes in use"
        news = f"{right}, placement hard in {placed} of {len(seeds)} runs"
        report(Progress(phase, number, last, f"{news}, {time.monotonic() - started:.0f} s"))

    for number in train_steps(fleet, done, last, log, tick):
        logs = keep_logs(folder, seeds)
        for run, seed in enumerate(seeds):
            save_run(seed_folder(folder, seed) / WEIGHTS, fleet.network, run, config, seed)
        save_checkpoint(folder, Checkpoint(number, seeds, fleet.state(), config_of(config), logs))


def _finish(
    config: ExactConfig, seeds: Sequence[int], folder: Path, device: torch.device, report: Report
) -> list[dict[str, Any]]:
    """Consolidate and prove all runs for which that is not done, together."""
    results = {seed: _proved(seed_folder(folder, seed) / PROOF) for seed in seeds}
    left = [seed for seed, result in results.items() if result is None]
    if left:
        singles = [load_exact(seed_folder(folder, seed) / WEIGHTS)[0] for seed in left]
        network = together(singles).to(device)

        def told(news: str) -> None:
            report(Progress("consolidate", len(seeds) - len(left), len(seeds), news))

        for run, result in settle(network, config.consolidation, left, told):
            place = seed_folder(folder, left[run])
            save_run(place / WEIGHTS, network, run, config, left[run])
            write_atomically(place / PROOF, (json.dumps(result, indent=2) + "\n").encode())
            results[left[run]] = result
    return [result for result in results.values() if result is not None]


def _proved(path: Path) -> dict[str, Any] | None:
    """What a run came to, if that is known."""
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise FolderError(f"{path} is damaged ({error}); remove it, and the run is proved again") from None
