"""`gridsum watch`: the curves of a training, or the jobs of a reproduction or a sweep, as they go on."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gridsum.cli.output import print_text, terminal_width
from gridsum.cli.parsing import Parser, UsageError, seconds

_CLEAR = "\x1b[H\x1b[J"


def _parser() -> Parser:
    parser = Parser(
        "watch",
        "Show how a training is doing: for each seed its loss, the share right in training, and the share of whole "
        "results right on problems that are held out, as numbers and as curves. Of a reproduction or a sweep, show its "
        "jobs: what is done, what runs where and how long it will still take, what waits. It looks again and again "
        "until all is done; it may be started before, during or after it, on any machine that sees the folder.",
        "gridsum watch FOLDER [--once] [--all] [--json]",
        "A curve goes from 0 (▁) to 1 (█). The numbers are those of\n"
        "FOLDER/seed-*/metrics.jsonl. TensorBoard shows them too, of a training with\n"
        "--tensorboard: tensorboard --logdir FOLDER\n\n"
        "examples:\n"
        "  gridsum watch runs/base\n"
        "  gridsum watch runs/exact --once\n"
        "  gridsum watch mine --all\n"
        "  gridsum watch s3://bucket/mine",
    )
    parser.add_argument("folder", metavar="FOLDER", help="the --out of gridsum train, reproduce or sweep")
    parser.add_argument("--once", action="store_true", help="look once (so it does into a file or a pipe)")
    parser.add_argument("--all", action="store_true", help="also show jobs that are done or wait")
    parser.add_argument("--json", action="store_true", help="print what is known of a training as JSON, once")
    parser.add_argument("--every", type=seconds, default=2.0, metavar="SECONDS", help="between looks (default: 2)")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    from gridsum.study import watch
    from gridsum.study.storage import folder_of, is_address

    if not is_address(options.folder) and not Path(options.folder).is_dir():
        raise UsageError(f"there is no folder {options.folder}; name one that gridsum train --out has made")
    live = sys.stdout.isatty() and not options.once and not options.json
    while True:
        with folder_of(options.folder, whole=False) as (folder, _):
            jobs = watch.jobs_in(folder)
            if jobs:
                lines, ended = watch.status(folder, jobs, options.all)
                shown = "\n".join(lines) + "\n"
            else:
                seen = watch.look(folder)
                shown, ended = watch.drawn(folder, seen, terminal_width()), seen.ended
                if options.json:
                    shown = json.dumps({**seen._asdict(), "ended": ended}) + "\n"
        print_text((_CLEAR if live else "") + shown)
        if not live or ended:
            return 0
        time.sleep(options.every)
