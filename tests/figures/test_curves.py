import dataclasses
import json
import statistics
from pathlib import Path

import pytest

from gridsum.analysis import FigureError
from gridsum.evaluation.records import Record
from gridsum.figures.curves import terms_curves, training_curve
from gridsum.training.folders import read_steps
from tests.oracles.records import make_record

BASE = Path(__file__).parents[2] / "results" / "base"


def record(suite: str, right: int = 50, model: str = "base") -> Record:
    counts = {"samples": 100, "sequences_right": right, "chars_valid": 500, "chars_right": 400 + right}
    return make_record(model=model, variant=model, seed=0, suite=suite, **counts)


def test_scores_are_those_of_the_last_records_in_the_order_of_terms():
    base = [record("10x5", 10), record("2x5", 1), record("2x5", 90), record("[5,6]x[1,10]"), record("2x15")]
    curves = terms_curves([*base, record("2x5", model="noGroups")])
    assert [curve.label for curve in curves] == ["base"], "a single point is not a curve"
    assert list(curves[0].records.items()) == [(2, base[2]), (10, base[0])]


def test_runs_of_one_model_are_told_apart_by_their_seeds():
    twins = [dataclasses.replace(record(suite), seed=seed) for suite in ("2x5", "3x5") for seed in (3, 5)]
    assert [curve.label for curve in terms_curves(twins)] == ["base seed 3", "base seed 5"]


def test_records_without_a_curve_say_what_to_evaluate():
    with pytest.raises(FigureError, match="gridsum evaluate --suite terms"):
        terms_curves([record("2x5"), record("3x7")])


def test_a_training_curve_is_mean_and_spread_of_the_runs():
    curve = training_curve(BASE)
    runs = read_steps(BASE).values()
    assert (curve.label, curve.regulariser, curve.seeds) == ("base", "explore-reinforce", 10)
    assert curve.epochs.tolist() == list(range(1, 511))
    for index in (0, 250, 509):
        values = [steps[index] for steps in runs]
        assert curve.mean[index] == pytest.approx(statistics.fmean(values))
        assert curve.sd[index] == pytest.approx(statistics.stdev(values))


def test_a_single_seed_has_no_spread(tmp_path):
    setup = json.loads((BASE / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(setup | {"seeds": [3]}))
    (tmp_path / "seed-3").mkdir()
    (tmp_path / "seed-3" / "metrics.jsonl").write_text('{"epoch": 1, "steps": 2.5}\n{"epoch": 2, "ste')
    curve = training_curve(tmp_path)
    assert (curve.epochs.tolist(), curve.mean.tolist(), curve.sd.tolist()) == ([1], [2.5], [0])
    (tmp_path / "seed-3" / "metrics.jsonl").write_text("")
    with pytest.raises(FigureError, match="no epoch is finished"):
        training_curve(tmp_path)
    with pytest.raises(FigureError, match="name one that gridsum train made"):
        training_curve(tmp_path / "seed-3")
