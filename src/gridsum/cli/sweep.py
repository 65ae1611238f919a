"""`gridsum sweep`: a fleet of seeds for each of many configurations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from gridsum.api.progress import progress
from gridsum.cli import FAILED
from gridsum.cli.evaluate import source_commit
from gridsum.cli.options import (
    File,
    Folder,
    Jobs,
    Samples,
    Seeds,
    Suite,
    UsageError,
    Value,
    one_of,
    option,
    required,
    several,
)
from gridsum.cli.output import emit
from gridsum.cli.train import named
from gridsum.config.registry import find as find_entry
from gridsum.config.registry import names


@dataclass(frozen=True, kw_only=True)
class Options(Jobs):
    """Train a fleet of seeds for each of many configurations, measure them if asked, and list how good each became.
    Finished work is kept: after an interruption the same command continues.

    examples:
      gridsum sweep --out runs/rates --seeds 0-4 \\
          --grid training.learning_rate=1e-3,3e-4 model.heads=8,64
      gridsum sweep --out runs/beside --on processes:2 --grid model.heads=8,64
      gridsum sweep --out runs/mine --list changes.jsonl --measure 2x100
      gridsum sweep --variant exact --out runs/bits --grid rule.bits=6,7,8
    """

    out: Folder = required("where everything goes")
    variant: Annotated[str, Value("NAME", one_of("variant", names()))] = option(
        "the variant to change, as in gridsum train; it decides which options follow below", "base"
    )
    seeds: Seeds = option("such as 0-9 (default: 0)", (0,))
    grid: tuple[Annotated[str, Value("FIELD=VALUES")], ...] = several(
        "every combination of these values; values that hold commas are separated by ;"
    )
    list: File | None = option("one JSON object a line, of fields and values to change")
    measure: tuple[Suite, ...] = several("measure all runs on these suites")
    samples: Samples | None = option("problems per suite (default: the suite's own number)")
    changes: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def configuration(arguments: Sequence[str]) -> Any:
        return named(arguments).configure()


def run(options: Options) -> int:
    from gridsum.evaluation.suites import find
    from gridsum.ops.devices import pick_device
    from gridsum.study.sweep import changes_asked, configurations, listed, sweep_jobs, write_sweep
    from gridsum.study.workers import do_jobs

    entry = find_entry(options.variant)
    if entry.outcome and options.measure:
        raise UsageError(f"what {entry.name} comes to is a proof; leave --measure out")
    base = entry.configure(changes=dict(options.changes))
    configs = configurations(base, changes_asked(base, options.grid, options.list))
    suites = [suite for name in options.measure for suite in find(name)]
    jobs, device = sweep_jobs(configs, options.seeds, suites, options.samples), pick_device(options.device)
    folder = Path(options.out)
    with options.working("sweep", options.out), progress() as shown:
        write_sweep(folder, configs, options.seeds)
        share = options.gpus_per_job
        waiting = do_jobs(jobs, folder, shown, options.on, device, source_commit(), gpus_per_job=share)
        lines = listed(folder, configs, options.seeds)
    for line in lines:
        emit(line)
    return FAILED if waiting else 0
