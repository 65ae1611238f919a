"""`gridsum watch`: the curves of a training run, or the jobs of a reproduction or a sweep, as they go on."""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from gridsum.cli.options import Folder, Seconds, UsageError, flag, option, required
from gridsum.cli.output import print_text, terminal_width

_CLEAR = "\x1b[H\x1b[J"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Show how a training run is doing: for each seed its loss, the share right in training, and the share of whole
    results right on problems that are held out, as numbers and as curves. For a reproduction or a sweep, show the jobs
    that are done, running (where, and for how much longer) or waiting. The display is renewed until all work is done.
    Start it before, during or after the work, on any machine that sees the folder.

    A curve goes from 0 (▁) to 1 (█). The numbers are those of
    FOLDER/seed-*/metrics.jsonl, a JSON object a line.

    examples:
      gridsum watch runs/base
      gridsum watch runs/exact --once
      gridsum watch mine --all
    """

    folder: Folder = required("the --out of gridsum train, reproduce or sweep", argument=True)
    once: bool = flag("look once (the default when the output is a file or a pipe)")
    all: bool = flag("also show jobs that are done or wait")
    json: bool = flag("print the state of a training run as JSON, once")
    every: Seconds = option("between looks (default: 2)", 2.0)


def run(options: Options) -> int:
    from gridsum.study import watch

    folder = Path(options.folder)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {options.folder}; name one that gridsum train --out has made")
    live = sys.stdout.isatty() and not options.once and not options.json
    while True:
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
