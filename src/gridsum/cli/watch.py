"""Show how a training run is doing: for each seed its loss, the share right in training, and the share of whole results
right on problems that are held out, as numbers and as curves. Of a reproduction or a sweep, show its training runs:
how far each is, which process works on it (one that was killed is still named), and for how much longer. The display
is updated until the training is done; into a file or a pipe it is printed once. It can be started during or after the
work, on any machine that sees the folder.

A curve goes from 0 (▁) to 1 (█). The numbers are those of
FOLDER/seed-*/metrics.jsonl, one JSON object per line.

examples:
  gridsum watch runs/base
  gridsum watch runs/exact | cat
  gridsum watch mine
"""

import sys
import time
from pathlib import Path

from gridsum.cli.options import Options, Parser, UsageError
from gridsum.cli.output import print_text

_CLEAR, _SECONDS = "\x1b[H\x1b[J", 2.0


def add_options(parser: Parser) -> None:
    parser.option("folder FOLDER", "the --out of gridsum train, reproduce or sweep", required=True)


def run(options: Options) -> None:
    from gridsum.study import watch

    place = Path(options.folder)
    if not place.is_dir():
        raise UsageError(f"{options.folder}: no such folder; name the --out of gridsum train, reproduce or sweep")
    live = sys.stdout.isatty()
    while True:
        if (place / "config.json").exists():
            seen = watch.look(place)
            shown, ended = watch.drawn(place, seen), seen.ended
        else:
            shown, ended = watch.overview(place), False
        print_text((_CLEAR if live else "") + shown)
        if not live or ended:
            return
        time.sleep(_SECONDS)
