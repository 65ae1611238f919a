"""`gridsum compare`: all systems that ours is compared with, trained, measured, and the page of it."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridsum.cli.evaluate import source_commit
from gridsum.cli.output import tell, unwritable
from gridsum.cli.parsing import Parser, add_commit, add_device, pick_device, seconds, whole_number
from gridsum.cli.train import read_seeds

if TYPE_CHECKING:
    from gridsum.baselines.campaign import Piece


def _parser() -> Parser:
    parser = Parser(
        "compare",
        "Train the systems that ours is compared with, each in its own setting and in the paper's, measure them on the "
        "same problems, and write the page that compares them. What is done is kept and skipped: after an interruption "
        "the same command goes on. On a large GPU all of it takes about an hour with eight seeds and --at-once 5.",
        "gridsum compare --out FOLDER [options]",
        "examples:\n"
        "  gridsum compare --out runs/systems --seeds 0-7 --at-once 5\n"
        "  gridsum compare --out runs/systems --only dngpu lstm-act/own --minutes 9\n"
        "  gridsum compare --out runs/trial --seeds 0-1 --epochs 1 --samples 8",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where trainings, records and the page go")
    parser.add_argument("--seeds", type=read_seeds, default=(0,), metavar="SEEDS", help="such as 0-7 (default: 0)")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="SYSTEM",
        help="these alone, in this order, such as dngpu or dngpu/own (default: all)",
    )
    parser.add_argument(
        "--minutes", type=seconds, metavar="M", help="stop after so many minutes; the same command goes on"
    )
    parser.add_argument(
        "--epochs", type=whole_number(1, 10**6), metavar="N", help="train for so many epochs (default: its own number)"
    )
    parser.add_argument("--samples", type=whole_number(1, 10**6), metavar="N", help="problems of each suite")
    parser.add_argument(
        "--at-once",
        type=whole_number(1, 64),
        default=1,
        metavar="N",
        help="so many systems side by side, each in a process of its own; they share the machine and its GPU, faster "
        "where NVIDIA's multi-process service runs (default: 1)",
    )
    add_commit(parser)
    add_device(parser, "auto")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    from gridsum.baselines.campaign import LEARNING, PAGE, RECORDS, OutOfTime, chosen, work
    from gridsum.baselines.page import APPENDIX, CURVES, PICTURE, appendix, page
    from gridsum.cli.table import record_files
    from gridsum.evaluation.records import read
    from gridsum.io.disk import write_atomically

    folder, device = Path(options.out), pick_device(options.device)
    until = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    changes = {} if options.epochs is None else {"training.epochs": options.epochs}
    asked = (folder, options.seeds, device, changes, _say, until, options.samples, options.commit or source_commit())
    pieces = chosen(options.only)
    try:
        if options.at_once == 1:
            for piece in pieces:
                work(piece, *asked)
        else:
            _side_by_side(options.at_once, pieces, asked)
    except OutOfTime:
        _say("the time is over; what is done is kept, and the same command goes on")
    except KeyboardInterrupt:
        _say("stopped; what is done is kept, and the same command goes on")
        raise
    except OSError as error:
        raise unwritable(error.filename or folder, error) from None
    records = folder / RECORDS
    if records.exists():
        found = read([*record_files(None), records])
        for part in (APPENDIX, PICTURE):
            (folder / part).parent.mkdir(exist_ok=True)
        write_atomically(folder / APPENDIX, appendix(found).encode())
        write_atomically(folder / PAGE, page(found).encode())
        _say(f"the page is {folder / PAGE}, made of {records} and of the records of ours that come with gridsum")
        _say(f"its pictures: gridsum figure systems --records exact base {records} --out {folder / PICTURE}")
        _say(f"and gridsum figure learning --records {folder / LEARNING} --out {folder / CURVES}")
    return 0


def _say(text: str) -> None:
    tell(f"gridsum: {text}")


def _side_by_side(at_once: int, pieces: "Sequence[Piece]", asked: tuple[Any, ...]) -> None:
    """All pieces, so many at once. One that fails is told of when the others are done."""
    from gridsum.baselines.campaign import OutOfTime, work
    from gridsum.study.processes import Processes

    failed: list[Exception] = []
    with Processes(at_once) as processes:
        running = {processes.call(str(piece), work, (piece, *asked)) for piece in pieces}
        while running:
            done = processes.ended()
            running.difference_update(done)
            for job in done:
                try:
                    job.result()
                except OutOfTime as error:
                    failed.append(error)
                except Exception as error:
                    failed.append(error)
                    _say(f"{job.process.name}: {error}")
    if failed:
        raise failed[0]
