"""Curves: scores against the number of terms, steps over a training run."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np

from gridsum.analysis import AnalysisError
from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import arrange
from gridsum.training.folders import read_setup, read_steps


@dataclass(frozen=True)
class TermsCurve:
    """One model on sums of more and more terms of five digits."""

    label: str
    variant: str
    records: dict[int, Record]
    """By the number of terms, in order."""


def terms_curves(records: Iterable[Record]) -> list[TermsCurve]:
    """A curve for each model that has records on two suites or more of the collection `terms`.

    Where a run was measured on several choices of grids, those on every size are shown alone.
    """
    terms = {suite.name: suite.space.terms[0] for suite in COLLECTIONS["terms"]}
    cells = {row: found for row, found in arrange(records, terms).items() if len(found) > 1}
    every = {(row.model, row.seed) for row in cells if row.grids == "every"}
    rows = [row for row in cells if row.grids == "every" or (row.model, row.seed) not in every]
    if not rows:
        raise AnalysisError(
            "the records hold no model on sums of different numbers of terms of five digits (2x5, 3x5, …); "
            "evaluate these first: gridsum evaluate --suite terms --out records.jsonl"
        )
    of_models = len({row.model for row in rows}) == len(rows)
    return [
        TermsCurve(
            row.model if of_models else f"{row.model} seed {row.seed}",
            row.variant,
            dict(sorted((terms[name], record) for name, record in cells[row].items())),
        )
        for row in rows
    ]


@dataclass(frozen=True)
class TrainingCurve:
    """The mean recurrent steps of a training folder's seeds over the epochs."""

    label: str
    regulariser: str
    epochs: np.ndarray
    """[T]"""
    mean: np.ndarray
    """[T], over the seeds that reached the epoch."""
    sd: np.ndarray
    """[T], the sample's (n − 1); 0 for a single seed."""
    seeds: int


def training_curve(folder: Path) -> TrainingCurve:
    """Of all seeds of a training folder, from their logs or its summary."""
    if not (folder / "config.json").exists():
        raise AnalysisError(
            f"{folder} is not a training folder (it has no config.json); name one that gridsum train made"
        )
    config, seeds = read_setup(folder)
    runs = read_steps(folder).values()
    reached = [[steps for steps in of_all if steps is not None] for of_all in zip_longest(*runs)]
    if not reached:
        raise AnalysisError(f"no epoch is finished in {folder} yet; train it first")
    epochs = np.arange(1, len(reached) + 1)
    means = np.array([statistics.fmean(values) for values in reached])
    sds = np.array([statistics.stdev(values) if len(values) > 1 else 0.0 for values in reached])
    return TrainingCurve(folder.resolve().name, config.objective.regulariser, epochs, means, sds, len(seeds))
