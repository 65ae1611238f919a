"""From nothing to a proof: a fleet of `exact` trained on results, each run consolidated by itself and proved.

The folder can be resumed:

    FOLDER/config.json, checkpoint.safetensors, seed-K/metrics.jsonl, seed-K/weights.safetensors   as of every training
    FOLDER/seed-K/proof.json    what its consolidation came to and whether it is proved; its weights are final then
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gridsum.automaton.consolidate import consolidate
from gridsum.automaton.proof import prove
from gridsum.automaton.rule import LearnedRule, RuleError, agreement
from gridsum.config.exact import ExactConfig
from gridsum.config.paper import ConfigError
from gridsum.io.disk import write_atomically
from gridsum.model.rule import RuleNetwork
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
            return [
                _finish(
                    config, seed, folder, device, lambda news, k=k: report(Progress("consolidate", k, len(seeds), news))
                )
                for k, seed in enumerate(seeds)
            ]


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
    config: ExactConfig, seed: int, folder: Path, device: torch.device, report: Callable[[str], None]
) -> dict[str, Any]:
    """Consolidate and prove one run, unless that is done."""
    path = seed_folder(folder, seed) / PROOF
    if path.exists():
        try:
            return json.loads(path.read_text())
        except ValueError as error:
            raise FolderError(f"{path} is damaged ({error}); remove it, and the run is proved again") from None
    weights = seed_folder(folder, seed) / WEIGHTS
    network, _, _ = load_exact(weights)
    network.to(device)
    result = settle(config, network, seed, lambda news: report(f"seed {seed}: {news}"))
    save_run(weights, network, 0, config, seed)
    write_atomically(path, (json.dumps(result, indent=2) + "\n").encode())
    return result


def settle(config: ExactConfig, network: RuleNetwork, seed: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Consolidate a network of one run in place, round by round until its rule is proved; returns what it came to."""
    started = time.monotonic()
    result: dict[str, Any] = {"seed": seed, "proved": False, "rounds": []}
    try:
        result |= _examine(network)
        result["proved_before"] = result["proved"]
        for index in range(config.consolidation.rounds):
            if result["proved"]:
                break
            round_ = consolidate(network, config.consolidation, seed * 1000 + index, report)
            result["rounds"].append(asdict(round_))
            if not round_.contexts:
                result["why"] = f"training failed: {round_.right:.4f} of the sums are right"
                break
            result |= _examine(network)
            report(_verdict(result))
            if not network.task.adds and round_.right == 1 and not result["leaves"]:
                break  # nothing is left to learn from, and nothing can be proved
    except RuleError as error:
        result["why"] = str(error)
    return result | {"seconds": round(time.monotonic() - started, 1)}


def _examine(network: RuleNetwork) -> dict[str, Any]:
    """Whether the rule of a network is proved: its table is, and the network does what the table says."""
    rule = LearnedRule(network)
    table = rule.table()
    follows = agreement(rule, table)
    about = {
        "codes": len(table.codes),
        "entries": follows.entries,
        "leaves": follows.different,
        "margin": follows.margin,
    }
    if not network.task.adds:
        return {**about, "proved": False, "why": f"what can be proved is that a rule adds, not {network.task.name}"}
    proof = prove(table)
    return {
        **about,
        "proved": proof.proved and not follows.different,
        "contexts": proof.contexts,
        "evaluations": proof.evaluations,
        "failures": len(proof.failures),
        "first_failures": [str(failure) for failure in proof.failures[:5]],
    }


def _verdict(result: dict[str, Any]) -> str:
    if result["proved"]:
        return f"proved: {result['contexts']} contexts, nearest logit {result['margin']:.2f} from 0"
    if "failures" not in result:
        return f"{result['why']}; {result['leaves']} of {result['entries']} entries lead out of its codes"
    return (
        f"{result['failures']} conditions fail, {result['leaves']} of {result['entries']} entries lead out of its codes"
    )
