"""What a campaign finds done, and how it goes on after being stopped at any moment."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file

from gridsum.config.fields import override
from gridsum.config.variants import PAPER_VARIANTS, READINGS
from gridsum.evaluation.records import Record, append, read
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.model.store import load
from gridsum.study.campaign import (
    AS_PUBLISHED,
    FULL,
    ON_EVERY_GRID,
    OVERTRAINED,
    QUICK,
    REPORT,
    REPORTED,
    VALIDATION,
    Campaign,
    current,
    machines,
)
from gridsum.study.pieces import Measure, Overtrain, Surroundings, Train, pieces
from gridsum.study.storage import Copy
from gridsum.study.workers import do_piece
from gridsum.training.checkpoints import Checkpoint, save_checkpoint
from gridsum.training.folders import FolderError, read_metrics, read_setup, trained_epochs
from gridsum.training.loop import Epoch
from tests.faults.trainings import outcome

Make = Callable[..., Campaign]


class Stop(Exception):
    pass


def _weights(folder: Path, seed: int) -> dict[str, list[float]]:
    return {
        name: tensor.tolist() for name, tensor in load_file(folder / f"seed-{seed}" / "weights.safetensors").items()
    }


def _without_origin(path: Path) -> list[Record]:
    return [dataclasses.replace(record, commit=None) for record in read([path])]


def test_the_whole_campaign_is_found_done(quick: Path, campaign: Make):
    found = list(pieces(campaign(quick)))
    assert all(piece.state().finished for piece in found)
    assert [piece.stage for piece in found if piece.subject == "base"] == ["train", "validate", "measure"]
    assert {piece.subject for piece in found if piece.stage == "overtrain"} == {f"{n}-overtrained" for n in OVERTRAINED}


def test_a_training_that_has_been_measured_is_done_without_its_weights(copied: Path, campaign: Make):
    for weights in (copied / "base").glob("seed-*/weights.safetensors"):
        weights.unlink()
    made = campaign(copied, ("base",))

    def done() -> bool:
        return next(piece for piece in pieces(made) if piece.stage == "train").state().finished

    assert done()
    lines = made.report_records("base").read_text().splitlines(keepends=True)
    made.report_records("base").write_text("".join(lines[:-1]))
    assert not done(), "what is not measured needs the weights"
    made.report_records("base").write_text("".join(lines))
    made.validation_records("base").unlink()
    assert not done()


def test_nothing_is_done_in_an_empty_folder(tmp_path: Path, campaign: Make):
    for piece in pieces(campaign(tmp_path)):
        state = piece.state()
        assert state.done == 0
        assert not state.finished
        assert bool(state.waits_for) == (piece.stage != "train")
    assert not list(tmp_path.iterdir())


def test_validation_is_no_part_of_what_is_reported():
    assert not {suite.name for suite in COLLECTIONS["validation"]} & {suite.name for suite in REPORTED}
    assert {suite.name for suite in COLLECTIONS["all"]} <= {suite.name for suite in REPORTED}


def test_a_full_campaign_has_the_papers_numbers(tmp_path: Path):
    whole = Campaign(tmp_path, tuple(PAPER_VARIANTS), tuple(range(10)))
    assert [training.name for training in whole.trainings] == list(PAPER_VARIANTS)
    assert all(training.config.training.epochs == 510 for training in whole.trainings)
    assert [FULL.samples_of(suite) for suite in COLLECTIONS["ablation"]] == [640, 640, 640]
    assert {FULL.samples_of(suite) for suite in COLLECTIONS["long-digits"]} == {128}
    assert FULL.overtraining_epochs == 300


def test_another_reading_changes_every_variant_alike(tmp_path: Path):
    usual, text = (Campaign(tmp_path, tuple(PAPER_VARIANTS), (0,), reading=reading) for reading in (None, "text"))
    for ours, theirs in zip(usual.trainings, text.trainings, strict=True):
        assert theirs.config == override(ours.config, READINGS["text"])


def test_overtraining_follows_the_standard_training(quick: Path):
    standard, _ = read_setup(quick / "base")
    config, seeds = read_setup(quick / "base-overtrained")
    taken = standard.training.epochs * standard.training.steps_per_epoch
    assert config.training.first_step == taken
    assert config.objective.weight == 5e-4
    assert config.model == standard.model
    assert set(seeds) <= {0, 1}
    assert json.loads((quick / "base-overtrained" / "start.json").read_text())["moments"], "the optimiser goes on"


def test_overtraining_starts_from_the_chosen_weights(copied: Path, campaign: Make, around: Surroundings):
    """Stopped before its first epoch is done, what it has are the standard training's weights."""
    shutil.rmtree(copied / "base-overtrained")
    made = campaign(copied, ("base",))
    piece = Overtrain(made, made.trainings[0])

    def stop(*_: object) -> None:
        raise Stop

    with pytest.raises(Stop):
        piece.run(dataclasses.replace(around, note=stop))
    assert not (copied / "base-overtrained").exists()
    piece.run(around)
    seed = read_setup(copied / "base-overtrained")[1][0]
    assert _weights(copied / "base-overtrained", seed) != _weights(copied / "base", seed)
    assert piece.state().finished


@pytest.mark.parametrize("stopped_by", [Stop, KeyboardInterrupt])
def test_a_training_stopped_goes_on_to_the_same_weights(
    stopped_by: type[BaseException], quick: Path, tmp_path: Path, campaign: Make, around: Surroundings
):
    made = campaign(tmp_path, ("SASA",))
    piece = Train(made, made.trainings[0])

    def stop(_: str, epoch: Epoch) -> None:
        if epoch.number == 1:
            raise stopped_by

    with pytest.raises(stopped_by):
        piece.run(dataclasses.replace(around, epoch=stop))
    assert piece.state().done == 1
    piece.run(around)
    assert piece.state().finished
    assert [stretch["epochs"] for stretch in machines(tmp_path / "SASA")] == [[1, 1], [2, 2]]
    for seed in made.seeds:
        assert _weights(tmp_path / "SASA", seed) == _weights(quick / "SASA", seed)
    assert not list(tmp_path.rglob("checkpoint*"))


def test_a_log_ahead_of_the_weights_is_not_believed(copied: Path, quick: Path, campaign: Make, around: Surroundings):
    """Killed between the last epoch's log and its checkpoint."""
    made = campaign(tmp := copied / "again", ("SASA",))
    piece = Train(made, made.trainings[0])

    def stop(_: str, epoch: Epoch) -> None:
        if epoch.number == 1:
            raise Stop

    with pytest.raises(Stop):
        piece.run(dataclasses.replace(around, epoch=stop))
    log = Path("SASA") / "seed-0" / "metrics.jsonl"
    with (tmp / log).open("a") as ahead:
        ahead.write((copied / log).read_text().splitlines(keepends=True)[1])
    assert len(read_metrics(tmp / "SASA", 0)) == 2
    assert trained_epochs(tmp / "SASA") == 1
    piece.run(around)
    assert [line["epoch"] for line in read_metrics(tmp / "SASA", 0)] == [1, 2]
    assert _weights(tmp / "SASA", 0) == _weights(quick / "SASA", 0)


def test_an_evaluation_stopped_goes_on_with_what_is_missing(
    copied: Path, quick: Path, campaign: Make, around: Surroundings
):
    path = copied / "records" / "SASA.jsonl"
    path.unlink()
    made = campaign(copied, ("SASA",))
    piece = next(piece for piece in pieces(made) if piece.stage == "measure")

    def stop() -> None:
        if len(read([path])) >= 6:
            raise Stop

    with pytest.raises(Stop):
        piece.run(dataclasses.replace(around, check=stop))
    assert piece.state().done == 1, "stopped among the ways of the second suite"
    piece.run(around)
    assert _without_origin(path) == _without_origin(quick / "records" / "SASA.jsonl")


def test_every_suite_is_measured_on_every_grid_and_on_the_published_ones(quick: Path):
    ways: dict[str, set[tuple[str, str]]] = {}
    for record in read([quick / "records" / "base.jsonl"]):
        ways.setdefault(record.suite, set()).add(record.way)
    both = {ON_EVERY_GRID, AS_PUBLISHED}
    long = both | {("every", "hard"), ("published", "hard")}
    assert ways.pop("examples") == {ON_EVERY_GRID}
    assert {suite for suite, found in ways.items() if found == long} == {"2x100", "2x602", "2x[1,1000]"}
    assert all(found >= both for found in ways.values())
    assert {record.way for record in read([quick / "base" / "validation.jsonl"])} == {ON_EVERY_GRID}


def test_a_run_that_lacks_a_record_is_measured_alone(copied: Path, campaign: Make, around: Surroundings):
    path = copied / "base" / "validation.jsonl"
    whole = _without_origin(path)
    path.unlink()
    append(path, [record for record in whole if (record.seed, record.suite) != (1, "[5,8]x[1,8]")])
    piece = next(piece for piece in pieces(campaign(copied, ("base",))) if piece.stage == "validate")
    assert isinstance(piece, Measure)
    assert piece.state().done == 1
    piece.run(around)
    assert sorted(map(str, _without_origin(path))) == sorted(map(str, whole))


def test_records_of_too_few_problems_or_another_seed_do_not_count(quick: Path):
    path = quick / "base" / "validation.jsonl"
    assert len(current(path, (0, 1), VALIDATION, QUICK)) == 4
    assert len(current(path, (0,), VALIDATION, QUICK)) == 2
    assert not current(path, (0, 1), dataclasses.replace(VALIDATION, evaluation_seed=8), QUICK)
    assert not current(path, (0, 1), dataclasses.replace(VALIDATION, ways=lambda _: (AS_PUBLISHED,)), QUICK)
    assert not current(path, (0, 1), VALIDATION, FULL)
    assert not current(path, (0, 1), REPORT, QUICK)


def test_a_folder_of_another_training_is_refused(quick: Path, campaign: Make):
    made = campaign(quick, ("base",))
    training = made.trainings[0]
    other = dataclasses.replace(training, config=override(training.config, {"objective.weight": 0.1}))
    with pytest.raises(FolderError, match=r"objective\.weight = 0\.05, not 0\.1\. It stays as it is; .*--out mine$"):
        made.epochs_done(other)
    with pytest.raises(FolderError, match=r"without 7; ask for --seeds that it has"):
        made.epochs_done(dataclasses.replace(training, seeds=(0, 7)))
    precise = dataclasses.replace(training, config=override(training.config, {"training.precision": "tf32"}))
    assert made.epochs_done(precise) == 2


def test_an_unfinished_training_is_neither_measured_nor_overtrained(copied: Path, campaign: Make):
    save_checkpoint(copied / "base", Checkpoint(1, (0, 1), {}))
    states = {(piece.stage, piece.subject): piece.state() for piece in pieces(campaign(copied, ("base",)))}
    assert states["train", "base"].done == 1
    assert states["measure", "base"].waits_for == "the training of base"
    assert states["overtrain", "base-overtrained"].waits_for == "the validation of base"


def test_where_it_was_trained_is_kept(quick: Path):
    (stretch,) = machines(quick / "fixedTime")
    assert stretch["epochs"] == [1, 2]
    assert stretch["seconds"] > 0
    assert "CPU" in stretch["device"]
    assert json.loads((quick / "fixedTime" / "config.json").read_text())["training"]["precision"] == "fp32"


def test_models_of_the_campaign_can_be_loaded(quick: Path):
    assert load(str(quick / "noGroups-overtrained")).config.variant == "noGroups"


def test_a_campaign_at_an_address_is_the_one_in_a_folder(copied: Path, tmp_path: Path, campaign: Make):
    """Overtraining, and measuring by the suite, from what the training has left there."""
    shutil.rmtree(copied / "base-overtrained")
    (copied / "records" / "base-overtrained.jsonl").unlink()
    address = (tmp_path / "there").as_uri()
    driver = Copy(address, Path(shutil.copytree(copied, tmp_path / "driver")), "driver")
    driver.send()
    for folder, there in ((copied, None), (driver.folder, address)):
        made = campaign(folder, ("base",))
        do_piece(Overtrain(made, made.trainings[0]), folder, None, there)
        whole = Measure(made, made.trainings[0], "measure", overtrained=True)
        for part in whole.parts()[:2]:
            do_piece(part, folder, None, there)
            if there:
                driver.fetch()
            assert part.state().finished
        assert whole.state().done == 2
    assert outcome(driver.folder / "base-overtrained") == outcome(copied / "base-overtrained") != {}
    for name in ("records/base-overtrained.jsonl", "base-overtrained/leakage.jsonl"):
        ours, theirs = (sorted((folder / name).read_text().splitlines()) for folder in (driver.folder, copied))
        assert ours == theirs
    assert len(list((tmp_path / "there" / "records" / "base-overtrained.jsonl").iterdir())) == 2
