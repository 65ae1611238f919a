"""Which runs are shipped, under which names, with which scores."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from gridsum.evaluation.records import append, read
from gridsum.reproduction.results import load_results
from gridsum.reproduction.selection import DIGITS, TERMS
from gridsum.reproduction.shipping import Run, ShippingError, ship, shipments
from gridsum.store import facts, load_runs
from gridsum.variants import PAPER_VARIANTS
from tests.reproduction.conftest import rewrite_records


def _make_best(folder: Path, training: str, seed: int) -> None:
    """Let one run have every validation problem right, and no other of its training."""
    path = folder / training / "validation.jsonl"
    records = read([path])
    path.unlink()
    append(
        path,
        [
            dataclasses.replace(record, sequences_right=record.samples if record.seed == seed else 0)
            for record in records
        ],
    )


def test_every_variant_is_shipped_with_the_scores_of_its_run(quick: Path, tmp_path: Path):
    shipped = ship(load_results(quick), tmp_path)
    assert set(PAPER_VARIANTS) <= set(shipped)
    assert "base-running" not in shipped
    for name, run in shipped.items():
        model = load_runs(name, [tmp_path / f"{name}.safetensors"])
        assert model.seeds == (run.seed,)
        assert model.config.variant == run.training.config.variant
        weights = quick / run.training.name / f"seed-{run.seed}" / "weights.safetensors"
        assert (tmp_path / f"{name}.safetensors").read_bytes() == weights.read_bytes()
        records = read([tmp_path / f"{name}.jsonl"])
        assert {(record.model, record.seed) for record in records} == {(name, run.seed)}
        assert {record.suite for record in records} == {record.suite for record in run.records}


def test_a_variants_name_means_its_best_run(copied: Path):
    _make_best(copied, "base", 1)
    _make_best(copied, "base-overtrained", 9)  # none of its runs
    found = shipments(load_results(copied))
    assert (found["base"].training.name, found["base"].seed) == ("base", 1)
    assert "base-standard" not in found
    assert found["base-overtrained"].training.name == "base-overtrained"


def test_an_overtrained_run_takes_the_name_where_it_is_better(copied: Path):
    _make_best(copied, "base", 9)
    _make_best(copied, "base-overtrained", 0)
    found = shipments(load_results(copied))
    assert (found["base"].training.name, found["base"].seed) == ("base-overtrained", 0)
    assert found["base-overtrained"] == found["base"]
    assert found["base-standard"].training.name == "base"


_CANDIDATES = ("base", "base-overtrained", "base-published", "base-published-overtrained")


@pytest.mark.parametrize("best", _CANDIDATES)
def test_a_variants_name_means_its_best_run_of_all_readings_that_were_validated(best: str, changing: Path):
    results = load_results(changing)
    seeds = {name: results.trained[name].seeds[-1] for name in _CANDIDATES}
    for name, seed in seeds.items():
        _make_best(changing, name, seed if name == best else 9)  # 9 is none of its runs
    found = shipments(load_results(changing))
    assert (found["base"].training.name, found["base"].seed) == (best, seeds[best])
    assert ("base-standard" in found) == (best != "base")
    if best != "base":
        assert found["base-standard"].training.name == "base"
    for name in _CANDIDATES[1:]:
        assert found[name].training.name == name
        assert found[name].seed == seeds[name] or name != best


def test_both_overtrained_runs_of_the_reading_that_is_followed_are_shipped_by_their_aims(changing: Path):
    """A stand-in for what was overtrained: the standard training, which has both runs for certain."""
    further = changing / "base-published-overtrained"
    shutil.rmtree(further)
    shutil.copytree(changing / "base-published", further)
    _make_best(changing, further.name, 1)
    none, all_right = {"sequences_right": 0, "chars_right": 0}, {"sequences_right": 2, "samples": 2}
    best = {(0, DIGITS): all_right, (1, DIGITS): none, (0, TERMS): none, (1, TERMS): all_right}
    rewrite_records(changing / "base-published" / "validation.jsonl", best)
    found = {name: run.seed for name, run in shipments(load_results(changing)).items() if further.name in name}
    assert found == {further.name: 1, f"{further.name}-digits": 0}


def test_runs_of_the_reading_that_is_followed_are_left_out_until_validated(changing: Path, tmp_path: Path):
    def published() -> set[str]:
        return {name for name in ship(load_results(changing), tmp_path / "shipped") if "-published" in name}

    assert {"base-published", "base-published-overtrained"} <= published()
    assert not [name for name in shipments(load_results(changing), ["noGroups"]) if name.startswith("base")]
    (changing / "base-published-overtrained" / "validation.jsonl").unlink()
    assert published() == {"base-published"}
    (changing / "base-published" / "validation.jsonl").unlink()
    assert published() == set()


def test_both_overtrained_runs_are_shipped(copied: Path):
    results = load_results(copied)
    aims = results.chosen("noGroups")
    assert set(aims.values()) == set(results.trained["noGroups-overtrained"].seeds)
    found = shipments(results)
    overtrained = {run.seed for name, run in found.items() if name.startswith("noGroups-overtrained")}
    assert overtrained == set(aims.values())


def test_merit_is_judged_on_both_aims(copied: Path):
    _make_best(copied, "base", 1)
    results = load_results(copied)
    assert Run(results.trained["base"], 1).merit > Run(results.trained["base"], 0).merit
    assert Run(results.trained["base"], 1).merit[0] == 1.0


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
    found = shipments(load_results(copied))
    assert found["base"].training.name == "base"
    assert not [name for name in found if name.startswith("base-")]


def test_a_variant_beyond_the_paper_is_shipped_like_any_other(copied: Path, tmp_path: Path):
    """A stand-in: the folder of base under the name, for what is told apart is the name alone."""
    shutil.copytree(copied / "base", copied / "exact")
    shutil.copytree(copied / "base", copied / "exact-whole")
    shutil.copy(copied / "records" / "base.jsonl", copied / "records" / "exact.jsonl")
    results = load_results(copied)
    assert list(results.beyond) == ["exact", "exact-whole"]
    assert "exact" not in results.trained, "the paper's page is about the paper's variants"
    assert list(ship(results, tmp_path / "shipped", ["exact"])) == ["exact"]
    assert sorted(path.name for path in (tmp_path / "shipped").iterdir()) == ["exact.jsonl", "exact.safetensors"]
    whole = set(ship(results, tmp_path / "all"))
    assert whole > {"exact", *PAPER_VARIANTS}
    assert "exact-whole" not in whole, "an ablation is no model to use"


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
