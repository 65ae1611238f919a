"""A training run in few numbers: what documents and figures need of its logs.

    FOLDER/summary.json   for each seed the epochs done, the last accuracy, the mean steps of every epoch;
                          and the seconds that all epochs took

A summary is made of the logs. Where logs have not been kept, the summary that was written stands for them.
"""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gridsum.io.disk import write_atomically
from gridsum.training.folders import FolderError, read_metrics, read_setup

_SUMMARY = "summary.json"


@dataclass(frozen=True)
class RunSummary:
    """One seed."""

    epochs: int
    accuracy: float | None
    """By characters on the training problems of the last epoch; None where nothing is known of it."""
    steps: tuple[float, ...]
    """The mean recurrent steps of every epoch."""


@dataclass(frozen=True)
class Summary:
    """A training folder's runs by seed, and the time of all epochs; None where the logs lack it."""

    runs: dict[int, RunSummary]
    seconds: float | None


def read_summary(folder: Path) -> Summary:
    """Of a training folder, from its logs or from what was written of them."""
    _, seeds = read_setup(folder)
    try:
        logs = {seed: read_metrics(folder, seed) for seed in seeds}
        return Summary({seed: _summarised(log) for seed, log in logs.items()}, _seconds(list(logs.values())))
    except FileNotFoundError as missing:
        if not (folder / _SUMMARY).exists():
            raise FolderError(f"{missing.filename} is missing; copy the folder whole, with every seed's log") from None
    try:
        data = json.loads((folder / _SUMMARY).read_text())
        runs = {
            int(seed): RunSummary(run["epochs"], run["accuracy"], tuple(run["steps"]))
            for seed, run in data["runs"].items()
        }
        return Summary(runs, data["seconds"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FolderError(f"{folder / _SUMMARY} cannot be read as a summary: {error!r}") from None


def write_summary(folder: Path) -> None:
    """Keep a summary beside the logs, so that it stays where they do not."""
    content = json.dumps(asdict(read_summary(folder)), separators=(",", ":"))
    write_atomically(folder / _SUMMARY, content.replace('},"', '},\n"').encode() + b"\n")


def _summarised(log: list[dict[str, Any]]) -> RunSummary:
    last = log[-1] if log else {"epoch": 0}
    steps = tuple(_short(line["steps"]) for line in log)
    return RunSummary(int(last["epoch"]), _short(last["accuracy"]) if "accuracy" in last else None, steps)


def _seconds(logs: list[list[dict[str, Any]]]) -> float | None:
    """The runs of one fleet log the same times; where seeds were trained as several fleets, those add up."""
    fleets: dict[float | None, list[float]] = {}
    for log in logs:
        times = [line.get("seconds", math.nan) for line in log]
        first = times[0] if times else None
        fleets[first] = max(times, fleets.get(first, []), key=len)
    total = math.fsum(time for times in fleets.values() for time in times)
    return round(total, 1) if total > 0 else None  # no number where a time is missing


def _short(value: float) -> float:
    """Five significant digits are kept."""
    return float(f"{value:.5g}")
