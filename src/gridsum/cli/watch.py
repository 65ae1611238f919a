"""`gridsum watch`: the curves of a training, as it goes on."""

import json
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from gridsum.cli.output import print_text, terminal_width
from gridsum.cli.parsing import Parser, UsageError, seconds

_BLOCKS = "▁▂▃▄▅▆▇█"
_CURVE = 40
"""Letters of a curve."""
_CLEAR = "\x1b[H\x1b[J"
_LOSSES, _SHARES = ("total", "loss"), ("accuracy", "results")


class Seen(NamedTuple):
    """What stands in a training folder."""

    variant: str
    of: int
    """How many epochs, or training steps of exact, there are to do."""
    logs: dict[int, list[dict[str, Any]]]
    proofs: dict[int, bool]

    @property
    def ended(self) -> bool:
        if self.variant == "exact":
            return len(self.proofs) == len(self.logs)
        return all(log and log[-1]["epoch"] >= self.of for log in self.logs.values())


def _parser() -> Parser:
    parser = Parser(
        "watch",
        "Show how a training is doing: for each seed its loss, the share right in training, and the share of whole "
        "results right on problems that are held out, as numbers and as curves. It looks again and again until the "
        "training has ended; it may be started before, during or after it.",
        "gridsum watch FOLDER [--once] [--json]",
        "A curve goes from 0 (▁) to 1 (█). The numbers are those of\n"
        "FOLDER/seed-*/metrics.jsonl. TensorBoard shows them too, of a training with\n"
        "--tensorboard: tensorboard --logdir FOLDER\n\n"
        "examples:\n"
        "  gridsum watch runs/base\n"
        "  gridsum watch runs/exact --once",
    )
    parser.add_argument("folder", metavar="FOLDER", help="a training folder, as gridsum train --out names it")
    parser.add_argument("--once", action="store_true", help="look once (so it does into a file or a pipe)")
    parser.add_argument("--json", action="store_true", help="print what is known as a JSON object, once")
    parser.add_argument("--every", type=seconds, default=2.0, metavar="SECONDS", help="between looks (default: 2)")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    folder = Path(options.folder)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; name one that gridsum train --out has made")
    if options.json:
        seen = look(folder)
        print_text(json.dumps({**seen._asdict(), "ended": seen.ended}) + "\n")
        return 0
    live = sys.stdout.isatty() and not options.once
    while True:
        seen = look(folder)
        print_text((_CLEAR if live else "") + drawn(folder, seen, terminal_width()))
        if not live or seen.ended:
            return 0
        time.sleep(options.every)


def look(folder: Path) -> Seen:
    from gridsum.training.folders import holds_exact, read_exact_setup, read_metrics, read_setup, seed_folder

    if holds_exact(folder):
        from gridsum.training.phases import total_steps

        config, seeds = read_exact_setup(folder)
        variant, of = "exact", total_steps(config)
    else:
        config, seeds = read_setup(folder)
        variant, of = config.variant, config.training.epochs
    logs = {seed: read_metrics(folder, seed) for seed in seeds}
    proofs = {}
    for seed in seeds:
        path = seed_folder(folder, seed) / "proof.json"
        if path.exists():
            proofs[seed] = bool(json.loads(path.read_text())["proved"])
    return Seen(variant, of, logs, proofs)


def drawn(folder: Path, seen: Seen, width: int | None = None) -> str:
    """A line and a curve for each seed."""
    from gridsum.evaluation.rendering import Table, to_text

    rows = []
    for seed, log in seen.logs.items():
        held = [line["held_out"] for line in log if "held_out" in line]
        right = _values(log, _SHARES)
        state = "" if seed not in seen.proofs else "proved" if seen.proofs[seed] else "not proved"
        numbers = [_number(_values(log, _LOSSES)), _number(right), _number(held)]
        done = f"{log[-1]['epoch'] if log else 0} of {seen.of}"
        rows.append((str(seed), done, *numbers, curve(held or right), state))
    unit = "training step" if seen.variant == "exact" else "epoch"
    header = ("seed", unit, "loss", "right", "held out", "curve", "")
    if not seen.proofs:
        header, rows = header[:-1], [row[:-1] for row in rows]
    caption = "Right: in training. Held out, and the curve: whole results right on problems never trained on."
    return to_text(Table(f"{seen.variant} in {folder}", caption, header, tuple(rows)), width)


def _values(log: list[dict[str, Any]], names: Sequence[str]) -> list[float]:
    return [line[name] for line in log for name in names if name in line]


def _number(values: list[float]) -> str:
    return f"{values[-1]:.3f}" if values else "–"


def curve(values: Sequence[float], most: int = _CURVE) -> str:
    """Shares over time, at most so many letters: each the mean of a stretch.

    >>> curve([0, 0.25, 0.5, 0.75, 1])
    '▁▃▅▇█'
    """
    if not values:
        return "–"
    count = min(most, len(values))
    edges = [len(values) * part // count for part in range(count + 1)]
    means = [sum(values[low:high]) / (high - low) for low, high in pairwise(edges)]
    return "".join(_BLOCKS[min(len(_BLOCKS) - 1, max(0, int(mean * len(_BLOCKS))))] for mean in means)
