"""A training folder: the configuration, checkpoints of the whole fleet, and a folder for each seed.

    FOLDER/config.json              what was asked for, and whose weights it began from, if not from random ones
    FOLDER/checkpoint*.safetensors  the last two checkpoints (see `gridsum.training.checkpoints`)
    FOLDER/seed-K/metrics.jsonl     one line an epoch
    FOLDER/seed-K/weights.safetensors
    FOLDER/seed-K/weights-N.safetensors  those after N epochs, where they are to stay (training.keep_epochs)

A checkpoint is replaced as a whole, and the logs are cut back to it on resuming: a run killed at any moment goes on as
if it had not been. One process at a time works in a folder.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from torch import Tensor

from gridsum.config.fields import fields_of, to_json
from gridsum.config.paper import ConfigError
from gridsum.config.registry import find, read_config
from gridsum.io.disk import (
    LineError,
    append_lines,
    clear_temporaries,
    read_objects,
    sync,
    write_atomically,
)
from gridsum.io.sealed import checksum_of
from gridsum.model.store import WEIGHTS, Model
from gridsum.training.checkpoints import (
    BEFORE,
    CHECKPOINT,
    Checkpoint,
    Warn,
    check_fits,
    checkpoint_epoch,
    checkpoint_step,
    go_back,
    load_checkpoint,
)

_CONFIG = "config.json"
_METRICS = "metrics.jsonl"
_CHECKSUM = "sha256"
"""Of the rest of a configuration, which finds damage; a person who changes one removes it."""


class FolderError(ValueError):
    """A training folder that cannot be used as asked; the message says what to do."""


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
    # A start that was stopped before it had a configuration has empty logs, and a checkpoint before the first step.
    kept = any(path.stat().st_size for path in folder.glob("seed-*/*"))
    if kept or (any((folder / name).exists() for name in (CHECKPOINT, BEFORE)) and checkpoint_step(folder) != 0):
        raise FolderError(
            f"{folder} holds trained runs, but no {_CONFIG}; put that back from a copy, or choose another folder"
        )


def clear_leftovers(folder: Path) -> None:
    """Remove what a process that was killed while it wrote has left."""
    for place in (folder, *folder.glob("seed-*")):
        clear_temporaries(place)


def create(folder: Path, config: Any, seeds: Sequence[int], start: dict[str, Any] | None = None) -> None:
    """Begin a training folder; `start` says what the training begins from (see `about_start`)."""
    for seed in seeds:
        write_atomically(seed_folder(folder, seed) / _METRICS, b"")
    _write_setup(folder, config, seeds, start)


def check_same(folder: Path, config: Any, seeds: Sequence[int]) -> None:
    """Refuse to resume a folder that was started with other seeds or with another configuration."""
    there, seeds_there = read_setup(folder)
    if seeds_there != tuple(seeds):
        raise FolderError(f"{folder} was started with seeds {list(seeds_there)}; resume it with those")
    _check_configuration(folder, config, there)


def _check_configuration(folder: Path, config: Any, there: Any) -> None:
    if type(there) is not type(config):
        raise FolderError(f"{folder} holds a run of {there.variant}, not of {config.variant}; name another folder")
    ours, theirs, may_change = fields_of(config), fields_of(there), find(config.variant).may_change
    different = [name for name in ours if ours[name] != theirs[name] and not fnmatch(name, may_change)]
    if different:
        name = different[0]
        raise FolderError(
            f"{folder} was started with {name} = {theirs[name][1]}, not {ours[name][1]}; resume it as it was started "
            f"(only {may_change} may change), or choose another folder"
        )


def take_up(
    folder: Path, config: Any, seeds: Sequence[int], state: Mapping[str, Tensor], warn: Warn
) -> Checkpoint | None:
    """The checkpoint to go on from, if it is of these runs, and logs cut back to it; None where there is none yet.

    `state` has tensors of the names, shapes and types that the fleet has. A run that began from another's weights does
    not begin anew from random ones.
    """
    checkpoint = load_checkpoint(folder, warn)
    if checkpoint is None:
        if start := _read_setup(folder)[2]:
            raise FolderError(
                f"{folder} began from the weights of {start.get('model')}, and its checkpoint is missing; start again "
                "with --start-from in another folder"
            )
        if any((seed_folder(folder, seed) / WEIGHTS).exists() for seed in seeds):
            warn(f"{folder} has no checkpoint to go on from, so its training begins anew")
    else:
        check_fits(folder, checkpoint, seeds, state)
        try:
            there = read_config(checkpoint.config)
        except ConfigError as error:
            raise FolderError(f"the checkpoint in {folder} has a configuration that cannot be read: {error}") from None
        _check_configuration(folder, config, there)
    for seed in seeds:
        cut_metrics(folder, seed, 0 if checkpoint is None else checkpoint.epoch)
        if (
            checkpoint is not None
            and checkpoint.epoch
            and checkpoint.logs.get(str(seed)) != _log_checksum(folder, seed)
        ):
            path = seed_folder(folder, seed) / _METRICS
            raise FolderError(f"{path} is not as it was at the checkpoint; put the file back from a copy")
    if checkpoint is not None and checkpoint.from_before:
        go_back(folder)
    return checkpoint


def write_setup(folder: Path, config: Any, seeds: Sequence[int]) -> None:
    """Change the configuration of an existing training folder."""
    _write_setup(folder, config, seeds, _read_setup(folder)[2])


def _write_setup(folder: Path, config: Any, seeds: Sequence[int], start: dict[str, Any] | None) -> None:
    setup = {"seeds": list(seeds), **({"start": start} if start else {}), **json.loads(to_json(config))}
    write_atomically(folder / _CONFIG, json.dumps(setup | {_CHECKSUM: _checksum(setup)}, indent=2).encode())


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def about_start(start: Model, moments: bool) -> dict[str, Any]:
    """Which model a training run began from, by the name it was given, how many epochs that had been trained for, and
    whether the optimiser went on with its moments."""
    trained = start.config.training.epochs_in_all
    return {"model": start.name, "seeds": list(start.seeds), "epochs": trained, "moments": moments}


def read_setup(folder: Path) -> tuple[Any, tuple[int, ...]]:
    """The configuration and seeds of an existing training folder."""
    return _read_setup(folder)[:2]


def _read_setup(folder: Path) -> tuple[Any, tuple[int, ...], dict[str, Any]]:
    path = folder / _CONFIG
    try:
        data = json.loads(path.read_text())
        if data.pop(_CHECKSUM, None) not in (None, _checksum(data)):
            raise FolderError(f"{path} is not as it was written; put it back from a copy, or remove its {_CHECKSUM}")
        seeds, start = tuple(int(seed) for seed in data.pop("seeds")), dict(data.pop("start", {}))
    except FileNotFoundError:
        raise FolderError(f"no training run to resume in {folder}; start one without --resume") from None
    except FolderError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise FolderError(
            f"{path} cannot be read as the configuration of a training run ({type(error).__name__}: {error}); put it "
            "back from a copy"
        ) from None
    try:
        return read_config(data), seeds, start
    except ConfigError as error:
        raise FolderError(f"{path}: {error}") from None


def trained_epochs(folder: Path) -> int:
    """How many epochs the weights in a folder have been trained for.

    The checkpoint says it; where a finished training has dropped it, the logs do. They alone would not, because
    they run ahead of the weights until the next checkpoint.
    """
    epoch = checkpoint_epoch(folder)
    if epoch is not None:
        return epoch
    _, seeds = read_setup(folder)
    if not all((seed_folder(folder, seed) / WEIGHTS).is_file() for seed in seeds):
        return 0
    logs = [read_metrics(folder, seed) for seed in seeds]
    return max((int(log[-1]["epoch"]) for log in logs if log), default=0)


def append_metrics(folder: Path, seed: int, line: dict[str, Any]) -> None:
    """Floats get the nine digits that tell all single-precision numbers apart."""
    short = {name: float(f"{value:.9g}") if isinstance(value, float) else value for name, value in line.items()}
    append_lines(seed_folder(folder, seed) / _METRICS, json.dumps(short).encode() + b"\n", durable=False)


def read_metrics(folder: Path, seed: int) -> list[dict[str, Any]]:
    """The whole lines of a run's log; a damaged one is named."""
    return list(_numbered(seed_folder(folder, seed) / _METRICS))


def _numbered(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(read_objects(path), 1):
        if type(line.get("epoch")) is not int:
            raise LineError(f"{path}, line {number} does not say of which epoch it is; put the file back from a copy")
        yield line


def keep_logs(folder: Path, seeds: Sequence[int]) -> dict[str, str]:
    """Have all logs on the disk, because they must not be behind the checkpoint that follows; returns checksums."""
    for seed in seeds:
        sync(seed_folder(folder, seed) / _METRICS)
    return {str(seed): _log_checksum(folder, seed) for seed in seeds}


def _log_checksum(folder: Path, seed: int) -> str:
    return hashlib.sha256((seed_folder(folder, seed) / _METRICS).read_bytes()).hexdigest()


def cut_metrics(folder: Path, seed: int, epoch: int) -> None:
    """Forget the lines of a run's log past `epoch` epochs, and what was left of a line being written.

    A damaged line among those that stay is named; among those that are forgotten it goes with them.
    """
    path = seed_folder(folder, seed) / _METRICS
    content = path.read_bytes() if path.exists() else None
    kept: list[dict[str, Any]] = []
    if epoch and content is not None:
        for line in _numbered(path):
            if line["epoch"] > epoch:
                break
            kept.append(line)
            if line["epoch"] == epoch:
                break
    text = b"".join(json.dumps(line).encode() + b"\n" for line in kept)
    if text != content:
        write_atomically(path, text)


def write_outcome(path: Path, result: dict[str, Any]) -> None:
    """Keep what a run came to, with checksums of it and of the weights beside it."""
    result = {**result, "weights": checksum_of(path.parent / WEIGHTS)}
    write_atomically(path, (json.dumps(result | {"checksum": _checksum(result)}, indent=2) + "\n").encode())


def read_outcome(path: Path) -> dict[str, Any]:
    """What a run came to after training, if it is as it was written, and of the weights beside it, where they are."""
    weights, why = path.parent / WEIGHTS, ""
    try:
        found = json.loads(path.read_text())
        if found.pop("checksum") != _checksum(found):
            why = "it was changed after it was written"
        elif weights.is_file() and found["weights"] != checksum_of(weights):
            why = "it is of other weights than those beside it"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        found, why = {}, f"{error!r}"
    if why:
        raise FolderError(f"{path} cannot be used ({why}); remove it, and it is made again with --resume")
    return found
