"""Reproduce the paper: train every variant from ten seeds, choose the best on separate problems, overtrain those,
measure all of them on the paper's problems, and write a report. The same for exact, and for the baselines from other
papers. Finished work is kept: after an interruption, even a kill, the same command continues.

examples:
  gridsum reproduce --dry-run
  gridsum reproduce --quick
  gridsum reproduce --variants noGroups --only train
  gridsum reproduce --on ray --out mine
  gridsum reproduce --setting text --out out/text
  gridsum reproduce --variants base noGroups --blocks 0-5 --out mine
  gridsum reproduce --variants exact --out mine
  gridsum reproduce --variants baselines --out mine --on processes:5
  gridsum reproduce --only report
  gridsum reproduce --check
"""

import time
from pathlib import Path
from typing import Any

from gridsum.cli import FAILED
from gridsum.cli.options import Options, Parser, UsageError, add_jobs, go_on, seeds, whole_number
from gridsum.cli.output import check_writable, kept_if_stopped, print_text, tell
from gridsum.config.variants import INTERPRETATIONS, PAPER_VARIANTS
from gridsum.io.progress import progress
from gridsum.io.version import source_commit

_STAGES = {
    "train": "the seeds of every variant, all seeds of a variant together",
    "validate": "runs to choose among, on problems that no table reports",
    "overtrain": "the best runs of base and noGroups, for 300 epochs more",
    "measure": "all runs on every suite: every grid size, and published draws",
    "figures": "the figures beside the report; left out without matplotlib",
    "report": "the report and its appendices, from what has been measured",
}


def add_options(parser: Parser) -> None:
    parser.explain({"stages, in order": _STAGES})
    parser.option("--out FOLDER", "where everything goes (default: results)")
    parser.option(
        "--variants NAME...",
        f"which of {', '.join(PAPER_VARIANTS)} (default: all of these); or exact, whose runs are proved and "
        "the chosen one measured; or baselines, or one of them, such as dngpu or dngpu/native",
    )
    parser.option(
        "--setting NAME",
        "a named way to train the paper's variants, as in gridsum train; text: follow the words of the paper alone, "
        "not its published code; needs an --out of its own",
        choices=list(INTERPRETATIONS),
    )
    parser.option("--seeds SEEDS", "such as 0-9 or 0,2,5-7 (default: 0-9)")
    parser.option(
        "--blocks NUMBERS",
        "repeat the paper's selection: block 1 has the seeds that follow those of --seeds, block 2 those after them; "
        "of each block the best are overtrained and measured. 0-5 are six replications; 0-1 of all variants decide the "
        "paper's orderings (default: 0)",
        type=seeds,
        default=(0,),
    )
    parser.option("--only STAGE...", "do only these stages (default: all)", choices=_STAGES)
    parser.option(
        "--report FILE",
        "the report; its appendix lies in a folder beside it, and so does comparison.md, of the baselines (default: "
        "docs/results.md; with --quick, or of baselines alone, OUT/results.md)",
    )
    told = "train nothing: measure the shipped models again, part by part, and say which of their records this confirms"
    parser.option("--check", told)
    told = "how long --check may take"
    parser.option("--time-limit SECONDS", told, type=whole_number(1, 10**9), default=540)
    parser.option("--dry-run", "print what is done, what is left and what it will cost")
    parser.option(
        "--quick",
        "the same in minutes on a CPU: two seeds, two tiny epochs, two problems per suite; the results mean nothing "
        "(default --out: out/quick)",
    )
    told = "the commit that records name (default: that of the checkout the code runs from, if it is one)"
    parser.option("--commit HASH", told)
    add_jobs(parser)


def run(options: Options) -> int:
    from gridsum.ops.devices import pick_device

    device = pick_device(options.device)
    if options.check:
        return _check(options, device)
    with kept_if_stopped(lambda: go_on(options)):
        return _reproduce(options, device)


def _reproduce(options: Options, device: Any) -> int:
    from gridsum.study.jobs import plan
    from gridsum.study.pictures import draw_figures
    from gridsum.study.report import write_report
    from gridsum.study.reproduction import Reproduction, named
    from gridsum.study.results import load_results
    from gridsum.study.workers import do_jobs

    if options.setting is not None and options.out is None:
        raise UsageError(f"results is for the default setting; add --out out/{options.setting}")
    options.out = options.out or ("out/quick" if options.quick else "results")
    place = Path(options.out)
    if place.is_file():
        raise UsageError(f"{place} is a file; --out takes a folder")
    numbers = options.seeds or tuple(range(2 if options.quick else 10))
    variants = named(options.variants or PAPER_VARIANTS)
    asked = Reproduction(variants, numbers, options.quick, options.setting, options.blocks)
    wanted = options.only or _STAGES
    page = Path(options.report or ("docs/results.md" if asked.paper and not options.quick else place / "results.md"))
    if "report" in wanted:
        check_writable(str(page))
    jobs = [job for job in asked.jobs() if job.stage in wanted]
    told = plan(jobs, place, device)
    if options.dry_run:
        print_text(told + "\n")
        return 0
    waiting = []
    if jobs:
        tell(told)
        with progress() as shown:
            commit = options.commit or source_commit()
            waiting = do_jobs(jobs, place, shown, options.on, device, commit, options.gpus_per_job)
        tell(f"gridsum: it is in {place}")

    for stage, make in (("figures", draw_figures), ("report", write_report)):
        if stage in wanted:
            results = load_results(place)
            if asked.paper and not results.trained:
                again = f"gridsum reproduce --out {place} --only train"
                raise UsageError(f"no training run in {place} yet; run: {again}")
            make(results, page, asked, lambda text: tell(f"gridsum: {text}"))
    return FAILED if waiting else 0


def _check(options: Options, device: Any) -> int:
    from gridsum.model.store import SHIPPED
    from gridsum.study.check import check, in_brief, told

    started, found, total = time.monotonic(), [], 0
    with progress() as shown:
        for done, total in check(SHIPPED, device):
            found.append(done)
            shown.update(f"{done.now.model} on {done.now.suite}:", len(found), total, unit="parts")
            if time.monotonic() - started >= options.time_limit:
                break
    print_text("".join(f"{told(checked)}\n" for checked in found if checked.verdict != "the same"))
    tell(f"gridsum: {in_brief(found, total)}")
    return FAILED if any(checked.verdict == "differs" for checked in found) else 0
