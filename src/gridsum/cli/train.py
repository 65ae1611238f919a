"""`gridsum train`: runs of one configuration from several seeds, together."""

import argparse
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gridsum.api.progress import Progress, progress
from gridsum.cli import discover, systems
from gridsum.cli.boards import Boards
from gridsum.cli.output import tell, unwritable
from gridsum.cli.overrides import add_overrides, overridden, variants_text
from gridsum.cli.parsing import (
    Parser,
    UsageError,
    add_device,
    add_reading,
    add_task,
    called_now,
    folder_name,
    pick_device,
)
from gridsum.config.fields import MOST_SEEDS, following, from_dict, seeds_of
from gridsum.config.paper import Config, ConfigError
from gridsum.config.variants import VARIANTS, variant
from gridsum.model.store import Model, load, load_runs, locate

if TYPE_CHECKING:
    from gridsum.training.loop import Epoch


def read_seeds(text: str) -> tuple[int, ...]:
    """`3`, `0-9` or `0,2,5-7` as an option's value."""
    try:
        return seeds_of(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parser() -> Parser:
    parser = Parser(
        "train",
        "Train a network for each seed, all together, into a folder that holds their weights and logs. "
        "Training that was interrupted, even by a crash, goes on with --resume and ends with the same "
        "weights as if it had not been. On two cores of a CPU the paper's 510 epochs of one seed of base take one to "
        "two hours, and ten seeds about a day; on a large GPU ten seeds take minutes.",
        "gridsum train --out FOLDER [options] [--SECTION.FIELD VALUE ...]\n       gridsum train --out FOLDER --resume",
        "variants, and what they change of the defaults above:\n"
        f"{variants_text()}\n\n"
        "examples:\n"
        "  gridsum train --variant base --out runs/one\n"
        "  gridsum train --variant base --seeds 0-9 --out runs/base\n"
        "  gridsum train --variant SASA --training.epochs 30 --out runs/sasa\n"
        "  gridsum train --reading text --seeds 0-9 --out runs/text\n"
        "  gridsum train --system dngpu --seeds 0-9 --out runs/dngpu\n"
        "  gridsum train --out runs/base --resume\n"
        "  gridsum train --out runs/base --resume --training.epochs 810\n"
        "  gridsum train --start-from runs/base --out runs/more \\\n"
        "      --objective.weight 5e-4 --training.epochs 300",
    )
    parser.add_argument(
        "--out", required=True, type=folder_name, metavar="FOLDER", help="where weights, logs and checkpoint go"
    )
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--variant",
        metavar="NAME",
        help=f"one of {', '.join(VARIANTS)} (default: base), or exact, which "
        "has options of its own: gridsum train --variant exact --help",
    )
    start.add_argument(
        "--system",
        metavar="NAME",
        help="a system that ours is compared with, such as dngpu, which has options of its own: "
        "gridsum train --system dngpu --help",
    )
    start.add_argument(
        "--config",
        metavar="FILE",
        help="start from a configuration in JSON instead; the config.json of a training folder will do",
    )
    start.add_argument(
        "--start-from",
        metavar="MODEL",
        help="begin with the weights of a trained model, its configuration and its seeds, or those of them that "
        "--seeds names (overtraining): what is overridden changes, and the problems go on where that model's ended",
    )
    add_reading(parser)
    add_task(parser)
    parser.add_argument(
        "--seeds",
        type=read_seeds,
        metavar="SEEDS",
        help=f"such as 3, 0-9 or 0,2,5-7; at most {MOST_SEEDS}, each below 2^63 (default: 0, or all of MODEL's)",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on where FOLDER's training stopped, with its configuration and seeds; only "
        "--training.epochs may be changed",
    )
    parser.add_argument("--tensorboard", action="store_true", help="also log for TensorBoard, in each seed's folder")
    add_device(parser, "auto")
    add_overrides(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    if discover.wanted(arguments):
        return discover.run(arguments)
    if systems.wanted(arguments) is not None:
        return systems.run(arguments)
    options = _parser().read(arguments)
    folder = Path(options.out)
    if options.resume and options.start_from is not None:
        raise UsageError("--resume goes on with FOLDER's own weights; leave --start-from out")
    if options.reading is not None and (options.config or options.start_from or options.resume):
        raise UsageError("--reading changes a variant; leave out --config, --start-from and --resume")
    if options.task is not None and (options.config or options.start_from or options.resume):
        raise UsageError("--task is for a new variant; leave out --config, --start-from and --resume")
    begin = None if options.start_from is None else _beginning(options.start_from, options.seeds)
    config, seeds = (
        _setup(options, folder) if begin is None else (overridden(following(begin.config), options), begin.seeds)
    )
    boards = Boards(folder) if options.tensorboard else None
    device = pick_device(options.device)

    from gridsum.training.loop import train

    epochs: list[Epoch] = []
    try:
        with progress() as shown:

            def tick(done: int, total: int) -> None:
                shown.tick("training step", done, total)

            report, warn = _reporter(shown, epochs, boards), lambda text: shown.note(f"gridsum: {text}")
            train(config, seeds, folder, device, options.resume, report, warn, begin, tick)
    except KeyboardInterrupt:
        tell(_how_to_resume(options, folder, epochs))
        raise
    except BrokenPipeError:  # standard error, not the folder
        raise
    except OSError as error:
        raise unwritable(error.filename or folder, error) from None
    finally:
        if boards is not None:
            boards.close()
    tell(_farewell(config, seeds, folder, epochs))
    return 0


def _beginning(name: str, seeds: tuple[int, ...] | None) -> Model:
    """The model to begin from: all of its runs, or those with these seeds."""
    name = called_now(name)
    whole = load(name)
    if seeds is None:
        return whole
    paths = dict(zip(whole.seeds, locate(name), strict=True))
    missing = next((seed for seed in seeds if seed not in paths), None)
    if missing is not None:
        raise UsageError(f"{name} has no seed {missing}, only {', '.join(map(str, paths))}; name some of these or none")
    return load_runs(name, [paths[seed] for seed in seeds])


def _setup(options: argparse.Namespace, folder: Path) -> tuple[Config, tuple[int, ...]]:
    """What to train: as the options say, or on resuming, what they do not say as the folder has it."""
    seeds = options.seeds
    if options.config is not None:
        config = _read_config(options.config)
    elif options.variant is not None or not options.resume:
        config = variant(options.variant or "base", options.reading, options.task)
    else:
        config = None
    if options.resume and (config is None or seeds is None):
        from gridsum.training.folders import read_setup

        config_there, seeds_there = read_setup(folder)
        config, seeds = config or config_there, seeds or seeds_there
    assert config is not None, "a configuration comes from the options or from the folder"
    return overridden(config, options), seeds or (0,)


def _read_config(name: str) -> Config:
    try:
        data = json.loads(Path(name).read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{name} is not JSON: {error}") from None
    if isinstance(data, dict):
        data.pop("seeds", None)  # a training folder's config.json has them, but --seeds decides
    return from_dict(Config, data)


def _reporter(shown: Progress, epochs: "list[Epoch]", boards: Boards | None) -> Callable[["Epoch"], None]:
    from gridsum.training.loop import news

    def report(epoch: "Epoch") -> None:
        epochs.append(epoch)
        shown.update("epoch", epoch.number, epoch.of, news(epoch))
        if boards is not None:
            boards.write(epoch)

    return report


def _how_to_resume(options: argparse.Namespace, folder: Path, epochs: "list[Epoch]") -> str:
    where = f"after epoch {epochs[-1].number}" if epochs else "before an epoch was done"
    command = ["gridsum", "train", "--out", str(folder), "--resume"]
    command += ["--device", options.device] if options.device != "auto" else []
    command += ["--tensorboard"] if options.tensorboard else []
    return f"gridsum: stopped {where}; go on with: {shlex.join(command)}"


def _problem(config: Config) -> str:
    """A problem of its task, to try it with."""
    write, sign = config.task.task.alphabet.write, config.task.task.alphabet.sign
    return shlex.quote(f"{write(523)}{sign}{write(102)}")


def _farewell(config: Config, seeds: tuple[int, ...], folder: Path, epochs: "list[Epoch]") -> str:
    from gridsum.training.folders import seed_folder
    from gridsum.training.loop import news

    first, last = seed_folder(folder, seeds[0]), seed_folder(folder, seeds[-1])
    where = str(first) if len(seeds) == 1 else f"{first} … {last.name} ({len(seeds)} runs)"
    if not epochs:
        said = "all epochs had been trained already (raise --training.epochs to go on)"
    else:
        said = f"trained {config.variant} to epoch {epochs[-1].number}: {news(epochs[-1])}"
    return (
        f"gridsum: {said}\n"
        f"  it is in:       {where}\n"
        f"  solve with it:  gridsum solve {_problem(config)} --model {shlex.quote(str(first))}\n"
        f"  measure it:     gridsum evaluate --model {shlex.quote(str(folder))} --out records.jsonl"
    )
