"""`gridsum train`: runs of one configuration from several seeds, together."""

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from gridsum.api.progress import progress
from gridsum.api.training import VARIANT, TrainingRun, planned, run_training, weights_of
from gridsum.cli.options import (
    File,
    Folder,
    ModelName,
    OnDevice,
    Seeds,
    TaskName,
    UsageError,
    Value,
    flag,
    option,
    written,
)
from gridsum.cli.output import print_text, tell, unwritable
from gridsum.config.fields import MOST_SEEDS
from gridsum.config.registry import BASELINES, Trainable, find, names, read_config
from gridsum.config.variants import VARIANTS
from gridsum.model.store import configuration_of, locate
from gridsum.ops.devices import pick_device

if TYPE_CHECKING:
    from gridsum.training.loop import Epoch

_CHANGES = {
    name: ", ".join(f"--{path} {written(value)}" for path, value in changes.items()) or "the defaults"
    for name, changes in VARIANTS.items()
}


@dataclass(frozen=True, kw_only=True)
class Options(OnDevice):
    """Train a network for each seed, all together, into a folder that holds their weights and logs. Training that was
    interrupted, even by a crash, continues with --resume and ends with the weights of an undisturbed run. On two
    cores of a CPU the paper's 510 epochs of one seed of base take one to two hours, and ten seeds about a day; on a
    large GPU ten seeds take minutes. Runs of exact are consolidated after training, and the proof of each is checked.
    Every field of the configuration of --variant is an option too.

    examples:
      gridsum train --variant base --seeds 0-9
      gridsum train --variant SASA --training.epochs 30 --out runs/sasa
      gridsum train --variant base --setting text --seeds 0-9 --out runs/text
      gridsum train --variant exact --setting small --out runs/small
      gridsum train --variant dngpu --setting own --seeds 0-9 --out runs/dngpu
      gridsum train --out runs/base --resume
      gridsum train --out runs/base --resume --training.epochs 810
      gridsum train --start-from runs/base --out runs/more \\
          --objective.weight 5e-4 --training.epochs 300
    """

    lists: ClassVar = {
        "the paper's variants, and what they change of the defaults of base": _CHANGES,
        "baselines, networks of other papers that ours are compared with": {
            name: find(name).meaning for name in BASELINES
        },
    }
    out: Folder | None = option("where weights, logs and checkpoint go (default: runs/VARIANT)")
    variant: Annotated[str | None, Value("NAME")] = option(
        f"one of {', '.join(names())} (default: {VARIANT}); each has options of its own: gridsum train --variant exact "
        "--help",
        instead_of="start",
    )
    config: File | None = option(
        "start from a configuration in JSON instead; the config.json of a training folder will do", instead_of="start"
    )
    start_from: ModelName | None = option(
        "begin with the weights, configuration and seeds of a trained model (overtraining); --seeds selects some of "
        "them, other options change the configuration, and the problems continue where that model's ended",
        instead_of="start",
    )
    setting: Annotated[str | None, Value("NAME")] = option(
        "a named way to train it. text, of the paper's variants: the paper read by its words alone; small, of exact: "
        "for a CPU; native and matched, of a baseline: as in its own paper, or with our problems"
    )
    task: TaskName | None = option(
        "what to learn: add, add:base=B (2 to 36), a task of docs/tasks.md or of an installed package (default: add)"
    )
    seeds: Seeds | None = option(
        f"such as 3, 0-9 or 0,2,5-7; at most {MOST_SEEDS}, each below 2^63 (default: 0, or all of MODEL's)"
    )
    resume: bool = flag(
        "go on where FOLDER's training stopped, with its configuration and seeds; only how long it trains may change"
    )
    changes: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def configuration(arguments: Sequence[str]) -> Any:
        return named(arguments).configure()


def named(arguments: Sequence[str]) -> Trainable:
    """What the arguments ask to train, by name, by a file or by a folder: the other options are its fields."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ("--variant", "--config", "--start-from", "--out"):
        parser.add_argument(name)
    parser.add_argument("--resume", action="store_true")
    known, _ = parser.parse_known_args(list(arguments))
    name = known.variant or VARIANT
    if known.variant is not None:
        pass  # beside another beginning it is refused
    elif known.config is not None:
        name = _read_config(known.config).variant
    elif known.start_from is not None:
        name = configuration_of(locate(known.start_from)[0]).variant
    elif known.resume and known.out is not None:
        from gridsum.training.folders import FolderError, read_setup

        try:
            name = read_setup(Path(known.out))[0].variant
        except FolderError:
            name = VARIANT  # what is wrong is said where it is resumed
    return find(name)


def run(options: Options) -> int:
    if options.resume and options.out is None:
        raise UsageError("which training is to go on? Name its folder with --out")
    if options.resume and options.start_from is not None:
        raise UsageError("--resume continues with FOLDER's own weights; leave --start-from out")
    for name in ("setting", "task"):
        if getattr(options, name) is not None and (options.config or options.start_from or options.resume):
            raise UsageError(f"--{name} is for a new training; leave out --config, --start-from and --resume")
    begin = weights_of(options.start_from, options.seeds)
    asked = None if options.config is None else _read_config(options.config)
    if asked is None and (options.variant is not None or not options.resume):
        asked = find(options.variant or VARIANT).configure(options.setting, options.task, options.changes)
    resumed = Path(options.out or "") if options.resume else None
    config, seeds = planned(resumed, asked, options.seeds, options.changes, begin)
    folder = Path(options.out or f"runs/{config.variant}")
    device = pick_device(options.device)
    epochs: list[Epoch] = []

    try:
        with progress() as shown:
            training = run_training(config, seeds, folder, device, shown, options.resume, begin, epochs.append)
    except KeyboardInterrupt:
        tell(_how_to_resume(options, folder, config.steps))
        raise
    except BrokenPipeError:  # standard error, not the folder
        raise
    except OSError as error:
        raise unwritable(error.filename or folder, error) from None
    for result in training.results:
        said = "proved" if result["proved"] else "not proved"
        why = f" ({result['why']})" if "why" in result else ""
        print_text(f"seed {result['seed']}: {said}{why}, {len(result['rounds'])} rounds of consolidation\n")
    tell(_farewell(config, training, epochs))
    return 0


def _read_config(name: str) -> Any:
    try:
        data = json.loads(Path(name).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not JSON: {error}") from None
    if isinstance(data, dict):
        for given in ("seeds", "start", "sha256"):  # of a training folder's config.json; the options decide
            data.pop(given, None)
    return read_config(data)


def _how_to_resume(options: Options, folder: Path, steps: int) -> str:
    from gridsum.training.checkpoints import last_of

    done = last_of(folder, "step")
    where = f"and saved after training step {done} of {steps}" if done else "before a training step was done"
    command = ["gridsum", "train", "--out", str(folder), "--resume"]
    command += ["--device", options.device] if options.device != "auto" else []
    return f"gridsum: stopped {where}; go on with: {shlex.join(command)}"


def _problem(config: Any) -> str:
    """A problem of its task, to try it with."""
    return shlex.quote(config.learns.problem)


def _farewell(config: Any, training: TrainingRun, epochs: "list[Epoch]") -> str:
    from gridsum.training.folders import seed_folder
    from gridsum.training.loop import news

    folder, seeds, entry = training.folder, training.seeds, find(config.variant)
    first, last = seed_folder(folder, seeds[0]), seed_folder(folder, seeds[-1])
    lines = [
        f"trained {config.label} to epoch {epochs[-1].number}: {news(epochs[-1])}"
        if epochs
        else "all epochs had been trained already (raise --training.epochs to go on)",
        f"  it is in:       {first if len(seeds) == 1 else f'{first} … {last.name} ({len(seeds)} runs)'}",
    ]
    if training.results:
        seen = seed_folder(folder, training.proved[0]) if training.proved else first
        lines.append(f"  proved:         {len(training.proved)} of {len(training.results)} runs")
        lines.append(f"  look at one:    gridsum prove --model {shlex.quote(str(seen))}")
    if entry.solves:
        lines.append(f"  solve with it:  gridsum solve {_problem(config)} --model {shlex.quote(str(first))}")
    lines.append(f"  measure it:     gridsum evaluate --model {shlex.quote(str(folder))} --out records.jsonl")
    return "gridsum: " + "\n".join(lines)
