"""Train a network for each seed, all together, into a folder that holds their weights and logs. Training that was
interrupted, even by a crash, continues with --resume and ends with the weights of an undisturbed run. On two cores of a
CPU the paper's 510 epochs of one seed of base take one to two hours, and ten seeds about a day; on a large GPU ten
seeds take minutes. Runs of exact are consolidated after training, and the proof of each is checked. Every field of the
configuration of --variant is an option too.

examples:
  gridsum train --variant base --seeds 0-9
  gridsum train --variant SASA --training.epochs 30 --out runs/sasa
  gridsum train --variant base --setting text --seeds 0-9 --out runs/text
  gridsum train --variant exact --setting small --out runs/small
  gridsum train --variant dngpu --setting native --seeds 0-9 --out runs/dngpu
  gridsum train --out runs/base --resume
  gridsum train --out runs/base --resume --training.epochs 810
  gridsum train --start-from runs/base --out runs/more \\
      --objective.weight 5e-4 --training.epochs 300
"""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from gridsum.api.training import VARIANT, TrainingRun, train
from gridsum.cli.options import Options, Parser, UsageError, add_device, add_fields, written
from gridsum.cli.output import kept_if_stopped, print_text, tell
from gridsum.config.fields import MOST_SEEDS
from gridsum.config.registry import BASELINES, Trainable, find, names
from gridsum.config.variants import VARIANTS
from gridsum.model.store import configuration_of, locate
from gridsum.training.folders import FolderError, last_epoch, read_setup, seed_folder


def add_options(parser: Parser) -> None:
    changes = {
        name: ", ".join(f"--{path} {written(value)}" for path, value in changed.items()) or "the defaults"
        for name, changed in VARIANTS.items()
    }
    lists = {
        "the paper's variants, and what they change of the defaults of base": changes,
        "baselines, networks of other papers that ours are compared with": {n: find(n).meaning for n in BASELINES},
    }
    parser.explain(lists)
    parser.option("--out FOLDER", "where weights, logs and checkpoint go (default: runs/VARIANT)")
    start = parser.add_mutually_exclusive_group()
    parser.option(
        "--variant VARIANT",
        f"one of {', '.join(names())} (default: {VARIANT}); each has options of its own: gridsum train --variant exact "
        "--help",
        start,
        choices=names(),
    )
    parser.option(
        "--start-from MODEL",
        "begin with the weights, configuration and seeds of a trained model (overtraining); other options change the "
        "configuration, and the problems continue where that model's ended",
        start,
    )
    parser.option(
        "--setting NAME",
        "a named way to train it. For the paper's variants, text: follow the words of the paper alone. For exact, "
        "small: for a CPU. For a baseline, native: as in its own paper; matched: on our problems",
    )
    told = "what to learn: add, add:base=B (2 to 36), a task of docs/tasks.md or of an installed package (default: add)"
    parser.option("--task TASK", told)
    told = f"such as 3, 0-9 or 0,2,5-7; at most {MOST_SEEDS}, each below 2^63 (default: 0)"
    parser.option("--seeds SEEDS", told)
    told = "continue FOLDER's training where it stopped, with its configuration and seeds; only its length may change"
    parser.option("--resume", told)
    add_device(parser)
    add_fields(parser, named(parser.arguments).configure())


def named(arguments: Sequence[str]) -> Trainable:
    """What the arguments ask to train, by name, by a model or by a folder: the other options are its fields."""
    given = dict(pairwise(part for text in arguments for part in text.split("=", 1)))
    name = given.get("--variant")
    if name is None and "--start-from" in given:
        name = configuration_of(locate(given["--start-from"])[0]).variant
    elif name is None and "--resume" in arguments and "--out" in given:
        with suppress(FolderError):  # what is wrong is said where it is resumed
            name = read_setup(Path(given["--out"]))[0].variant
    return find(name or VARIANT)


def run(options: Options) -> None:
    if options.resume and options.out is None:
        raise UsageError("which training is to go on? Name its folder with --out")
    options.out = options.out or f"runs/{named(options.command[2:]).name}"
    how = {name: getattr(options, name) for name in ("start_from", "resume", "setting", "task", "device")}
    with kept_if_stopped(lambda: _saved(options)):
        training = train(options.variant, options.seeds, options.out, options.changes, **how)
    for result in training.results:
        said = "proved" if result["proved"] else "not proved"
        why = f" ({result['why']})" if result.get("why") else ""
        print_text(f"seed {result['seed']}: {said}{why}, rounds of consolidation: {len(result['rounds'])}\n")
    tell(_farewell(training))


def _saved(options: Options) -> str:
    place = Path(options.out)
    done = last_epoch(place)
    epochs = read_setup(place)[0].training.epochs if done else 0
    said = f"and saved as of the end of epoch {done} of {epochs}" if done else "before an epoch was done"
    device = ["--device", options.device] if options.device != "auto" else []
    return f" {said}; go on with: {shlex.join(['gridsum', 'train', '--out', options.out, '--resume', *device])}"


def _farewell(training: TrainingRun) -> str:
    config, seeds = training.config, training.seeds
    one = shlex.quote(str(seed_folder(training.folder, (training.proved or seeds)[0])))
    lines = [f"gridsum: trained {config.label} to epoch {config.training.epochs}, in {training.folder}"]
    if training.results:
        lines.append(f"  proved:         {len(training.proved)} of {len(seeds)} runs; see: gridsum prove --model {one}")
    if find(config.variant).solves:
        lines.append(f"  solve with it:  gridsum solve {shlex.quote(config.learns.problem)} --model {one}")
    lines.append(f"  measure it:     gridsum evaluate --model {shlex.quote(str(training.folder))} --out records.jsonl")
    return "\n".join(lines)
