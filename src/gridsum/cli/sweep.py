"""Train a batch of seeds for each of many configurations, and show how well each does.
Finished work is kept: after an interruption the same command continues.

examples:
  gridsum sweep --out runs/rates --seeds 0-4 \\
      --grid training.learning_rate=1e-3,3e-4 model.heads=8,64
  gridsum sweep --out runs/beside --on processes:2 --grid model.heads=8,64
  gridsum sweep --variant exact --out runs/bits --grid rule.bits=6,7,8
  gridsum evaluate --model runs/rates/* --suite 2x100
"""

from pathlib import Path

from gridsum.cli import FAILED
from gridsum.cli.options import Options, Parser, add_fields, add_jobs, go_on
from gridsum.cli.output import kept_if_stopped, print_text
from gridsum.cli.train import named
from gridsum.config.registry import find, names
from gridsum.io.progress import progress
from gridsum.io.version import source_commit


def add_options(parser: Parser) -> None:
    parser.option("--out FOLDER", "where everything goes", required=True)
    told = "the variant to change, as in gridsum train; it decides which options follow below"
    parser.option("--variant VARIANT", told, choices=names(), default="base")
    parser.option("--seeds SEEDS", "such as 0-9", default=(0,))
    told = "every combination of these values; values that hold commas are separated by ;"
    parser.option("--grid FIELD=VALUES...", told, required=True)
    add_jobs(parser)
    add_fields(parser, named(parser.arguments).configure())


def run(options: Options) -> int:
    from gridsum.ops.devices import pick_device
    from gridsum.study.sweep import parse_axis, sweep_jobs
    from gridsum.study.watch import overview
    from gridsum.study.workers import do_jobs

    base = find(options.variant).configure(changes=options.changes)
    jobs = sweep_jobs(base, dict(parse_axis(base, text) for text in options.grid), options.seeds)
    place, device = Path(options.out), pick_device(options.device)
    with kept_if_stopped(lambda: go_on(options)), progress() as shown:
        waiting = do_jobs(jobs, place, shown, options.on, device, source_commit(), options.gpus_per_job)
    print_text(overview(place))
    return FAILED if waiting else 0
