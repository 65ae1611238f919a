"""The checkpoint: the fleet after an epoch, and all that going on needs.

Random numbers are functions of seed and step, so a checkpoint is weights, moments and the epoch. A new one replaces the
last as a whole: a kill leaves one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from gridsum.io.disk import write_atomically
from gridsum.io.sealed import SealError, about_file, seal, unseal

CHECKPOINT = "checkpoint.safetensors"
_FORMAT = "gridsum-checkpoint-6"


class FolderError(ValueError):
    """A training folder that cannot be used as asked; the message says what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """The fleet after an epoch."""

    epoch: int
    seeds: Sequence[int]
    tensors: dict[str, Tensor]
    logs: dict[str, list[Any]] = field(default_factory=dict)
    """How long every run's log was at that moment, and its checksum, by seed."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    about = {**vars(checkpoint), "format": _FORMAT}
    write_atomically(folder / CHECKPOINT, seal(about.pop("tensors"), about))


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """The last checkpoint, or None where there is none any more."""
    try:
        held, about = unseal(folder / CHECKPOINT, _FORMAT)
    except FileNotFoundError:
        return None
    except SealError as error:
        raise FolderError(
            f"{folder / CHECKPOINT} is damaged ({error}); put it back from a copy, or remove it and train in "
            "another folder: --start-from takes these weights, without the optimiser's moments"
        ) from None
    del about["format"]
    return Checkpoint(tensors=held, **about)


def last_epoch(folder: Path) -> int | None:
    """The epoch of the last checkpoint, by its header; None where there is none that can be read."""
    try:
        return int(about_file(folder / CHECKPOINT, _FORMAT)["epoch"])
    except (FileNotFoundError, SealError):
        return None


def load_moments(weights: Sequence[Path], seeds: Sequence[int]) -> dict[str, Tensor] | None:
    """What the optimiser of the training that left these weights held of these seeds; None where nothing says it."""
    folders = {path.parent.parent for path in weights}
    checkpoint = load_checkpoint(folders.pop()) if len(folders) == 1 else None
    if checkpoint is None or not set(seeds) <= set(checkpoint.seeds):
        return None
    rows = [checkpoint.seeds.index(seed) for seed in seeds]
    return {name: checkpoint.tensors[name][rows] for name in ("weights", "mean", "square", "updates")}


def drop_checkpoint(folder: Path) -> None:
    """A training run that has ended needs none: weights and logs say all there is to say."""
    (folder / CHECKPOINT).unlink(missing_ok=True)
