"""What can be seen of a training run, a reproduction or a sweep while it goes on, from its folder alone."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from gridsum.config.registry import find
from gridsum.evaluation.rendering import Table, to_text
from gridsum.io.disk import holder
from gridsum.io.limits import duration
from gridsum.study.jobs import outcomes_of
from gridsum.training.folders import FolderError, read_metrics, read_setup

_BLOCKS = "▁▂▃▄▅▆▇█"


class Seen(NamedTuple):
    """What stands in a training folder."""

    variant: str
    of: int
    """How many epochs there are to do."""
    logs: dict[int, list[dict[str, Any]]]
    proofs: dict[int, bool]
    ended: bool


def overview(folder: Path) -> str:
    """A line for each training run of a reproduction or a sweep that has begun."""
    rows = []
    for place in sorted(path.parent for path in folder.rglob("config.json")):
        seen = look(place)
        last = [log[-1] for log in seen.logs.values() if log]
        held = [shares[-1] for shares in map(_held_out, seen.logs.values()) if shares]
        done = max((line["epoch"] for line in last), default=0)
        state = "done" if seen.ended else "not running"
        if not seen.ended and (who := holder(place)):
            left = sum(line["seconds"] for line in last) / max(1, len(last)) * (seen.of - done)
            state = f"{who}, about {duration(left)} left" if last else who
        if seen.proofs:
            state += f", {sum(seen.proofs.values())} of {len(seen.logs)} proved"
        rows.append((str(place.relative_to(folder)), f"{done} of {seen.of}", _number(held and [fmean(held)]), state))
    if not rows:
        raise FolderError(f"no training run, reproduction or sweep in {folder}; name the --out of one")
    caption = "Held out: whole results right on problems never trained on, the mean over the seeds."
    return to_text(Table(f"training runs in {folder}", caption, ("run", "epoch", "held out", "state"), tuple(rows)))


def look(folder: Path) -> Seen:
    config, seeds = read_setup(folder)
    logs = {seed: read_metrics(folder, seed) for seed in seeds}
    of, outcomes = config.training.epochs, outcomes_of(folder, config, seeds)
    proofs = {result["seed"]: bool(result["proved"]) for result in outcomes}
    trained = all(log and log[-1]["epoch"] >= of for log in logs.values())
    ended = len(proofs) == len(seeds) if find(config.variant).outcome else trained
    return Seen(config.label, of, logs, proofs, ended)


def drawn(folder: Path, seen: Seen) -> str:
    """A line and a curve for each seed."""
    rows = []
    for seed, log in seen.logs.items():
        held, right = _held_out(log), [line["accuracy"] for line in log]
        state = "" if seed not in seen.proofs else "proved" if seen.proofs[seed] else "not proved"
        numbers = [_number([line["total"] for line in log]), _number(right), _number(held)]
        done = f"{log[-1]['epoch'] if log else 0} of {seen.of}"
        rows.append((str(seed), done, *numbers, curve(held or right), state))
    header = ("seed", "epoch", "loss", "right", "held out", "curve", "")
    if not seen.proofs:
        header, rows = header[:-1], [row[:-1] for row in rows]
    caption = "Right: in training. Held out, and the curve: whole results right on problems never trained on."
    return to_text(Table(f"{seen.variant} in {folder}", caption, header, tuple(rows)))


def _held_out(log: list[dict[str, Any]]) -> list[float]:
    return [line["held_out"] for line in log if "held_out" in line]


def _number(values: list[float]) -> str:
    return f"{values[-1]:.3f}" if values else "–"


def curve(values: Sequence[float], most: int = 40) -> str:
    """Shares over time, at most so many letters: each the mean of a stretch.

    >>> curve([0, 0.25, 0.5, 0.75, 1])
    '▁▃▅▇█'
    """
    if not values:
        return "–"
    stretch = -(-len(values) // most)
    means = [fmean(values[at : at + stretch]) for at in range(0, len(values), stretch)]
    return "".join(_BLOCKS[min(len(_BLOCKS) - 1, max(0, int(mean * len(_BLOCKS))))] for mean in means)
