"""Training from Python: the same runs as `gridsum train` makes."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gridsum.api.loading import load
from gridsum.api.models import Model, ModelError
from gridsum.config.fields import override, seeds_of
from gridsum.config.registry import find
from gridsum.io.progress import progress
from gridsum.model.store import load as load_all
from gridsum.ops.devices import pick_device
from gridsum.tasks import Task, known_as
from gridsum.training.folders import read_metrics, read_setup, seed_folder
from gridsum.training.loop import train as train_runs

VARIANT = "base"
"""What is trained where nothing is said, here as on the command line."""


class TrainingRun(Sequence[Model]):
    """What a training run left in its folder: a model for each seed, their logs and, of `exact`, their proofs."""

    def __init__(self, folder: Path, config: Any, seeds: tuple[int, ...], results: Sequence[dict[str, Any]]) -> None:
        self.folder, self.config, self.seeds, self.results = folder, config, seeds, tuple(results)

    def __getitem__(self, index: Any) -> Any:
        """The models in the order of the seeds."""
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        return load(seed_folder(self.folder, self.seeds[index]))

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def proved(self) -> tuple[int, ...]:
        """The seeds whose rule is proved, of a training run of `exact`."""
        return tuple(result["seed"] for result in self.results if result["proved"])

    def log(self, seed: int | None = None) -> list[dict[str, Any]]:
        """The lines of a run's log, one an epoch, by default of the first seed."""
        return read_metrics(self.folder, self.seeds[0] if seed is None else seed)

    def __repr__(self) -> str:
        proved = f", {len(self.proved)} proved" if self.results else ""
        return f"<training in {self.folder}: seeds {', '.join(map(str, self.seeds))}{proved}>"


def train(
    variant: str | None = None,
    seeds: "int | str | Iterable[int] | None" = None,
    out: "str | Path | None" = None,
    settings: Mapping[str, Any] | None = None,
    *,
    start_from: "str | Path | Model | None" = None,
    resume: bool = False,
    setting: str | None = None,
    task: "str | Task | None" = None,
    device: str = "auto",
    quiet: bool = False,
) -> TrainingRun:
    """Train a run for each seed, all together, into the folder `out`.

    `variant` is one of the paper's (default: "base"), `exact`, or a baseline such as "dngpu". `seeds` is a number,
    numbers, or text such as "0-9" (default: 0). `settings` are fields by their dotted names, such as
    {"training.epochs": 3}; `gridsum train --help` lists them. `setting` names several at once: "small" makes `exact`
    small enough for a CPU, "text" reads the paper otherwise, "native" trains a baseline as its own paper does.
    `start_from` goes on with a trained model and its seeds, `resume` with the folder itself. `task` is what to learn: a
    task, or the name of one such as "add:base=2". Progress goes to standard error unless `quiet`.

    Examples:
        >>> import tempfile
        >>> steps = {f"phases.{phase}.steps": 0 for phase in ("soft", "bits", "long")}
        >>> short = {**steps, "phases.place.steps": 2, "discovery.epoch_steps": 1, "consolidation.rounds": 0}
        >>> short |= {"rule.bits": 5, "discovery.batch": 4}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     training = train("exact", seeds=[0, 1], out=folder, settings=short, quiet=True)
        ...     len(training), len(training.log())
        (2, 2)
    """
    if out is None:
        raise ModelError("where should the training go? Name a folder: out='runs/mine'")
    if (start_from is not None or resume) and (setting or task):
        raise ModelError("setting and task are for a new training; leave out start_from and resume")
    if start_from is not None and resume:
        raise ModelError("resume continues with the weights of the folder; leave out start_from")
    if start_from is not None and seeds is not None:
        raise ModelError("start_from has seeds of its own; leave out seeds, or start from the folder of one seed")
    folder, changes, numbers = Path(out), dict(settings or {}), None if seeds is None else seeds_of(seeds)
    start = None
    if start_from is not None:
        start = start_from.runs if isinstance(start_from, Model) else load_all(str(start_from))
        config, numbers = override(start.kind.following(start.config), changes), start.seeds
    elif resume:
        there, seeds_there = read_setup(folder)
        if variant not in (None, there.variant):
            raise ModelError(f"{folder} was started with variant {there.variant}, not {variant}")
        config, numbers = override(there, changes), numbers or seeds_there
    else:
        config = find(variant or VARIANT).configure(setting, None if task is None else known_as(task), changes)
    with progress(quiet) as shown:
        results = train_runs(config, numbers or (0,), folder, pick_device(device), resume, start, shown)
    return TrainingRun(folder, config, numbers or (0,), results)
