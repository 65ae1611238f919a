"""`gridsum train --system`: the systems that ours is compared with."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gridsum.api.progress import progress
from gridsum.cli.output import tell, unwritable
from gridsum.cli.overrides import add_overrides, overridden
from gridsum.cli.parsing import Parser, UsageError, add_device, columns, one_of, pick_device

if TYPE_CHECKING:
    from gridsum.baselines.system import SystemConfig
    from gridsum.training.loop import Epoch

SETTINGS = ("own", "paper")


def wanted(arguments: Sequence[str]) -> str | None:
    """The system that the arguments of `gridsum train` ask for: by its name, or by a folder to resume that holds it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--system")
    parser.add_argument("--out")
    parser.add_argument("--resume", action="store_true")
    known, _ = parser.parse_known_args(list(arguments))
    if known.system is not None or not known.resume or known.out is None:
        return known.system
    from gridsum.training.folders import system_in

    return system_in(Path(known.out))


def _parser(config: "SystemConfig") -> Parser:
    from gridsum.baselines.registry import SYSTEMS
    from gridsum.cli.train import read_seeds

    parser = Parser(
        "train --system",
        "Train a system that ours is compared with, a run for each seed, all together, into a folder that can be "
        "resumed. In its own setting it learns what its own paper trained it on; in the paper's, [1,4]x[1,10] with "
        "results only, as ours.",
        "gridsum train --system NAME --out FOLDER [--setting NAME] [options]\n"
        "       gridsum train --out FOLDER --resume",
        f"systems:\n{columns({name: f'{system.title}, {system.source}' for name, system in SYSTEMS.items()})}\n\n"
        "examples:\n"
        "  gridsum train --system dngpu --seeds 0-9 --out runs/dngpu\n"
        "  gridsum train --system lstm-act --setting own --seeds 0-9 --out runs/lstm-act-own\n"
        "  gridsum evaluate --model runs/dngpu --suite comparison --out records.jsonl\n"
        "  gridsum table systems --records records.jsonl",
    )
    parser.add_argument("--system", metavar="NAME", help=f"one of {', '.join(SYSTEMS)}")
    parser.add_argument(
        "--setting",
        type=one_of("setting", SETTINGS),
        metavar="NAME",
        help="own: what its own paper trained it on; paper: [1,4]x[1,10], results only (default: paper)",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where weights, logs and checkpoint go")
    parser.add_argument("--seeds", type=read_seeds, metavar="SEEDS", help="such as 3, 0-9 or 0,2,5-7 (default: 0)")
    parser.add_argument("--resume", action="store_true", help="go on where FOLDER's training stopped")
    add_device(parser, "auto")
    add_overrides(parser, config)
    return parser


def run(arguments: Sequence[str]) -> int:
    from gridsum.baselines.registry import find

    name = wanted(arguments)
    assert name is not None, "train asks first"
    system = find(name)
    options = _parser(system.configured("paper")).read(arguments)
    folder = Path(options.out)
    from gridsum.baselines.fleet import SystemFleet
    from gridsum.training.folders import read_setup_of
    from gridsum.training.loop import news, train

    config, seeds = system.configured(options.setting or "paper"), options.seeds or (0,)
    if options.resume:
        if options.setting is not None:
            raise UsageError("--resume goes on with FOLDER's own setting; leave --setting out")
        config, there = read_setup_of(folder, system.config)
        seeds = options.seeds or there
    config = overridden(config, options)
    try:
        with progress() as shown:

            def tick(done: int, total: int) -> None:
                shown.tick("training step", done, total)

            def report(epoch: "Epoch") -> None:
                shown.update("epoch", epoch.number, epoch.of, news(epoch))

            def warn(text: str) -> None:
                shown.note(f"gridsum: {text}")

            device = pick_device(options.device)
            train(config, seeds, folder, device, options.resume, report, warn, None, tick, SystemFleet)
    except KeyboardInterrupt:
        tell(f"gridsum: stopped; go on with: {shlex.join(['gridsum', 'train', '--out', str(folder), '--resume'])}")
        raise
    except BrokenPipeError:  # standard error, not the folder
        raise
    except OSError as error:
        raise unwritable(error.filename or folder, error) from None
    tell(
        f"gridsum: trained {name}; measure it: gridsum evaluate --model {shlex.quote(str(folder))} --out records.jsonl"
    )
    return 0
