"""Which runs are shipped, under which names, with which scores."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.records import append, read
from gridsum.io.names import MODELS
from gridsum.model.store import SEEDS, facts, load_runs
from gridsum.study.results import load_results
from gridsum.study.selection import DIGITS, TERMS
from gridsum.study.shipping import ShippingError, ship, shipments
from tests.study.conftest import rewrite_records


def _make_best(folder: Path, training: str, seed: int) -> None:
    """Let one run have every validation problem right, and no other of its training."""
    path = folder / training / "validation.jsonl"
    records = read([path])
    path.unlink()
    append(
        path,
        [
            dataclasses.replace(record, batches=None, sequences_right=record.samples if record.seed == seed else 0)
            for record in records
        ],
    )


def test_every_variant_is_shipped_with_the_scores_of_its_run(quick: Path, tmp_path: Path):
    shipped = ship(load_results(quick), tmp_path)
    assert set(PAPER_VARIANTS) <= set(shipped)
    for name, run in shipped.items():
        model = load_runs(name, [tmp_path / f"{name}.safetensors"])
        assert model.seeds == (run.seed,)
        assert model.config.variant == run.training.config.variant
        weights = quick / run.training.name / f"seed-{run.seed}" / "weights.safetensors"
        assert (tmp_path / f"{name}.safetensors").read_bytes() == weights.read_bytes()
        records = read([tmp_path / f"{name}.jsonl"])
        assert {(record.model, record.seed) for record in records} == {(name, run.seed)}
        assert {record.suite for record in records} == {record.suite for record in run.records}
    seeds = read([tmp_path / SEEDS])
    assert {(record.model, record.seed) for record in seeds} == {
        (name, seed) for name in PAPER_VARIANTS for seed in (0, 1)
    }


def test_the_run_that_is_compared_with_the_papers_is_shipped(copied: Path):
    """For what the paper shows it for: base for terms. It is chosen before it is trained further."""
    shutil.rmtree(copied / "base-overtrained")
    shutil.copytree(copied / "base", copied / "base-overtrained")  # which has both runs for certain
    none, all_right = {"sequences_right": 0, "chars_right": 0}, {"sequences_right": 2, "samples": 2}
    rewrite_records(copied / "base" / "validation.jsonl", {(0, DIGITS): all_right, (1, TERMS): all_right})
    rewrite_records(copied / "base" / "validation.jsonl", {(1, DIGITS): none, (0, TERMS): none})
    _make_best(copied, "base-overtrained", 0)
    run = shipments(load_results(copied))["base"]
    assert (run.training.name, run.seed) == ("base-overtrained", 1)


def test_of_other_variants_the_run_that_is_best_at_both_is_shipped(copied: Path):
    for seed in (0, 1):
        _make_best(copied, "SASA", seed)
        run = shipments(load_results(copied))["SASA"]
        assert (run.training.name, run.seed) == ("SASA", seed)


def test_only_what_is_asked_for_is_shipped(quick: Path):
    assert set(shipments(load_results(quick))) <= set(MODELS)
    assert list(shipments(load_results(quick), ["SASA"])) == ["SASA"]


def test_what_is_not_measured_is_not_shipped_and_nothing_else_either(copied: Path, tmp_path: Path):
    (copied / "records" / "SASA.jsonl").unlink()
    with pytest.raises(ShippingError, match="no scores yet of SASA"):
        ship(load_results(copied), tmp_path / "shipped")
    assert not (tmp_path / "shipped").exists()


def test_what_is_not_validated_is_left_out(copied: Path, tmp_path: Path):
    (copied / "SASA" / "validation.jsonl").unlink()
    assert "SASA" not in shipments(load_results(copied))
    for path in copied.glob("*/validation.jsonl"):
        path.unlink()
    with pytest.raises(ShippingError, match="no validated runs"):
        ship(load_results(copied), tmp_path)


def test_without_overtraining_the_standard_run_is_shipped(copied: Path):
    shutil.rmtree(copied / "base-overtrained")
    assert shipments(load_results(copied))["base"].training.name == "base"


def test_an_overtrained_model_has_the_epochs_of_both_trainings(quick: Path):
    seed = load_results(quick).trained["base-overtrained"].seeds[0]
    path = quick / "base-overtrained" / f"seed-{seed}" / "weights.safetensors"
    assert facts(load_runs("base-overtrained", [path]))["epochs"] == 2 + 1


def test_weights_that_have_not_been_kept_cannot_be_shipped(copied: Path, tmp_path: Path):
    for weights in (copied / "SASA").glob("seed-*/weights.safetensors"):
        weights.unlink()
    with pytest.raises(ShippingError, match="the weights of SASA have not been kept"):
        ship(load_results(copied), tmp_path / "shipped")
    assert not (tmp_path / "shipped").exists()
