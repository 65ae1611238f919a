"""All systems trained and measured, in pieces that can be stopped and taken up again.

FOLDER/NAME-SETTING/     a training folder
FOLDER/records.jsonl     what all of them came to
FOLDER/learning.jsonl    how they learned, epoch by epoch
FOLDER/comparison.md     the page that is made of it, and in FOLDER/appendix every number
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from gridsum.baselines.evaluation import load
from gridsum.baselines.fleet import SystemFleet
from gridsum.baselines.learning import note
from gridsum.baselines.registry import SYSTEMS, find
from gridsum.config.fields import override
from gridsum.config.paper import ConfigError
from gridsum.evaluation.evaluate import evaluate
from gridsum.evaluation.records import append, read
from gridsum.evaluation.suites import COLLECTIONS, Suite
from gridsum.io.names import did_you_mean
from gridsum.training.folders import read_setup_of, trained_epochs
from gridsum.training.loop import Epoch, news, train

RECORDS, LEARNING, PAGE = "records.jsonl", "learning.jsonl", "comparison.md"
_SAMPLES, _FEW_SAMPLES, _LONG = 256, 128, 300
_DIGITS = ("2x5", "2x8", "2x10", "2x20", "2x50", "2x200")
_TERMS = ("4x5", "5x5", "6x5", "8x5", "10x5")
_CARRIES = ("nines+1:2x[1,10]", "nines+1:2x[1,100]")
Say = Callable[[str], None]


class OutOfTime(Exception):
    """The time that was allowed is over; what is done is kept."""


class Piece(NamedTuple):
    """One system in one setting."""

    system: str
    setting: str

    def __str__(self) -> str:
        return f"{self.system}/{self.setting}"

    @property
    def folder(self) -> str:
        return f"{self.system}-{self.setting}"


PIECES = [Piece(name, setting) for setting in ("paper", "own") for name in SYSTEMS]


def chosen(names: Sequence[str]) -> list[Piece]:
    """The pieces of these names, such as dngpu or dngpu/own, in that order; all if there is none."""
    for name in names:
        known = [*SYSTEMS, *map(str, PIECES)]
        if name not in known:
            mend = did_you_mean(name, known, f"there are {', '.join(SYSTEMS)}, each also as NAME/own and NAME/paper")
            raise ConfigError(f"there is no system {name!r}; {mend}")
    named = [piece for name in names for piece in PIECES if name in (piece.system, str(piece))]
    return list(dict.fromkeys(named)) or PIECES


def suites_for(piece: Piece) -> list[Suite]:
    """What a piece is measured on: the paper's table, more digits, more terms, long carries; or what its task says."""
    task = find(piece.system).configured(piece.setting).task.task
    if task.most_terms is not None:
        return [Suite.parse(name) for name in task.suites]
    return [*COLLECTIONS["comparison"], *(Suite.parse(name) for name in (*_DIGITS, *_TERMS, *_CARRIES))]


def work(
    piece: Piece,
    folder: Path,
    seeds: Sequence[int],
    device: torch.device,
    changes: Mapping[str, Any],
    say: Say,
    until: float | None = None,
    samples: int | None = None,
    commit: str | None = None,
) -> None:
    """Train a piece and measure it on what it has not been measured on, as far as the time goes."""
    place, started = folder / piece.folder, time.monotonic()
    system = find(piece.system)
    config = override(system.configured(piece.setting), dict(changes))
    resume = (place / "config.json").exists()
    if resume:
        config, seeds = read_setup_of(place, system.config)

    def check() -> None:
        if until is not None and time.monotonic() > until:
            raise OutOfTime

    def report(epoch: Epoch) -> None:
        say(f"{piece}: epoch {epoch.number} of {epoch.of}, {news(epoch)}, {epoch.seconds:.0f} s")
        note(folder / LEARNING, str(piece), config, epoch)
        check()

    if not resume or trained_epochs(place) < config.training.epochs:
        train(config, seeds, place, device, resume, report, say, fleet=SystemFleet)
        say(f"{piece}: trained in {time.monotonic() - started:.0f} s")
    runs, records = replace(load(str(place), device), name=piece.folder), folder / RECORDS
    done = {record.suite for record in read([records]) if record.variant == str(piece)} if records.exists() else set()
    for suite in suites_for(piece):
        if suite.name in done or not runs.network.fits(suite.space):
            continue
        check()
        begun = time.monotonic()
        count = samples or (_FEW_SAMPLES if suite.space.digits[1] > _LONG else _SAMPLES)
        found = evaluate(runs, suite, count, commit=commit)
        append(records, found)
        best = max(record.seq for record in found)
        say(f"{piece}: {suite.name}, best seed {best:.3f}, {time.monotonic() - begun:.1f} s")
