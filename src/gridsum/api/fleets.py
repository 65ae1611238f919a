"""Training from Python: the same runs as `gridsum train` makes."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gridsum.api.asking import ModelError
from gridsum.api.loading import load
from gridsum.api.models import Model
from gridsum.api.progress import progress
from gridsum.config.exact import ExactConfig
from gridsum.config.fields import following, override, seeds_of
from gridsum.config.paper import Config
from gridsum.config.variants import VARIANTS, exact_for
from gridsum.config.variants import variant as variant_of
from gridsum.io.names import did_you_mean
from gridsum.ops.devices import pick_device

EXACT, VARIANT = "exact", "base"
"""One with options of its own, and what is trained where nothing is said, here as on the command line."""


class Training(Sequence[Model]):
    """What a training left in its folder: a model for each seed, their logs and, of `exact`, their proofs."""

    def __init__(self, folder: Path, seeds: tuple[int, ...], results: Sequence[dict[str, Any]] = ()) -> None:
        self.folder, self.seeds, self.results = folder, seeds, tuple(results)

    def __getitem__(self, index: Any) -> Any:
        """The models in the order of the seeds."""
        if isinstance(index, slice):
            return [load(self.folder, seed) for seed in self.seeds[index]]
        return load(self.folder, self.seeds[index])

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def proved(self) -> tuple[int, ...]:
        """The seeds whose rule is proved, of a training of `exact`."""
        return tuple(result["seed"] for result in self.results if result["proved"])

    def log(self, seed: int | None = None) -> list[dict[str, Any]]:
        """The lines of a run's log, one an epoch, by default of the first seed."""
        from gridsum.training.folders import read_metrics

        return read_metrics(self.folder, self.seeds[0] if seed is None else seed)

    def __repr__(self) -> str:
        proved = f", {len(self.proved)} proved" if self.results else ""
        return f"<training in {self.folder}: seeds {', '.join(map(str, self.seeds))}{proved}>"


def train(
    variant: str = VARIANT,
    seeds: "int | str | Iterable[int]" = 0,
    out: "str | Path | None" = None,
    settings: Mapping[str, Any] | None = None,
    *,
    start_from: "str | Path | None" = None,
    resume: bool = False,
    reading: str | None = None,
    task: str | None = None,
    small: bool = False,
    device: str = "auto",
    quiet: bool = False,
) -> Training:
    """Train a run for each seed, all together, into the folder `out`.

    `seeds` is a number, numbers, or text such as "0-9". `settings` are fields by their dotted names, such as
    {"training.epochs": 3}; `gridsum train --help` lists them. `start_from` goes on with a trained model, `resume` with
    the folder itself. `task` is what to learn, such as "add:base=2"; `small` is the recipe of `exact` for a CPU.
    Progress goes to standard error unless `quiet`.

    Examples:
        >>> import tempfile
        >>> steps = {f"phases.{phase}.steps": 0 for phase in ("soft", "anneal", "hard", "robust")}
        >>> short = {**steps, "phases.place.steps": 2, "discovery.epoch_steps": 1, "consolidation.rounds": 0}
        >>> short["rule.bits"] = 5
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     training = train("exact", seeds=[0, 1], out=folder, settings=short, quiet=True)
        ...     len(training), len(training.log())
        (2, 2)
    """
    if out is None:
        raise ModelError("where should the training go? Name a folder: out='runs/mine'")
    if settings is not None and not isinstance(settings, Mapping):
        raise ModelError(f"{settings!r} are no settings; write them as {{'training.epochs': 3}}")
    folder, numbers = Path(out), _numbers(seeds)
    chosen = pick_device(device)
    with progress(quiet) as shown:
        if resume:
            return _resumed(folder, settings or {}, chosen, shown)
        if start_from is not None:
            return _continued(start_from, folder, settings or {}, chosen, shown)
        if variant == EXACT:
            return _exact(override(exact_for(task, small), dict(settings or {})), numbers, folder, chosen, False, shown)
        if variant not in VARIANTS:
            names = (EXACT, *VARIANTS)
            mend = did_you_mean(variant, names, f"the variants are {', '.join(names)}")
            raise ModelError(f"there is no variant {variant!r}; {mend}")
        if small:
            raise ModelError(f"small is for exact; {variant} has one recipe")
        return _paper(
            override(variant_of(variant, reading, task), dict(settings or {})), numbers, folder, chosen, shown
        )


def _numbers(seeds: "int | str | Iterable[int]") -> tuple[int, ...]:
    if isinstance(seeds, str):
        return seeds_of(seeds)
    return seeds_of(",".join(map(str, seeds if isinstance(seeds, Iterable) else [seeds])))


def _ticks(shown: Any) -> Any:
    return lambda done, total: shown.tick("training step", done, total)


def _exact(
    config: ExactConfig, seeds: tuple[int, ...], folder: Path, device: Any, resume: bool, shown: Any
) -> Training:
    from gridsum.training.exact import train_exact

    def report(now: Any) -> None:
        shown.update(now.phase, now.done, now.of, now.news)

    return Training(
        folder, seeds, train_exact(config, seeds, folder, device, resume, report, shown.note, _ticks(shown))
    )


def _paper(
    config: Config,
    seeds: tuple[int, ...],
    folder: Path,
    device: Any,
    shown: Any,
    resume: bool = False,
    start: Any = None,
) -> Training:
    from gridsum.training.loop import news
    from gridsum.training.loop import train as train_paper

    def report(epoch: Any) -> None:
        shown.update("epoch", epoch.number, epoch.of, news(epoch))

    train_paper(config, seeds, folder, device, resume, report, shown.note, start, _ticks(shown))
    return Training(folder, seeds)


def _resumed(folder: Path, settings: Mapping[str, Any], device: Any, shown: Any) -> Training:
    from gridsum.training.folders import holds_exact, read_exact_setup, read_setup

    if holds_exact(folder):
        config, seeds = read_exact_setup(folder)
        return _exact(override(config, dict(settings)), seeds, folder, device, True, shown)
    config, seeds = read_setup(folder)
    return _paper(override(config, dict(settings)), seeds, folder, device, shown, resume=True)


def _continued(source: "str | Path", folder: Path, settings: Mapping[str, Any], device: Any, shown: Any) -> Training:
    from gridsum.model.store import load as load_all

    begin = load_all(str(source))
    config = override(following(begin.config), dict(settings))
    return _paper(config, begin.seeds, folder, device, shown, start=begin)
