"""A training folder: the configuration, a checkpoint, and a folder for each seed.

    FOLDER/config.json              what was asked for, and whose weights it began from, if not from random ones
    FOLDER/checkpoint.safetensors   the last checkpoint of the whole fleet
    FOLDER/seed-K/metrics.jsonl     one line an epoch
    FOLDER/seed-K/weights.safetensors
    FOLDER/seed-K/weights-N.safetensors  those after N epochs, where they are to stay (training.keep_epochs)
    FOLDER/summary.json             the mean steps of every epoch of each seed, where the logs need not stay

A checkpoint is replaced as a whole, and logs are cut back to it: a killed run goes on as if it had not been.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from torch import Tensor

from gridsum.config.fields import fields_of, to_json
from gridsum.config.paper import ConfigError
from gridsum.config.registry import find, read_config
from gridsum.io import sealed
from gridsum.io.disk import append_lines, read_objects, sync, write_atomically
from gridsum.model.store import WEIGHTS

CHECKPOINT = "checkpoint.safetensors"
_FORMAT = "gridsum-checkpoint-6"
_CONFIG, _METRICS, _SUMMARY = "config.json", "metrics.jsonl", "summary.json"
_CHECKSUM = "sha256"
"""Of the rest of a configuration, which finds damage; a person who changes one removes it."""
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What JSON of another content than was written raises."""


class FolderError(ValueError):
    """A training folder that cannot be used as asked; the message says what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """The fleet after an epoch, and all that going on needs: random numbers are functions of seed and step."""

    epoch: int
    seeds: Sequence[int]
    tensors: dict[str, Tensor]
    logs: dict[str, list[Any]] = field(default_factory=dict)
    """How long every run's log was at that moment, and its checksum, by seed."""


def seed_folder(folder: Path, seed: int) -> Path:
    return folder / f"seed-{seed}"


def kept_weights(epoch: int | str) -> str:
    """The name of the weights after some epoch that stay, or a pattern of such names."""
    return f"weights-{epoch}.safetensors"


def check_free(folder: Path) -> None:
    """Refuse a folder that holds anything trained: nothing is overwritten."""
    if (folder / _CONFIG).exists():
        raise FolderError(
            f"{folder} already holds a training run; add --resume to go on (in Python resume=True), "
            "or choose another folder"
        )
    if (folder / WEIGHTS).exists():
        raise FolderError(f"{folder} already holds the weights of a run; choose another folder")
    # A start that was stopped before it had a configuration has empty logs, and a checkpoint before the first epoch.
    kept = any(path.stat().st_size for path in folder.glob("seed-*/*"))
    if kept or ((folder / CHECKPOINT).exists() and last_epoch(folder) != 0):
        why = f"{folder} holds trained runs, but no {_CONFIG}; put that back from a copy, or choose another folder"
        raise FolderError(why)


def create(folder: Path, config: Any, seeds: Sequence[int], start: dict[str, Any] | None = None) -> None:
    """Begin a training folder; `start` says whose weights the training begins from."""
    for seed in seeds:
        write_atomically(_log(folder, seed), b"")
    write_setup(folder, config, seeds, start)


def check_same(folder: Path, config: Any, seeds: Sequence[int]) -> None:
    """Refuse to resume a folder that was started with other seeds or with another configuration."""
    there, seeds_there = read_setup(folder)
    if seeds_there != tuple(seeds):
        raise FolderError(f"{folder} was started with seeds {list(seeds_there)}; resume it with those")
    may_change = find(config.variant).may_change
    if different := difference(config, there, may_change):
        raise FolderError(
            f"{folder} was started with {different}; resume it as it was started (only {may_change} may change), or "
            "choose another folder"
        )


def difference(config: Any, there: Any, *may_differ: str) -> str | None:
    """The first field that is another in the configuration of a folder, in words. Fields of these patterns may be."""
    ours, theirs = fields_of(config), fields_of(there)
    for name, leaf in ours.items():
        if leaf != theirs.get(name) and not any(fnmatch(name, pattern) for pattern in may_differ):
            return f"{name} = {theirs[name].value}, not {leaf.value}"
    return None


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    about = {**vars(checkpoint), "format": _FORMAT}
    write_atomically(folder / CHECKPOINT, sealed.seal(about.pop("tensors"), about))


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """The last checkpoint, or None where there is none any more."""
    try:
        held, about = sealed.unseal(folder / CHECKPOINT, _FORMAT)
    except FileNotFoundError:
        return None
    except sealed.SealError as error:
        raise FolderError(
            f"{folder / CHECKPOINT} is damaged ({error}); put it back from a copy, or remove it and train in "
            "another folder: --start-from takes these weights, without the optimiser's moments"
        ) from None
    del about["format"]
    return Checkpoint(tensors=held, **about)


def last_epoch(folder: Path) -> int | None:
    """The epoch of the last checkpoint, by its header; None where there is none that can be read."""
    try:
        return int(sealed.about_file(folder / CHECKPOINT, _FORMAT)["epoch"])
    except (FileNotFoundError, sealed.SealError):
        return None


def load_moments(weights: Sequence[Path], seeds: Sequence[int]) -> dict[str, Tensor] | None:
    """What the optimiser of the training that left these weights held of these seeds; None where nothing says it."""
    folders = {path.parent.parent for path in weights}
    checkpoint = load_checkpoint(folders.pop()) if len(folders) == 1 else None
    if checkpoint is None or not set(seeds) <= set(checkpoint.seeds):
        return None
    rows = [checkpoint.seeds.index(seed) for seed in seeds]
    return {name: checkpoint.tensors[name][rows] for name in ("weights", "mean", "square", "updates")}


def take_up(folder: Path, seeds: Sequence[int], state: Mapping[str, Tensor]) -> Checkpoint:
    """The checkpoint to go on from, if its tensors are like those of `state`, and logs cut back to it."""
    checkpoint = load_checkpoint(folder)
    if checkpoint is None:
        raise FolderError(
            f"the checkpoint of {folder} is missing; put it back from a copy, or train in another folder: "
            "--start-from takes these weights, without the optimiser's moments"
        )
    wrong = sealed.difference(checkpoint.tensors, state)
    if list(checkpoint.seeds) != list(seeds):
        wrong = f"it is of seeds {list(checkpoint.seeds)}, not {list(seeds)}"
    if wrong:
        raise FolderError(f"the checkpoint in {folder} is another run's: {wrong}; put its own back from a copy")
    for seed in seeds:
        length, checksum = checkpoint.logs.get(str(seed), (0, None))
        path = _log(folder, seed)
        if checksum is not None and (not path.exists() or _checksum(path.read_bytes()[:length]) != checksum):
            raise FolderError(f"{path} is not as it was at the checkpoint; put the file back from a copy")
        cut_logs(folder, {seed: length})
    return checkpoint


def write_setup(folder: Path, config: Any, seeds: Sequence[int], start: dict[str, Any] | None = None) -> None:
    """Of a training run that goes on, what it began from stays."""
    if (folder / _CONFIG).exists():
        start = json.loads((folder / _CONFIG).read_text()).get("start")
    setup = {"seeds": list(seeds), **({"start": start} if start else {}), **json.loads(to_json(config))}
    write_atomically(folder / _CONFIG, json.dumps(setup | {_CHECKSUM: _checksum(setup)}, indent=2).encode())


def _checksum(content: dict[str, Any] | bytes) -> str:
    content = content if isinstance(content, bytes) else json.dumps(content, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def read_setup(folder: Path) -> tuple[Any, tuple[int, ...]]:
    """The configuration and seeds of an existing training folder."""
    path = folder / _CONFIG
    try:
        data = json.loads(path.read_text())
        as_written = data.pop(_CHECKSUM, None) in (None, _checksum(data))
        seeds = tuple(int(seed) for seed in data.pop("seeds"))
        data.pop("start", None)  # for whoever reads the file
    except FileNotFoundError:
        raise FolderError(f"no training run to resume in {folder}; start one without --resume") from None
    except _UNREADABLE as error:
        raise FolderError(
            f"{path} cannot be read as the configuration of a training run ({type(error).__name__}: {error}); put it "
            "back from a copy"
        ) from None
    if not as_written:
        raise FolderError(f"{path} is not as it was written; put it back from a copy, or remove its {_CHECKSUM}")
    try:
        return read_config(data), seeds
    except ConfigError as error:
        raise FolderError(f"{path}: {error}") from None


def trained_epochs(folder: Path) -> int:
    """How many epochs the weights in a folder have been trained for: the checkpoint says it or, where it was dropped,
    the logs, which run ahead of the weights until the next one."""
    epoch = last_epoch(folder)
    if epoch is not None:
        return epoch
    _, seeds = read_setup(folder)
    if not all((seed_folder(folder, seed) / WEIGHTS).is_file() for seed in seeds):
        return 0
    logs = [read_metrics(folder, seed) for seed in seeds]
    return max((int(log[-1]["epoch"]) for log in logs if log), default=0)


def _log(folder: Path, seed: int | str) -> Path:
    return folder / f"seed-{seed}" / _METRICS


def append_metrics(folder: Path, seed: int, line: dict[str, Any]) -> None:
    """Floats get the nine digits that tell all single-precision numbers apart."""
    short = {name: float(f"{value:.9g}") if isinstance(value, float) else value for name, value in line.items()}
    append_lines(_log(folder, seed), json.dumps(short).encode() + b"\n", durable=False)


def read_metrics(folder: Path, seed: int) -> list[dict[str, Any]]:
    """The whole lines of a run's log; a damaged one is named."""
    return list(read_objects(_log(folder, seed)))


def read_steps(folder: Path) -> dict[int, tuple[float, ...]]:
    """The mean recurrent steps of every epoch, by seed: of the logs or, where these were not kept, of the summary."""
    _, seeds = read_setup(folder)
    try:
        logs = {seed: read_metrics(folder, seed) for seed in seeds}
        return {seed: tuple(float(f"{line['steps']:.5g}") for line in log) for seed, log in logs.items()}
    except FileNotFoundError as missing:
        if not (folder / _SUMMARY).exists():
            raise FolderError(f"{missing.filename} is missing; copy the folder whole, with every seed's log") from None
    try:
        runs = json.loads((folder / _SUMMARY).read_text())["runs"]
        return {int(seed): tuple(run["steps"]) for seed, run in runs.items()}
    except _UNREADABLE as error:
        raise FolderError(f"{folder / _SUMMARY} cannot be read as a summary: {error!r}") from None


def write_summary(folder: Path) -> None:
    """Keep the steps beside the logs, so that they stay where these do not."""
    steps = read_steps(folder)
    if all(_log(folder, seed).exists() for seed in steps):
        runs = {"runs": {seed: {"steps": values} for seed, values in steps.items()}}
        write_atomically(folder / _SUMMARY, json.dumps(runs).encode() + b"\n")


def keep_logs(folder: Path, seeds: Sequence[int]) -> dict[str, list[Any]]:
    """How long logs are, and their checksums. They are on the disk then, as no checkpoint may be ahead of them."""
    found = {}
    for seed in seeds:
        sync(_log(folder, seed))
        content = _log(folder, seed).read_bytes()
        found[str(seed)] = [len(content), _checksum(content)]
    return found


def log_lengths(folder: Path, seeds: Sequence[int]) -> dict[int, int]:
    return {seed: _log(folder, seed).stat().st_size for seed in seeds}


def cut_logs(folder: Path, lengths: Mapping[int, int]) -> None:
    """Forget what was logged past these lengths."""
    for seed, length in lengths.items():
        path = _log(folder, seed)
        if path.exists() and path.stat().st_size > length:
            os.truncate(path, length)


def write_outcome(path: Path, result: dict[str, Any]) -> None:
    """Keep what a run came to, with checksums of it and of the weights beside it."""
    result = {**result, "weights": sealed.checksum_of(path.parent / WEIGHTS)}
    write_atomically(path, (json.dumps(result | {"checksum": _checksum(result)}, indent=2) + "\n").encode())


def read_outcome(path: Path) -> dict[str, Any]:
    """What a run came to after training, if it is as it was written, and of the weights beside it, where they are."""
    weights, why = path.parent / WEIGHTS, ""
    try:
        found = json.loads(path.read_text())
        if found.pop("checksum") != _checksum(found):
            why = "it was changed after it was written"
        elif weights.is_file() and found["weights"] != sealed.checksum_of(weights):
            why = "it is of other weights than those beside it"
    except _UNREADABLE as error:
        found, why = {}, f"{error!r}"
    if why:
        raise FolderError(f"{path} cannot be used ({why}); remove it, and it is made again with --resume")
    return found
