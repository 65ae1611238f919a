"""`gridsum reproduce`: the paper's study from training to report, in jobs that can be interrupted."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from gridsum.api.progress import progress
from gridsum.cli import FAILED, for_users
from gridsum.cli.evaluate import source_commit
from gridsum.cli.options import (
    File,
    Folder,
    Jobs,
    Seeds,
    UsageError,
    Value,
    flag,
    one_of,
    option,
    several,
    whole_number,
)
from gridsum.cli.output import check_writable, emit, tell, terminal_width, write_result
from gridsum.config.variants import INTERPRETATIONS, PAPER_VARIANTS

if TYPE_CHECKING:
    import torch

    from gridsum.study.check import Checked
    from gridsum.study.reproduction import Reproduction

_STAGES = {
    "train": "the seeds of every variant, each variant as one fleet",
    "validate": "runs to choose among, on problems that no table reports",
    "overtrain": "the best runs of base and noGroups, for 300 epochs more",
    "measure": "all runs on every suite: every grid size, and published draws",
    "extra-seeds": "seeds 10 to 19, for the orderings; only if asked for by --only",
    "figures": "the figures beside the report; left out without matplotlib",
    "report": "the report and its appendices, from what is there by then",
    "ship": "the best runs into the package; only if asked for by --only",
}
_DEFAULT_STAGES = tuple(stage for stage in _STAGES if stage not in ("extra-seeds", "ship"))
OUT_OF_TIME = 3
"""The exit status when the time limit ended the work before it was done."""
_QUICK_SEEDS, _SEEDS = tuple(range(2)), tuple(range(10))
_CHECK_SECONDS = 540
"""How long --check looks if nothing else is said."""


class OutOfTime(RuntimeError):
    """The time limit has been reached; what was done is kept."""


@dataclass(frozen=True, kw_only=True)
class Options(Jobs):
    """Reproduce the paper: train every variant from ten seeds, choose the best runs on problems of their own, overtrain
    those, measure all of them on the paper's problems, and write a report. The same for exact, and for the baselines
    from other papers. Finished work is kept: after an interruption, even a kill, the same command continues.

    of base and noGroups, the best runs on digits and on terms are overtrained.

    exit status 3: the time limit came first; call again to go on

    examples:
      gridsum reproduce --dry-run
      gridsum reproduce --quick
      gridsum reproduce --variants noGroups --only train --time-limit 3000
      gridsum reproduce --on ray --out mine
      gridsum reproduce --interpretation text --out out/text
      gridsum reproduce --variants base noGroups --blocks 6 --out mine
      gridsum reproduce --variants exact --out mine
      gridsum reproduce --variants baselines --out mine --on processes:5
      gridsum reproduce --only report
      gridsum reproduce --check
    """

    lists: ClassVar = {"stages, in order": _STAGES}
    out: Folder | None = option("where everything goes (default: results)")
    variants: tuple[Annotated[str, Value("NAME")], ...] = option(
        f"which of {', '.join(PAPER_VARIANTS)} (default: all of these); or exact, whose runs are proved and "
        "the chosen one measured; or baselines, or one of them, such as dngpu or dngpu/native",
        tuple(PAPER_VARIANTS),
    )
    interpretation: Annotated[str | None, Value("NAME", one_of("interpretation", tuple(INTERPRETATIONS)))] = option(
        "how to settle what the paper leaves open, other than by its published code: text follows the words of the "
        "paper alone; needs an --out of its own"
    )
    seeds: Seeds | None = option("such as 0-9 or 0,2,5-7 (default: 0-9)")
    blocks: Annotated[int, whole_number(1, 100)] = option(
        "repeat the paper's selection N times: train N times as many seeds of base and noGroups, and overtrain "
        "and measure the best of each block",
        1,
    )
    precision: Literal["auto", "fp32", "tf32", "bf16"] = option(
        "precision of matrix multiplications in training: auto is bf16 on a GPU that has it, else fp32", "auto"
    )
    only: tuple[Annotated[str, Value("STAGE", one_of("stage", tuple(_STAGES)))], ...] = several(
        "do these stages alone (default: all but extra-seeds and ship)"
    )
    report: File | None = option(
        "the report; its appendix lies in a folder beside it, and so does comparison.md, of the baselines (default: "
        "docs/results.md; with --quick, or of baselines alone, OUT/results.md)"
    )
    ship_to: Folder | None = option(
        "where ship puts models and scores, and --check finds them (default: the package itself)"
    )
    time_limit: Annotated[int | None, Value("SECONDS", whole_number(1, 10**9).read)] = option(
        "stop, with everything kept, when so much time has passed (default: none)"
    )
    check: bool = flag(
        "train nothing: measure the models of the package (or of --ship-to) again, part by part, and say which numbers "
        f"of their records that confirms; for {_CHECK_SECONDS} seconds, or --time-limit"
    )
    dry_run: bool = flag("print what is done, what is left and what that costs")
    quick: bool = flag(
        "the same in minutes on a CPU: two seeds, two epochs of little, two problems a suite; the results mean nothing "
        "(default --out: out/quick)"
    )
    commit: Annotated[str | None, Value("HASH")] = option(
        "the commit that records name (default: that of the checkout the code runs from, if it is one)"
    )


def run(options: Options) -> int:
    started = time.monotonic()
    from gridsum.ops.devices import pick_device

    device = pick_device(options.device)
    if options.check:
        return _check(options, device, started)

    asked = _asked(options)
    out = options.out or ("out/quick" if options.quick else "results")
    try:
        with options.working("reproduce", out):
            return _reproduce(options, asked, Path(out), device, _deadline(started, options.time_limit))
    except OutOfTime:
        tell(f"gridsum: the time limit is reached; {options.go_on('reproduce')}")
        return OUT_OF_TIME


def _asked(options: Options) -> "Reproduction":
    from gridsum.study.reproduction import Reproduction, named

    if options.interpretation is not None and options.out is None:
        raise UsageError(f"results is for the default interpretation; add --out out/{options.interpretation}")
    if options.out is not None and Path(options.out).is_file():
        raise UsageError(f"{options.out} is a file; --out takes a folder")
    if "ship" in (options.only or ()) and options.quick and options.ship_to is None:
        raise UsageError("the models of --quick are not trained; name a folder for them with --ship-to")
    seeds = options.seeds or (_QUICK_SEEDS if options.quick else _SEEDS)
    return Reproduction(
        named(options.variants), seeds, options.precision, options.quick, options.interpretation, options.blocks
    )


def _reproduce(
    options: Options, asked: "Reproduction", folder: Path, device: "torch.device", check: Callable[[], None]
) -> int:
    from gridsum.study import stages
    from gridsum.study.reproduction import write_reproduction
    from gridsum.study.workers import do_jobs

    wanted = options.only or _DEFAULT_STAGES
    page = Path(options.report or ("docs/results.md" if asked.paper and not options.quick else folder / "results.md"))
    if "report" in wanted:
        check_writable(str(page))
    jobs = [job for job in asked.jobs() if job.stage in wanted]
    plan = stages.plan(jobs, folder, device, asked.precision)
    if options.dry_run:
        emit(plan)
        return 0
    waiting = []
    if jobs:
        tell(plan)
        with progress() as shown:
            if not all(state.finished or state.waits_for for state in [job.state(folder) for job in jobs]):
                write_reproduction(folder, asked)
            commit = options.commit or source_commit()
            waiting = do_jobs(jobs, folder, shown, options.on, device, commit, check, options.gpus_per_job)
        tell(f"gridsum: it is in {options.out or folder}")
    if "figures" in wanted:
        stages.draw_figures(folder, page, asked, _draw, _say)
    if "report" in wanted:
        stages.write_report(folder, page, asked, _say)
    if "ship" in wanted:
        stages.ship_models(folder, None if options.ship_to is None else Path(options.ship_to), asked, _say)
    return FAILED if waiting else 0


def _say(text: str) -> None:
    tell(f"gridsum: {text}")


def _draw(arguments: list[str]) -> str | None:
    """A figure; returns why it cannot be drawn."""
    from gridsum.cli import run as run_command

    try:
        run_command("figure", *arguments)
    except (ImportError, ValueError) as error:
        if isinstance(error, ValueError) and not for_users(error):
            raise
        return str(error)
    return None


def _check(options: Options, device: "torch.device", started: float) -> int:
    from gridsum.evaluation.rendering import to_text
    from gridsum.model.store import SHIPPED
    from gridsum.study.check import account, check, in_brief

    folder = SHIPPED if options.ship_to is None else Path(options.ship_to)
    limit = options.time_limit or _CHECK_SECONDS
    found: list[Checked] = []
    total = 0
    with progress() as shown:

        def goes_on(done: "Checked", of: int) -> bool:
            nonlocal total
            total = of
            found.append(done)
            shown.update(f"{done.now.model} on {done.now.suite}:", len(found), of, unit="parts")
            return time.monotonic() - started < limit

        check(folder, device, goes_on)
    if not found:
        raise UsageError(f"no models with records in {folder}")
    write_result("-", to_text(account(found), terminal_width()))
    tell(f"gridsum: {in_brief(found, total)}")
    return FAILED if any(checked.verdict == "differs" for checked in found) else 0


def _deadline(started: float, limit: int | None) -> Callable[[], None]:
    def check() -> None:
        if limit is not None and time.monotonic() - started >= limit:
            raise OutOfTime

    return check
