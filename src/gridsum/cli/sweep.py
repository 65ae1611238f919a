"""Train a batch of seeds for each of many configurations, measure them if asked, and show how well each does.
Finished work is kept: after an interruption the same command continues.

examples:
  gridsum sweep --out runs/rates --seeds 0-4 \\
      --grid training.learning_rate=1e-3,3e-4 model.heads=8,64
  gridsum sweep --out runs/beside --on processes:2 --grid model.heads=8,64
  gridsum sweep --out runs/mine --measure 2x100 --grid model.heads=8,64
  gridsum sweep --variant exact --out runs/bits --grid rule.bits=6,7,8
"""

from pathlib import Path

from gridsum.cli import FAILED
from gridsum.cli.options import Options, Parser, UsageError, add_fields, add_jobs, go_on, samples
from gridsum.cli.output import kept_if_stopped, print_text, terminal_width
from gridsum.cli.train import named
from gridsum.config.registry import find as find_entry
from gridsum.config.registry import names
from gridsum.io.progress import progress
from gridsum.io.version import source_commit


def add_options(parser: Parser) -> None:
    parser.option("--out FOLDER", "where everything goes", required=True)
    told = "the variant to change, as in gridsum train; it decides which options follow below"
    parser.option("--variant VARIANT", told, choices=names(), default="base")
    parser.option("--seeds SEEDS", "such as 0-9", default=(0,))
    told = "every combination of these values; values that hold commas are separated by ;"
    parser.option("--grid FIELD=VALUES...", told, required=True)
    parser.option("--measure SUITE...", "measure all runs on these suites")
    parser.option("--samples N", "problems per suite (default: the suite's own number)", type=samples)
    add_jobs(parser)
    add_fields(parser, named(parser.arguments).configure())


def run(options: Options) -> int:
    from gridsum.evaluation.suites import find
    from gridsum.ops.devices import pick_device
    from gridsum.study.sweep import configurations, grid, parse_axis, sweep_jobs
    from gridsum.study.watch import overview
    from gridsum.study.workers import do_jobs

    entry = find_entry(options.variant)
    if entry.outcome and options.measure:
        raise UsageError(f"{entry.name} is proved, not measured; leave out --measure")
    base = entry.configure(changes=options.changes)
    configs = configurations(base, grid(dict(parse_axis(base, text) for text in options.grid)))
    suites = [suite for name in options.measure for suite in find(name)]
    jobs, device = sweep_jobs(configs, options.seeds, suites, options.samples), pick_device(options.device)
    place = Path(options.out)
    with kept_if_stopped(lambda: go_on(options)), progress() as shown:
        waiting = do_jobs(jobs, place, shown, options.on, device, source_commit(), options.gpus_per_job)
    print_text(overview(place, terminal_width()))
    return FAILED if waiting else 0
