"""`gridsum reproduce`: the paper's study from training to results page, in pieces that can be interrupted."""

import argparse
import importlib
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gridsum.api.progress import Progress, progress
from gridsum.cli import FAILED, for_users
from gridsum.cli.addresses import kept_at
from gridsum.cli.evaluate import source_commit
from gridsum.cli.output import check_writable, emit, tell, terminal_width, unwritable, write_result
from gridsum.cli.parsing import (
    Parser,
    UsageError,
    add_cluster,
    add_commit,
    add_device,
    add_reading,
    columns,
    one_of,
    pick_device,
    whole_number,
)
from gridsum.cli.train import read_seeds
from gridsum.cli.workers import do_by_workers
from gridsum.config.variants import PAPER_VARIANTS

if TYPE_CHECKING:
    import torch

    from gridsum.ops.costs import Estimate
    from gridsum.study.campaign import Campaign
    from gridsum.study.pieces import Piece, State, Surroundings
    from gridsum.study.results import Results
    from gridsum.training.loop import Epoch

STAGES = {
    "train": "ten seeds of every variant, each variant as one fleet",
    "validate": "runs to choose among, on problems that no table reports",
    "overtrain": "the best runs of base and noGroups, further",
    "measure": "all runs on every suite: every grid size, and the published draws",
    "further": "seeds 10 to 19, for the orderings; only if asked for by --only",
    "figures": "the paper's figures beside the page; left out without matplotlib",
    "report": "the page of results and its appendices, from what is there by then",
    "ship": "the best runs into the package; only if asked for by --only",
}
_DEFAULT_STAGES = tuple(stage for stage in STAGES if stage not in ("further", "ship"))
OUT_OF_TIME = 3
"""The exit status when the time limit ended the campaign before it was done."""
_SUBJECT_WIDTH = 24
"""Of the column of trainings in a plan, at least."""
_QUICK_SEEDS, _SEEDS = tuple(range(2)), tuple(range(10))


_CHECK_SECONDS = 540
"""How long --check looks if nothing else is said."""


class OutOfTime(RuntimeError):
    """The time limit has been reached; what was done is kept."""


def _parser() -> Parser:
    parser = Parser(
        "reproduce",
        "Reproduce the paper: train every variant from ten seeds, choose the best runs on problems of their own, "
        "train those further, measure all of them on the paper's problems, and write a page of results. What is done "
        "is kept and skipped: after an interruption, even a kill, the same command goes on.",
        "gridsum reproduce [--out FOLDER] [--only STAGE...] [--dry-run] ...",
        f"stages, in order:\n{columns(STAGES)}\n\n"
        "of base and noGroups, the best runs on digits and on terms are overtrained.\n\n"
        f"exit status {OUT_OF_TIME}: the time limit came first; call again to go on\n\n"
        "examples:\n"
        "  gridsum reproduce --dry-run\n"
        "  gridsum reproduce --quick\n"
        "  gridsum reproduce --variants noGroups --only train --time-limit 3000\n"
        "  gridsum reproduce --on ray --out mine\n"
        "  gridsum reproduce --reading text --out out/text\n"
        "  gridsum reproduce --only report\n"
        "  gridsum reproduce --check",
    )
    parser.add_argument("--out", metavar="FOLDER", help="where everything goes (default: results)")
    parser.add_argument(
        "--variants",
        nargs="+",
        type=one_of("variant", (*PAPER_VARIANTS, "exact")),
        default=list(PAPER_VARIANTS),
        metavar="NAME",
        help=f"which of {', '.join(PAPER_VARIANTS)} (default: all); or exact alone, which is a study of its own: train "
        "and prove, measure the chosen run, ship",
    )
    add_reading(parser, "; needs an --out of its own")
    parser.add_argument("--seeds", type=read_seeds, metavar="SEEDS", help="such as 0-9 or 0,2,5-7 (default: 0-9)")
    parser.add_argument(
        "--precision",
        type=one_of("precision", ("fp32", "tf32", "bf16")),
        metavar="NAME",
        help="of the products in training on a GPU: fp32, tf32 or bf16 (default: bf16); the CPU computes in fp32",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        type=one_of("stage", tuple(STAGES)),
        metavar="STAGE",
        help="do these stages alone (default: all but further and ship)",
    )
    parser.add_argument(
        "--page",
        metavar="FILE",
        help="the page of results; its appendices lie in a folder beside it (default: docs/results.md, with --quick "
        "OUT/results.md)",
    )
    parser.add_argument(
        "--ship-to",
        metavar="FOLDER",
        help="where ship puts models and scores, and --check finds them (default: the package itself)",
    )
    parser.add_argument(
        "--time-limit",
        type=whole_number(1, 10**9),
        metavar="SECONDS",
        help="stop, with everything kept, when so much time has passed (default: none)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="train nothing: measure the models of the package (or of --ship-to) again, part by part, and say which "
        f"numbers of their records that confirms; for {_CHECK_SECONDS} seconds, or --time-limit",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what is done, what is left and what that costs")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the same in minutes on a CPU: two seeds, two epochs of little, two problems a suite; the results mean "
        "nothing (default --out: out/quick)",
    )
    add_commit(parser)
    add_cluster(parser)
    add_device(parser, "auto")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    with kept_at(options):
        return _run(options, arguments, time.monotonic())


def _run(options: argparse.Namespace, arguments: Sequence[str], started: float) -> int:
    if "exact" in options.variants:
        if len(set(options.variants)) > 1:
            raise UsageError("exact is a study of its own; leave the other variants out")
        return importlib.import_module("gridsum.cli.proved").reproduce(options)
    device = pick_device(options.device)
    if options.check:
        return _check(options, device, started)
    campaign = _campaign(options, device)

    from gridsum.ops.costs import Estimate
    from gridsum.study.campaign import write_campaign
    from gridsum.study.pieces import further_pieces, pieces

    stages = options.only or _DEFAULT_STAGES
    wanted = [piece for piece in (*pieces(campaign), *further_pieces(campaign)) if piece.stage in stages]
    page = Path(options.page or (campaign.folder / "results.md" if options.quick else "docs/results.md"))
    if "report" in stages:
        check_writable(str(page))
    if "ship" in stages and options.quick and options.ship_to is None:
        raise UsageError("the models of --quick are no good; name a folder for them with --ship-to")
    if options.reading is not None and options.out is None:
        raise UsageError(f"results is for the default reading; name another folder: --out out/{options.reading}")
    plan = _plan(wanted, Estimate(device, campaign.precision), device) if wanted else ""
    if options.dry_run:
        emit(plan or "  nothing of this has a cost")
        return 0
    if plan:
        tell(plan)
    try:
        with progress() as shown:
            check = _deadline(started, options.time_limit)
            if not all(state.finished or state.waits_for for state in [piece.state() for piece in wanted]):
                write_campaign(campaign)
            if options.on is None:
                around = _surroundings(device, shown, options, check)
                waiting = [piece for piece in wanted if not _do(piece, around)]
            else:
                waiting = do_by_workers(wanted, campaign.folder, options, shown, check)
    except OutOfTime:
        tell(f"gridsum: the time limit is reached; {_go_on(arguments)}")
        return OUT_OF_TIME
    except KeyboardInterrupt:
        tell(f"gridsum: stopped; {_go_on(arguments)}")
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(error.filename or campaign.folder, error) from None
    if wanted:
        tell(f"gridsum: it is in {options.place or campaign.folder}")
    if "figures" in stages:
        _draw(campaign.folder, page)
    if "report" in stages:
        _report(campaign.folder, page)
    if "ship" in stages:
        _ship(campaign.folder, options.ship_to, campaign.variants)
    return FAILED if waiting else 0


def _check(options: argparse.Namespace, device: "torch.device", started: float) -> int:
    from gridsum.evaluation.rendering import to_text
    from gridsum.model.store import SHIPPED
    from gridsum.study.check import Checked, account, check, in_brief

    folder = SHIPPED if options.ship_to is None else Path(options.ship_to)
    limit = options.time_limit or _CHECK_SECONDS
    total = 0
    with progress() as shown:

        def goes_on(done: Checked, of: int) -> bool:
            nonlocal total
            total = of
            shown.update(f"{done.part.record.model} on {done.part.record.suite}:", len(found) + 1, of, unit="parts")
            found.append(done)
            return time.monotonic() - started < limit

        found: list[Checked] = []
        check(folder, device, goes_on)
    if not found:
        raise UsageError(f"{folder} holds no models with records")
    write_result("-", to_text(account(found), terminal_width()))
    tell(f"gridsum: {in_brief(found, total)}")
    return FAILED if any(checked.verdict == "differs" for checked in found) else 0


def _report(folder: Path, page: Path) -> None:
    from gridsum.study.drawings import drawings_at
    from gridsum.study.manifest import keep
    from gridsum.study.page import write_pages

    results = _results(folder)
    keep(results)
    drawn = [(path, drawing.captioned(results)) for drawing, path in drawings_at(page).items() if path.exists()]
    command = f"gridsum reproduce --out {folder} --only figures report"
    try:
        pages = write_pages(results, page, command, drawn)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] != "scipy":
            raise
        tell("gridsum: left out (report): it needs scipy, which is not installed; pip install scipy")
        return
    for path, text in pages.items():
        write_result(str(path), text)
    tell(f"gridsum: wrote {page} and {len(pages) - 1} appendices")


def _draw(folder: Path, page: Path) -> None:
    """Every figure that there are data and libraries for; the others are left out, and why is said."""
    from gridsum.cli import run as run_command
    from gridsum.study.drawings import drawings_at

    results = _results(folder)
    left_out: dict[str, list[str]] = {}
    for drawing, path in drawings_at(page).items():
        options = drawing.options(results)
        if options is None:
            left_out.setdefault(drawing.needs, []).append(drawing.name)
            continue
        try:
            run_command("figure", drawing.name, *options, "--out", str(path))
        except (ImportError, ValueError) as error:
            if isinstance(error, ValueError) and not for_users(error):
                raise
            left_out.setdefault(str(error), []).append(drawing.name)
    for why, names in left_out.items():
        tell(f"gridsum: left out ({', '.join(names)}): {why}")


def _ship(folder: Path, to: str | None, variants: Sequence[str]) -> None:
    from gridsum.model.store import SHIPPED
    from gridsum.study.shipping import ship

    place = SHIPPED if to is None else Path(to)
    for name, run in ship(_results(folder), place, variants).items():
        tell(f"gridsum: {name} is seed {run.seed} of {run.training.name}")
    size = sum(path.stat().st_size for path in place.iterdir())
    tell(f"gridsum: {place} holds {size / 1e6:.1f} MB now")


def _results(folder: Path) -> "Results":
    from gridsum.study.results import load_results

    results = load_results(folder)
    if not results.trained:
        raise UsageError(f"{folder} holds no training yet; begin with: gridsum reproduce --out {folder} --only train")
    return results


def _campaign(options: argparse.Namespace, device: "torch.device") -> "Campaign":
    from gridsum.ops.devices import on_gpu
    from gridsum.study.campaign import FULL, QUICK, Campaign

    folder = Path(options.out or ("out/quick" if options.quick else "results"))
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; --out takes a folder")
    return Campaign(
        folder,
        tuple(dict.fromkeys(options.variants)),
        options.seeds or (_QUICK_SEEDS if options.quick else _SEEDS),
        options.precision or "bf16" if on_gpu(device) else "fp32",
        QUICK if options.quick else FULL,
        options.reading,
    )


def _plan(wanted: "list[Piece]", estimate: "Estimate", device: "torch.device") -> str:
    """What is done and what is left, with the time it takes."""
    from gridsum.ops.costs import UNCERTAINTY, duration
    from gridsum.ops.devices import describe

    lines, total = [], 0.0
    width = max(_SUBJECT_WIDTH, *(len(piece.subject) + 2 for piece in wanted))
    for piece in wanted:
        state = piece.state()
        seconds = 0.0 if state.finished else estimate.seconds(piece.work(device))
        total += seconds
        left = "done" if state.finished else f"about {duration(seconds)}"
        lines.append(f"  {piece.stage:<11}{piece.subject:<{width}}{_amount(state):<20}{left}")
    machine = describe(device).split(";")[0]
    end = f"left: about {duration(total)} on {machine}, {UNCERTAINTY}" if total else "nothing is left to do"
    return "\n".join([*lines, f"  {end}"])


def _amount(state: "State") -> str:
    return f"{state.done} of {state.total} {state.unit}"


def _deadline(started: float, limit: int | None) -> Callable[[], None]:
    def check() -> None:
        if limit is not None and time.monotonic() - started >= limit:
            raise OutOfTime

    return check


def _surroundings(
    device: "torch.device", shown: Progress, options: argparse.Namespace, check: Callable[[], None]
) -> "Surroundings":
    from gridsum.study.pieces import Surroundings

    def epoch(name: str, done: "Epoch") -> None:
        from gridsum.training.loop import news

        shown.update(f"{name}: epoch", done.number, done.of, news(done))
        check()

    def problems(label: str, done: int, total: int) -> None:
        shown.update(f"{label}:", done, total, unit="problems measured")
        if done < total:  # at the end the record is kept first
            check()

    commit = options.commit or source_commit()
    return Surroundings(device, epoch, problems, lambda text: shown.note(f"gridsum: {text}"), commit, check)


def _do(piece: "Piece", around: "Surroundings") -> bool:
    """Whether the piece is done now; if not, it waits for another, which is said."""
    state = piece.state()
    if state.waits_for and not state.finished:
        around.note(f"{piece.stage} {piece.subject} is left out: it waits for {state.waits_for}")
        return False
    if not state.finished:
        piece.run(around)
    return True


def _go_on(arguments: Sequence[str]) -> str:
    return f"what is done is kept; go on with: {shlex.join(['gridsum', 'reproduce', *arguments])}"
