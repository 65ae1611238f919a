"""Checkpoints: the fleet after a training step, and all that going on needs.

    FOLDER/checkpoint.safetensors          the last one
    FOLDER/checkpoint-before.safetensors   the one before it, if the last one should be damaged

Random numbers are functions of seed and step, so a checkpoint is weights, moments, the step, and what the epoch that is
not over has logged.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from gridsum.io.disk import write_atomically
from gridsum.io.sealed import SealError, about_file, difference, seal, unseal

CHECKPOINT, BEFORE = "checkpoint.safetensors", "checkpoint-before.safetensors"
_FORMAT = "gridsum-checkpoint-4"
Warn = Callable[[str], None]


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message says what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """The fleet after `epoch` whole epochs and `step` training steps."""

    epoch: int
    step: int
    seeds: Sequence[int]
    tensors: dict[str, Tensor]
    config: dict[str, Any]
    """What it was trained with, as JSON holds it."""
    quantities: Sequence[str] = ()
    """The names of what is logged."""
    logs: dict[str, list[Any]] = field(default_factory=dict)
    """How long every run's log was at that moment, and its checksum, by seed."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, and keep the one before. A kill in between leaves at least one of them."""
    about = {**vars(checkpoint), "format": _FORMAT}
    write_atomically(folder / CHECKPOINT, seal(about.pop("tensors"), about), folder / BEFORE)


def load_checkpoint(folder: Path, warn: Warn = lambda _: None) -> Checkpoint | None:
    """The last checkpoint, or None where the run ended before its first.

    If it is damaged or missing, the one before takes its place, which is said: the epochs since are trained again.
    """
    why = []
    for name in (CHECKPOINT, BEFORE):
        try:
            found = _read(folder / name)
        except FileNotFoundError:
            continue
        except SealError as error:
            why.append(f"{folder / name} is damaged ({error})")
            continue
        if why:
            warn(f"{why[0]}; going on from the checkpoint before, after epoch {found.epoch}")
        if name == BEFORE:
            os.replace(folder / BEFORE, folder / CHECKPOINT)
        return found
    if why:
        raise CheckpointError(f"{' and '.join(why)}; no checkpoint is left to go on from, so train in another folder")
    return None


def last_of(folder: Path, name: str) -> int | None:
    """The `epoch` or `step` of the last checkpoint, by its header; None where there is none."""
    for file in (CHECKPOINT, BEFORE):
        try:
            return int(about_file(folder / file, _FORMAT)[name])
        except (FileNotFoundError, SealError):
            continue
    return None


def load_moments(weights: Sequence[Path], seeds: Sequence[int]) -> dict[str, Tensor] | None:
    """What the optimiser of the training that left these weights held of these seeds; None where nothing says it."""
    folders = {path.parent.parent for path in weights}
    if len(folders) != 1:
        return None
    place = folders.pop() / CHECKPOINT
    try:
        checkpoint = _read(place)
    except FileNotFoundError:
        return None
    except SealError as error:
        raise CheckpointError(
            f"{place} is damaged ({error}); make it anew with gridsum train --out {place.parent} --resume, or "
            "remove it to begin with the optimiser's moments at zero"
        ) from None
    if not set(seeds) <= set(checkpoint.seeds):
        return None
    rows = [checkpoint.seeds.index(seed) for seed in seeds]
    return {name: checkpoint.tensors[name][rows] for name in ("weights", "mean", "square", "updates")}


def drop_checkpoints(folder: Path) -> None:
    """A training run that has ended needs none: weights and logs say all there is to say."""
    for name in (CHECKPOINT, BEFORE):
        (folder / name).unlink(missing_ok=True)


def check_fits(folder: Path, checkpoint: Checkpoint, seeds: Sequence[int], state: Mapping[str, Tensor]) -> None:
    """Refuse a checkpoint that is not of these runs: other seeds, or tensors of other names, shapes or types.

    What is empty in `state` has a size that depends on the step.
    """
    where = f"the checkpoint in {folder}"
    if list(checkpoint.seeds) != list(seeds):
        raise CheckpointError(f"{where} is of seeds {list(checkpoint.seeds)}, not {list(seeds)}; it is another run's")
    expected = {
        name: tensor if tensor.numel() else checkpoint.tensors.get(name, tensor) for name, tensor in state.items()
    }
    wrong = difference(checkpoint.tensors, expected)
    if wrong:
        raise CheckpointError(f"{where} does not fit the configuration: {wrong}; it is another run's")


def _read(path: Path) -> Checkpoint:
    held, about = unseal(path, _FORMAT)
    del about["format"]
    return Checkpoint(tensors=held, **about)
