"""A training folder: the configuration, one checkpoint of the whole fleet, and a folder for each seed.

    FOLDER/config.json              what was asked for
    FOLDER/start.json               whose weights it began from; only where it did not begin from random ones
    FOLDER/checkpoint.safetensors   the fleet at the end of an epoch: all that resuming needs
    FOLDER/seed-K/metrics.jsonl     one line an epoch
    FOLDER/seed-K/weights.safetensors

Random numbers are functions of seed and step, so a checkpoint is weights, moments and the epoch. It is replaced
as a whole, and the logs are cut back to it on resuming: a run killed at any moment goes on as if it had not been.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gridsum.config import Config
from gridsum.fields import from_dict, from_json, to_json
from gridsum.recipe import ExactConfig
from gridsum.store import WEIGHTS, Model, StoreError, write_atomically

_CHECKPOINT = "checkpoint.safetensors"
_CONFIG = "config.json"
_START = "start.json"
_METRICS = "metrics.jsonl"


class FolderError(ValueError):
    """A training folder that cannot be used as asked; the message says what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """The fleet after `epoch` epochs."""

    epoch: int
    seeds: tuple[int, ...]
    tensors: dict[str, Tensor]


def seed_folder(folder: Path, seed: int) -> Path:
    return folder / f"seed-{seed}"


def check_free(folder: Path) -> None:
    """Refuse a folder that holds a training run already: nothing is overwritten."""
    if (folder / _CONFIG).exists():
        raise FolderError(f"{folder} already holds a training run; add --resume to go on, or choose another folder")
    if (folder / WEIGHTS).exists():
        raise FolderError(f"{folder} already holds the weights of a run; choose another folder")


def create(folder: Path, config: Config | ExactConfig, seeds: Sequence[int]) -> None:
    """Begin a training folder."""
    for seed in seeds:
        seed_folder(folder, seed).mkdir(parents=True, exist_ok=True)
        (seed_folder(folder, seed) / _METRICS).write_bytes(b"")
    write_setup(folder, config, seeds)


def write_setup(folder: Path, config: Config | ExactConfig, seeds: Sequence[int]) -> None:
    setup = {"seeds": list(seeds), **json.loads(to_json(config))}
    write_atomically(folder / _CONFIG, json.dumps(setup, indent=2).encode())


def write_start(folder: Path, start: Model, moments: bool) -> None:
    """Which model a training began from, by the name it was given, how many epochs that had been trained for, and
    whether the optimiser went on with its moments."""
    trained = start.config.training.epochs_in_all
    about = {"model": start.name, "seeds": list(start.seeds), "epochs": trained, "moments": moments}
    write_atomically(folder / _START, json.dumps(about).encode() + b"\n")


def read_setup(folder: Path) -> tuple[Config, tuple[int, ...]]:
    """The configuration and seeds of an existing training folder of the paper's system."""
    data, seeds = _read_setup(folder)
    if data.get("variant") == "exact":
        raise FolderError(f"{folder} holds a training of exact, which keeps bits in its cells; name another folder")
    return from_json(json.dumps(data)), seeds


def read_exact_setup(folder: Path) -> tuple[ExactConfig, tuple[int, ...]]:
    """The same of a training of `exact`."""
    data, seeds = _read_setup(folder)
    if data.get("variant") != "exact":
        raise FolderError(f"{folder} holds a training of {data.get('variant')}, not of exact")
    return from_dict(ExactConfig, data), seeds


def holds_exact(folder: Path) -> bool:
    """Whether a folder holds a training of `exact`."""
    try:
        return _read_setup(folder)[0].get("variant") == "exact"
    except FolderError:
        return False


def _read_setup(folder: Path) -> tuple[dict[str, Any], tuple[int, ...]]:
    path = folder / _CONFIG
    try:
        data = json.loads(path.read_text())
        seeds = tuple(int(seed) for seed in data.pop("seeds"))
    except FileNotFoundError:
        raise FolderError(f"{folder} holds no training run to resume; start one without --resume") from None
    except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise FolderError(f"{path} cannot be read as a training configuration: {error!r}") from None
    return data, seeds


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.tensors.items()}
    about = {"epoch": checkpoint.epoch, "seeds": checkpoint.seeds}
    write_atomically(folder / _CHECKPOINT, save(tensors, {"gridsum": json.dumps(about)}))


def load_checkpoint(folder: Path, tensors: bool = True) -> Checkpoint | None:
    """The last checkpoint, or None where the run ended before its first; `tensors` false spares reading them."""
    path = folder / _CHECKPOINT
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads(file.metadata()["gridsum"])
            held = {name: file.get_tensor(name) for name in file.keys()} if tensors else {}  # noqa: SIM118
        return Checkpoint(int(about["epoch"]), tuple(about["seeds"]), held)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} is not a whole checkpoint ({error}); remove it to start again") from None


def load_moments(weights: Sequence[Path], seeds: Sequence[int]) -> dict[str, Tensor] | None:
    """What the optimiser of the training that left these weights held of these seeds; None where nothing says it."""
    folders = {path.parent.parent for path in weights}
    checkpoint = load_checkpoint(folders.pop()) if len(folders) == 1 else None
    if checkpoint is None or "updates" not in checkpoint.tensors or not set(seeds) <= set(checkpoint.seeds):
        return None
    rows = [checkpoint.seeds.index(seed) for seed in seeds]
    held = checkpoint.tensors
    return {**{name: held[name][rows] for name in ("weights", "mean", "square")}, "updates": held["updates"]}


def drop_checkpoint(folder: Path) -> None:
    """A training that has ended needs none: weights and logs say all there is to say."""
    (folder / _CHECKPOINT).unlink(missing_ok=True)


def trained_epochs(folder: Path) -> int:
    """How many epochs the weights in a folder have been trained for.

    The checkpoint says it; where a finished training has dropped it, the logs do. They alone would not, because
    they run ahead of the weights until the next checkpoint.
    """
    checkpoint = load_checkpoint(folder, tensors=False)
    if checkpoint is not None:
        return checkpoint.epoch
    _, seeds = read_setup(folder)
    if not all((seed_folder(folder, seed) / WEIGHTS).is_file() for seed in seeds):
        return 0
    logs = [read_metrics(folder, seed) for seed in seeds]
    return max((int(log[-1]["epoch"]) for log in logs if log), default=0)


def append_metrics(folder: Path, seed: int, line: dict[str, Any]) -> None:
    """Floats get the nine digits that tell all single-precision numbers apart."""
    short = {name: float(f"{value:.9g}") if isinstance(value, float) else value for name, value in line.items()}
    with (seed_folder(folder, seed) / _METRICS).open("a") as file:
        file.write(json.dumps(short) + "\n")


def read_metrics(folder: Path, seed: int) -> list[dict[str, Any]]:
    """The whole lines of a run's log."""
    text = (seed_folder(folder, seed) / _METRICS).read_text()
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def cut_metrics(folder: Path, seed: int, epoch: int) -> None:
    """Forget the lines of a run's log past `epoch` epochs."""
    path = seed_folder(folder, seed) / _METRICS
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text() if path.exists() else None
    lines = read_metrics(folder, seed) if text is not None else []
    kept = "".join(json.dumps(line) + "\n" for line in lines if line["epoch"] <= epoch)
    if kept != text:
        write_atomically(path, kept.encode())
