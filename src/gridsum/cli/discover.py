"""`gridsum train --variant exact`: from nothing to proved rules."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gridsum.api.progress import progress
from gridsum.cli.output import print_text, tell, unwritable
from gridsum.cli.overrides import add_overrides, overridden
from gridsum.cli.parsing import Parser, UsageError, add_device, add_task, folder_name, pick_device
from gridsum.config.exact import ExactConfig
from gridsum.config.variants import exact_for

if TYPE_CHECKING:
    from gridsum.training.exact import Progress


def wanted(arguments: Sequence[str]) -> bool:
    """Whether the arguments of `gridsum train` ask for `exact`: by its name, or by a folder to resume that holds it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--variant")
    parser.add_argument("--out")
    parser.add_argument("--resume", action="store_true")
    known, _ = parser.parse_known_args(list(arguments))
    if known.variant is not None:
        return known.variant == "exact"
    if not known.resume or known.out is None:
        return False
    from gridsum.training.folders import holds_exact

    return holds_exact(Path(known.out))


def _parser() -> Parser:
    from gridsum.cli.train import read_seeds

    parser = Parser(
        "train --variant exact",
        "Train networks whose cells hold bits, on results alone; then let each consolidate its own rule, and check the "
        "proof that it adds any number of terms of any length. Ten seeds take minutes on a large GPU, hours on a CPU.",
        "gridsum train --variant exact --out FOLDER [--small] [--SECTION.FIELD VALUE ...]\n"
        "       gridsum train --out FOLDER --resume",
        "examples:\n"
        "  gridsum train --variant exact --seeds 0-9 --out runs/exact\n"
        "  gridsum train --variant exact --small --out runs/small\n"
        "  gridsum train --variant exact --task add:base=2 --out runs/binary\n"
        "  gridsum prove --model runs/exact/seed-0\n"
        "  gridsum rule --model runs/exact/seed-0",
    )
    parser.add_argument("--variant", metavar="NAME", help="exact")
    parser.add_argument(
        "--out", required=True, type=folder_name, metavar="FOLDER", help="where weights, logs, checkpoint and proofs go"
    )
    parser.add_argument("--seeds", type=read_seeds, metavar="SEEDS", help="such as 3, 0-9 or 0,2,5-7 (default: 0)")
    add_task(parser)
    parser.add_argument("--small", action="store_true", help="a smaller network and shorter sums, for a CPU")
    parser.add_argument("--resume", action="store_true", help="go on where FOLDER's training stopped")
    add_device(parser, "auto")
    add_overrides(parser, ExactConfig())
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    folder = Path(options.out)
    config, seeds = overridden(exact_for(options.task, options.small), options), options.seeds or (0,)
    from gridsum.training.exact import train_exact
    from gridsum.training.folders import read_exact_setup, seed_folder

    if options.resume:
        there, seeds = read_exact_setup(folder)
        if options.seeds is not None and options.seeds != seeds:
            raise UsageError(f"{folder} was started with other seeds; leave --seeds out")
        config = overridden(there, options)
    try:
        with progress() as shown:

            def tick(done: int, total: int) -> None:
                shown.tick("training step", done, total)

            def report(now: "Progress") -> None:
                shown.update(now.phase, now.done, now.of, now.news)

            def warn(text: str) -> None:
                shown.note(f"gridsum: {text}")

            results = train_exact(
                config, seeds, folder, pick_device(options.device), options.resume, report, warn, tick
            )
    except KeyboardInterrupt:
        tell(f"gridsum: stopped; go on with: {shlex.join(['gridsum', 'train', '--out', str(folder), '--resume'])}")
        raise
    except OSError as error:
        raise unwritable(error.filename or folder, error) from None
    for result in results:
        said = "proved" if result["proved"] else "not proved"
        why = f" ({result['why']})" if "why" in result else ""
        print_text(f"seed {result['seed']}: {said}{why}, {len(result['rounds'])} rounds of consolidation\n")
    proved = [result["seed"] for result in results if result["proved"]]
    seen = seed_folder(folder, proved[0] if proved else seeds[0])
    look = f"gridsum prove --model {seen}" if proved else f"gridsum evaluate --model {seen}"
    tell(f"gridsum: {len(proved)} of {len(results)} runs are proved; look at one with: {look}")
    return 0
