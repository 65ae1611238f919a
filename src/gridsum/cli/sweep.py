"""`gridsum sweep`: a fleet of seeds for each of many configurations."""

import shlex
from collections.abc import Sequence

from gridsum.api.progress import progress
from gridsum.cli import FAILED
from gridsum.cli.evaluate import source_commit
from gridsum.cli.output import emit, tell, unwritable
from gridsum.cli.overrides import add_overrides, overridden
from gridsum.cli.parsing import (
    Parser,
    UsageError,
    add_cluster,
    add_device,
    one_of,
    pick_device,
    whole_number,
)
from gridsum.cli.train import named, read_seeds
from gridsum.config.registry import Trainable, names
from gridsum.config.registry import find as find_entry


def _parser(entry: Trainable) -> Parser:
    parser = Parser(
        "sweep",
        "Train a fleet of seeds for each of many configurations, measure them if asked, and list how good each became. "
        "What is done is kept and skipped: after an interruption the same command goes on.",
        "gridsum sweep --out FOLDER --grid FIELD=VALUES... [options]\n"
        "       gridsum sweep --out FOLDER --random N --range FIELD=LOW:HIGH... [options]",
        "examples:\n"
        "  gridsum sweep --out runs/rates --seeds 0-4 \\\n"
        "      --grid training.learning_rate=1e-3,3e-4 model.heads=8,64\n"
        "  gridsum sweep --out runs/drawn --on ray --random 50 \\\n"
        "      --range training.learning_rate=1e-4:1e-2:log\n"
        "  gridsum sweep --out runs/mine --list changes.jsonl --measure 2x100\n"
        "  gridsum sweep --variant exact --out runs/bits --grid rule.bits=6,7,8",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where everything goes")
    parser.add_argument(
        "--variant",
        type=one_of("variant", names()),
        default="base",
        metavar="NAME",
        help="what is changed, as of gridsum train; the options below are those of its own",
    )
    parser.add_argument("--seeds", type=read_seeds, default=(0,), metavar="SEEDS", help="such as 0-9 (default: 0)")
    parser.add_argument(
        "--grid",
        nargs="+",
        default=[],
        metavar="FIELD=VALUES",
        help="every combination of these values; values that hold commas are separated by ;",
    )
    parser.add_argument("--list", metavar="FILE", help="one JSON object a line, of fields and values to change")
    parser.add_argument(
        "--random", type=whole_number(1, 10_001), metavar="N", help="so many configurations drawn from --range"
    )
    parser.add_argument("--range", nargs="+", default=[], metavar="FIELD=LOW:HIGH[:log]", help="what --random draws")
    parser.add_argument("--random-seed", type=whole_number(0, 2**63), default=0, metavar="N", help="of --random")
    parser.add_argument("--measure", nargs="+", default=[], metavar="SUITE", help="measure all runs on these suites")
    parser.add_argument("--samples", type=whole_number(1, 10**6), metavar="N", help="of each suite (default: its own)")
    add_cluster(parser)
    add_device(parser, "auto")
    add_overrides(parser, entry.configure())
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser(named(arguments)).read(arguments)
    from gridsum.evaluation.suites import find
    from gridsum.study.storage import folder_of, is_address
    from gridsum.study.sweep import changes_asked, configurations, listed, sweep_jobs, write_sweep
    from gridsum.study.workers import do_jobs

    if is_address(options.out) and options.on is None:
        raise UsageError(
            f"{options.out} is an address, where the machines of a cluster work; add --on, or name a folder"
        )
    entry = find_entry(options.variant)
    if entry.outcome and options.measure:
        raise UsageError(f"what {entry.name} comes to is a proof; leave --measure out")
    base = entry.configure(changes=overridden(options))
    changes = changes_asked(base, options.grid, options.list, options.random, options.range, options.random_seed)
    configs = configurations(base, changes)
    suites = [suite for name in options.measure for suite in find(name)]
    jobs, device = sweep_jobs(configs, options.seeds, suites, options.samples), pick_device(options.device)
    try:
        with folder_of(options.out) as (folder, copy), progress() as shown:
            write_sweep(folder, configs, options.seeds)
            waiting = do_jobs(
                jobs, folder, shown, options.on, device, source_commit(), copy=copy, gpus_per_job=options.gpus_per_job
            )
            lines = listed(folder, configs, options.seeds)
    except KeyboardInterrupt:
        go_on = shlex.join(["gridsum", "sweep", *arguments])
        tell(f"gridsum: stopped; what is done is kept; go on with: {go_on}")
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(error.filename or options.out, error) from None
    for line in lines:
        emit(line)
    return FAILED if waiting else 0
