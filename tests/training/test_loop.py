"""Training into a folder: logs, checkpoints, resuming, runs that diverge."""

import json
import os
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from gridsum.config.fields import override
from gridsum.config.paper import Config, ConfigError
from gridsum.config.registry import find
from gridsum.config.variants import variant
from gridsum.io.progress import Progress
from gridsum.model.inference import UnsoundError
from gridsum.model.store import WEIGHTS, load, load_runs, save_run
from gridsum.training.folders import (
    CHECKPOINT,
    FolderError,
    append_metrics,
    create,
    load_checkpoint,
    read_metrics,
    read_steps,
    save_checkpoint,
    write_summary,
)
from gridsum.training.loop import Fleet, train
from tests.faults.trainings import CPU, outcome
from tests.training.test_gradients import tiny


class Told(Progress):
    """What is told of a training run: warnings, steps, and news of epochs."""

    def __init__(self, hear=lambda _: None):
        super().__init__()
        self.notes, self.steps, self.epochs, self.hear = [], [], [], hear

    def note(self, text):
        self.notes.append(text)

    def update(self, _label, done, _total, news=None, *_, **__):
        self.steps.append(done)
        if news:
            self.epochs.append(news)
            self.hear(news)

    @property
    def warnings(self):
        """But for the first line, which says what is trained."""
        return self.notes[1:]


def short(**changes):
    """So small that a step takes a moment: one group of problems, two recurrent steps."""
    lengths = {"training.epochs": 4, "training.steps_per_epoch": 2, "training.checkpoint_epochs": 1}
    sizes = {"training.batch": 4, "task.terms": (1, 2), "task.bucket_bounds": (), "model.max_steps": 2}
    settings = lengths | sizes
    return override(tiny("base"), {**settings, **changes})


def following(config):
    return find(config.variant).following(config)


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def weights_of(folder, seed):
    return load_file(folder / f"seed-{seed}" / "weights.safetensors")


def assert_same_weights(one, other, seed=1, but_for=0.0):
    torch.testing.assert_close(weights_of(one, seed), weights_of(other, seed), rtol=0, atol=but_for)


def test_a_training_folder_holds_what_was_asked_for_and_what_came_out(tmp_path):
    """The precision is what `auto` came to; a training run that goes on finds its own."""
    told, config = Told(), short(**{"training.precision": "auto", "training.keep_epochs": 2})
    train(config, [2, 7], tmp_path / "run", CPU, shown=told, label="mine: ")
    assert [news.partition(":")[0] for news in told.epochs] == [f"epoch {number} of 4" for number in (1, 2, 3, 4)]
    assert told.notes[0].startswith("mine: training 2 runs of base, in fp32 on CPU")
    assert told.warnings == []
    lines = [read_metrics(tmp_path / "run", seed) for seed in (2, 7)]
    assert all([line["epoch"] for line in log] == [1, 2, 3, 4] for log in lines)
    losses = [log[-1]["total"] for log in lines]
    assert f"loss {sum(losses) / 2:.3f} (best {min(losses):.3f}, worst {max(losses):.3f})" in told.epochs[-1]
    assert json.loads((tmp_path / "run" / "config.json").read_text())["seeds"] == [2, 7]
    model = load(str(tmp_path / "run"))
    assert model.seeds == (2, 7)
    assert model.config == override(config, {"training.precision": "fp32"})
    assert following(model.config).training.precision == "auto"
    train(override(config, {"training.epochs": 2}), [7], tmp_path / "short", CPU)
    names = {path.name for path in (tmp_path / "run" / "seed-7").glob("weights-*")}
    assert names == {"weights-2.safetensors", "weights-4.safetensors"}
    kept = load_file(tmp_path / "run" / "seed-7" / "weights-2.safetensors")
    torch.testing.assert_close(kept, weights_of(tmp_path / "short", 7), rtol=0, atol=1e-6)


@pytest.mark.parametrize("step", [2, 5], ids=["as an epoch begins", "inside an epoch"])
def test_an_interrupted_run_loses_the_epoch_that_it_was_stopped_in(tmp_path, monkeypatch, step):
    """Whenever the next checkpoint would have been due; an epoch has two steps here."""
    taken, steps = Fleet._update, []

    def interrupted(self, *arguments):
        if len(steps) == step:
            self.optimiser.weights.zero_()  # half of an update
            raise KeyboardInterrupt
        steps.append(step)
        return taken(self, *arguments)

    config = short(**{"training.checkpoint_epochs": 100})
    with monkeypatch.context() as patch:
        patch.setattr(Fleet, "_update", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(config, [1], tmp_path / "run", CPU)
    checkpoint = load_checkpoint(tmp_path / "run")
    assert checkpoint.epoch == step // 2
    told = Told()
    train(config, [1], tmp_path / "run", CPU, resume=True, shown=told)
    assert sorted(set(told.steps)) == list(range(step // 2 * 2 + 1, 9))
    train(config, [1], tmp_path / "whole", CPU)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_a_run_that_diverges_is_set_aside_and_the_others_go_on(tmp_path, monkeypatch):
    config = short()
    poisoned = Fleet.__init__

    def poison(self, *arguments):
        poisoned(self, *arguments)
        self.optimiser.weights[0, 5] = float("inf")
        self.optimiser.publish()

    monkeypatch.setattr(Fleet, "__init__", poison)
    told = Told()
    train(config, [3, 4], tmp_path / "run", CPU, shown=told)
    (warning,) = told.warnings
    assert "seed 3" in warning
    assert "epoch 1" in warning
    assert read_metrics(tmp_path / "run", 3) == []
    for news, line in zip(told.epochs, read_metrics(tmp_path / "run", 4), strict=True):
        means = f"loss {line['total']:.3f}, accuracy {line['accuracy']:.3f}, steps {line['steps']:.1f}"
        assert f"{means}, 1 of 2 runs set aside" in news, "of the sound run alone"
    monkeypatch.undo()
    train(config, [4], tmp_path / "alone", CPU)
    assert_same_weights(tmp_path / "run", tmp_path / "alone", 4, but_for=1e-5)


def test_when_every_run_has_diverged_training_stops_and_says_where(tmp_path, monkeypatch):
    taken = Fleet.train_step
    monkeypatch.setattr(Fleet, "train_step", lambda self, number: taken(self, number) * self.alive.fill_(False))
    told = Told()
    with pytest.raises(UnsoundError, match="epoch 1"):
        train(short(), [3], tmp_path, CPU, shown=told)
    assert told.epochs == ["epoch 1 of 4: every run has diverged"]


def test_what_is_trained_is_never_overwritten_and_nothing_is_not_resumed(tmp_path):
    train(short(**{"training.epochs": 1}), [1], tmp_path, CPU)
    before = weights_of(tmp_path, 1)
    for folder, seeds, resume, message in (
        (tmp_path, [1], False, "--resume"),
        (tmp_path / "seed-1", [1], False, "weights of a run"),
        (tmp_path / "nowhere", [1], True, "no training run"),
        (tmp_path / "nowhere", [1, 1], False, "different"),
    ):
        with pytest.raises((FolderError, ConfigError), match=message):
            train(short(), seeds, folder, CPU, resume=resume)
    torch.testing.assert_close(weights_of(tmp_path, 1), before, rtol=0, atol=0)
    assert not (tmp_path / "nowhere").exists()


def flip(path):
    content = bytearray(path.read_bytes())
    content[-50] ^= 1
    path.write_bytes(content)


def changed(**changes):
    """Another checkpoint in the place of the folder's own."""

    def change(folder):
        held = load_checkpoint(folder)
        assert held is not None
        tensors = {name: changes.pop(name, part) for name, part in held.tensors.items()}
        kept = {name: part for name, part in tensors.items() if part is not None}
        save_checkpoint(folder, replace(held, tensors=kept, **changes))

    return change


def rewritten(name, change):
    return lambda folder: (folder / name).write_text(change((folder / name).read_text()))


LOG = "seed-1/metrics.jsonl"
MEND = ".*put it back from a copy, or .*--start-from"


@pytest.mark.parametrize(
    ("harm", "asked", "message"),
    [
        (None, {"model.dropout": 0.2}, r"model\.dropout = 0\.1"),
        (None, {"training.epochs": 1}, "for 2 epochs already; .* of 2 or more"),
        (None, [2], r"seeds \[1\]"),
        (lambda folder: flip(folder / CHECKPOINT), {}, f"is damaged{MEND}"),
        (lambda folder: os.truncate(folder / CHECKPOINT, 100), {}, f"is damaged{MEND}"),
        (lambda folder: (folder / CHECKPOINT).unlink(), {}, f"is missing{MEND}"),
        (changed(seeds=(2,)), {}, "another run's: it is of seeds"),
        (changed(mean=torch.zeros(1, 7)), {}, r"mean is \[1, 7\] of float32 but should be"),
        (changed(alive=None), {}, "alive is absent"),
        (lambda folder: (folder / LOG).unlink(), {}, f"{LOG} is not as it was"),
        (lambda folder: os.truncate(folder / LOG, 50), {}, f"{LOG} is not as it was"),
        (rewritten(LOG, lambda text: text.replace("epoch", "x")), {}, f"{LOG} is not as it was"),
        (rewritten("config.json", lambda text: text.replace("base", "SASA")), {}, "is not as it was written"),
        *(
            (rewritten("config.json", lambda _, content=content: content), {}, "cannot be read as the configuration")
            for content in ("[]", "{", '{"seeds": [1e400]}', "[" * 100_000)
        ),
    ],
)
def test_a_folder_that_is_not_as_it_was_left_or_asked_for_is_not_resumed(tmp_path, first, harm, asked, message):
    folder = Path(shutil.copytree(first[0].paths[0].parents[1], tmp_path / "run"))
    if harm is not None:
        harm(folder)
    before, changes = files(folder), asked if isinstance(asked, dict) else {}
    with pytest.raises(FolderError, match=message):
        train(short(**changes), [1] if isinstance(asked, dict) else asked, folder, CPU, resume=True)
    assert files(folder) == before


def test_training_that_goes_on_elsewhere_is_one_training(tmp_path):
    """Overtraining keeps weights, moments and their count, and goes on with the problems."""
    train(short(**{"training.restart_epochs": 2}), [1, 2, 3], tmp_path / "whole", CPU)
    half = short(**{"training.epochs": 2, "training.restart_epochs": 2})
    train(half, [1, 2, 3], tmp_path / "first", CPU)
    told = Told()
    start = load_runs("first", [tmp_path / "first" / f"seed-{seed}" / "weights.safetensors" for seed in (1, 3)])
    train(following(half), [1, 3], tmp_path / "more", CPU, start=start, shown=told)
    assert told.warnings == []
    for seed in (1, 3):
        assert_same_weights(tmp_path / "more", tmp_path / "whole", seed, but_for=1e-6)
    began = json.loads((tmp_path / "more" / "config.json").read_text())["start"]
    assert began == {"model": "first", "seeds": [1, 3], "epochs": 2, "moments": True}
    assert "start" not in json.loads((tmp_path / "first" / "config.json").read_text())


def test_bare_weights_begin_with_moments_at_zero_and_that_is_said(tmp_path, first):
    """Adam counts its updates from the first on. Weights that are not of the checkpoint beside them are bare, too."""
    trained, more = first
    for harm in ("no checkpoint", "other weights"):
        folder = Path(shutil.copytree(trained.paths[0].parents[1], tmp_path / harm))
        if harm == "no checkpoint":
            (folder / CHECKPOINT).unlink()
        else:
            save_run(folder / "seed-1" / WEIGHTS, Fleet(short(), (1,), CPU).network, 0, trained.config, 1)
        fleet = Fleet(more, (1,), CPU)
        assert not fleet.begin_from(load(str(folder)))
        assert not fleet.optimiser.mean.any()
        assert fleet.begin_from(trained)
        assert fleet.optimiser.mean.any()
    told, start = Told(), load(str(tmp_path / "no checkpoint"))
    train(override(more, {"training.epochs": 2}), [1], tmp_path / "more", CPU, start=start, shown=told)
    assert "moments" in told.notes[0]
    assert not json.loads((tmp_path / "more" / "config.json").read_text())["start"]["moments"]
    checkpoint = load_checkpoint(tmp_path / "more")
    assert checkpoint.tensors["updates"].tolist() == [4]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A model to start from, and the configuration to go on with."""
    folder = tmp_path_factory.mktemp("first") / "first"
    train(short(**{"training.epochs": 2}), [1], folder, CPU)
    return load(str(folder)), following(short(**{"training.epochs": 2}))


def test_a_network_learns(tmp_path):
    """Sums of two digits, in seconds: the loss falls, and characters come to be right."""
    task = {"task.terms": (1, 2), "task.digits": (1, 1)}
    grids = {"task.random_rows": 0, "task.random_columns": 0}
    sizes = {"model.width": 32, "model.heads": 32, "model.step_hidden": 32, "model.dropout": 0.0, "model.max_steps": 2}
    rates = {"training.learning_rate": 1e-2, "training.restart_epochs": 8, "training.weight_decay": 0.0}
    length = {"training.epochs": 8, "training.steps_per_epoch": 10, "training.batch": 32}
    config = short(**task, **grids, **sizes, **rates, **length)
    train(config, [0], tmp_path, CPU)
    first, *_, last = read_metrics(tmp_path, 0)
    assert last["total"] < 0.6 * first["total"]
    assert first["accuracy"] < 0.25
    assert last["accuracy"] > 0.5


def test_a_training_that_follows_another_begins_a_cosine_of_its_own():
    """The problems go on from its first step; the rate does not."""
    first, later = (Fleet(short(**{"training.first_step": step}), (3,), CPU).gradients for step in (0, 5))
    assert first.rate(0) == later.rate(0) > later.rate(5) == first.rate(5)


def test_weights_of_other_runs_are_refused_as_a_start(tmp_path, first):
    start, _ = first
    with pytest.raises(ConfigError, match=r"seeds \[1\]"):
        train(short(), [2], tmp_path / "more", CPU, start=start)
    with pytest.raises(ConfigError, match="another model"):
        train(short(**{"model.max_steps": 7}), [1], tmp_path / "more", CPU, start=start)
    assert not (tmp_path / "more").exists()


def test_trained_runs_without_their_configuration_are_not_wiped(tmp_path):
    train(short(**{"training.epochs": 1}), [1], tmp_path, CPU)
    (tmp_path / "config.json").unlink()
    before = files(tmp_path)
    for left in ("metrics.jsonl", "weights.safetensors", None):
        with pytest.raises(FolderError, match="holds trained runs, but no config"):
            train(short(), [1], tmp_path, CPU)
        assert {path: path.read_bytes() for path in before if path.exists()}.items() <= before.items()
        assert (tmp_path / CHECKPOINT).exists()
        if left is not None:
            (tmp_path / "seed-1" / left).unlink()
    (tmp_path / CHECKPOINT).write_bytes(b"of another program")
    with pytest.raises(FolderError, match="holds trained runs"):
        train(short(), [1], tmp_path, CPU)


@pytest.mark.parametrize("harmed", ["gradient", "cost"])
def test_a_run_whose_gradient_or_cost_is_no_number_is_set_aside(harmed):
    """Its weights stay as they were, the others go on."""
    fleet = Fleet(short(), (1, 2), CPU)
    gradient, costs = torch.ones_like(fleet.optimiser.weights), torch.ones(5, 2)
    (gradient[0] if harmed == "gradient" else costs[:, 0])[0] = float("nan")
    before = fleet.optimiser.weights.clone()
    fleet._update(gradient, costs, torch.tensor(1e-3, dtype=torch.float64))
    assert fleet.alive.tolist() == [False, True]
    assert torch.equal(fleet.optimiser.weights[0], before[0])
    assert not torch.equal(fleet.optimiser.weights[1], before[1])


@given(values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_logs_lose_nothing_of_single_precision(values: list[float], tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("run")
    create(folder, Config(), [0])
    for epoch, value in enumerate(values, 1):
        append_metrics(folder, 0, {"epoch": epoch, "total": value})
    kept = read_metrics(folder, 0)
    assert [line["epoch"] for line in kept] == list(range(1, len(values) + 1))
    assert [struct.pack("f", line["total"]) for line in kept] == [struct.pack("f", value) for value in values]


def test_a_summary_stands_for_logs_that_were_not_kept(tmp_path: Path):
    create(tmp_path, variant("base"), (0, 3))
    for seed, epochs in ((0, 2), (3, 1)):
        for epoch in range(1, epochs + 1):
            append_metrics(tmp_path, seed, {"epoch": epoch, "steps": 3.0 + seed + epoch / 3})
    expected = {0: (3.3333, 3.6667), 3: (6.3333,)}
    assert read_steps(tmp_path) == expected
    write_summary(tmp_path)
    kept = (tmp_path / "summary.json").read_bytes()
    shutil.rmtree(tmp_path / "seed-3")
    write_summary(tmp_path)
    assert read_steps(tmp_path) == expected
    assert (tmp_path / "summary.json").read_bytes() == kept
    (tmp_path / "summary.json").write_text(json.dumps({"runs": []}))
    with pytest.raises(FolderError, match=r"summary\.json cannot be read as a summary"):
        read_steps(tmp_path)
    (tmp_path / "summary.json").unlink()
    with pytest.raises(FolderError, match=r"metrics\.jsonl is missing; copy the folder whole"):
        read_steps(tmp_path)
