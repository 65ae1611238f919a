"""Curves: scores against the number of terms, steps over a training run."""

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gridsum.evaluation.records import Record
from gridsum.evaluation.tables import Cells, Row, arrange, labels_of, marks_of
from gridsum.training.folders import FolderError, read_setup
from gridsum.training.summary import read_summary


class CurveError(ValueError):
    """A curve that the files do not allow; the message says what to do first."""


@dataclass(frozen=True)
class TermsCurve:
    """One model on sums of more and more terms."""

    label: str
    variant: str
    digits: str
    """The digits of each term, as the suites name them."""
    records: dict[int, Record]
    """By the number of terms, in order."""


_TERMS_SUITE = re.compile(r"(?P<terms>[0-9]+)x(?P<digits>[0-9]+|\[[0-9]+,[0-9]+\])")
_TERMS_COMMAND = "gridsum evaluate --suite terms --out records.jsonl"


def terms_curves(records: Iterable[Record]) -> list[TermsCurve]:
    """A curve for each model that has records on several suites `NxD` with the same digits D and different N.

    Where a model has several digits to choose from, the curve of most points counts.
    """
    records = [record for record in records if _TERMS_SUITE.fullmatch(record.suite)]
    by_row = _in_one_way(arrange(records, {record.suite for record in records}))
    curves: dict[Row, TermsCurve] = {}
    for row, by_suite in by_row.items():
        by_digits: dict[str, dict[int, Record]] = {}
        for suite, record in by_suite.items():
            parts = _TERMS_SUITE.fullmatch(suite)
            assert parts is not None, "only such suites were kept"
            by_digits.setdefault(parts["digits"], {})[int(parts["terms"])] = record
        digits, found = max(by_digits.items(), key=lambda item: len(item[1]))
        if len(found) > 1:
            curves[row] = TermsCurve("", row.variant, digits, dict(sorted(found.items())))
    if not curves:
        raise CurveError(
            "the records hold no model on sums of different numbers of terms of the same length (2x5, 3x5, …); "
            f"evaluate these first: {_TERMS_COMMAND}"
        )
    return [replace(curve, label=label) for curve, label in zip(curves.values(), _labels(list(curves)), strict=True)]


def _in_one_way(by_row: Cells) -> Cells:
    """Where a run was measured on several choices of grids, those on every size are shown alone."""
    every = {(row.model, row.seed) for row in by_row if row.grids == "every"}
    return {row: found for row, found in by_row.items() if row.grids == "every" or (row.model, row.seed) not in every}


def _labels(rows: Sequence[Row]) -> list[str]:
    """As short as tells the curves apart."""
    by_name = [row.model for row in rows]
    by_seed = [f"{row.model} seed {row.seed}" for row in rows]
    whole = [" ".join(marks_of(row, labels_of(rows))) for row in rows]
    return next((labels for labels in (by_name, by_seed) if len(set(labels)) == len(rows)), whole)


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
        raise CurveError(f"{folder} is not a training folder (it has no config.json); name one that gridsum train made")
    try:
        config, seeds = read_setup(folder)
        runs = [run.steps for run in read_summary(folder).runs.values()]
    except FolderError as error:
        raise CurveError(str(error)) from None
    epochs = range(1, max(map(len, runs), default=0) + 1)
    if not epochs:
        raise CurveError(f"no epoch is finished in {folder} yet; train it first")
    reached = [[steps[epoch - 1] for steps in runs if len(steps) >= epoch] for epoch in epochs]
    return TrainingCurve(
        config.variant,
        config.objective.regulariser,
        np.array(epochs),
        np.array([statistics.fmean(values) for values in reached]),
        np.array([_sd(values) for values in reached]),
        len(seeds),
    )


def training_curves(folders: Sequence[Path]) -> list[TrainingCurve]:
    """Of several folders, each called by the shortest of variant, folder and path that tells all of them apart."""
    curves = [training_curve(folder) for folder in folders]
    variants, paths = [curve.label for curve in curves], [str(folder) for folder in folders]
    callings = (variants, [folder.resolve().name for folder in folders], paths)
    labels = next((names for names in callings if len(set(names)) == len(names)), paths)
    return [replace(curve, label=label) for curve, label in zip(curves, labels, strict=True)]


def _sd(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0
