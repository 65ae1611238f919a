"""Baselines in training and measured: fleets, resuming, masks, records."""

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

import gridsum
from gridsum.baselines.baseline import BaselineConfig, BaselineNetwork, Problem, find_baseline
from gridsum.baselines.fleet import answers
from gridsum.cli import main
from gridsum.config.fields import override
from gridsum.config.registry import BASELINES
from gridsum.data.problems import Space, batch_of, sample
from gridsum.data.streams import Stream
from gridsum.evaluation.records import append
from gridsum.evaluation.tables import TABLES
from gridsum.figures.baselines import curves
from gridsum.model.store import load
from gridsum.training.loop import Fleet
from gridsum.training.optimiser import AdamW
from tests.oracles.records import make_record

CPU = torch.device("cpu")
SMALL = {
    "s2g-cnn": {"network.width": 16, "network.layers": 1, "network.blocks": 1, "network.columns": 4},
    "dngpu": {"network.maps": 24, "network.dropout": 0.0},
    "grid-lstm": {"network.width": 16, "network.layers": 2},
    "lstm-act": {"network.width": 32, "network.ponder": 2},
    "universal-transformer": {"network.width": 32, "network.hidden": 32, "network.steps": 2, "network.dropout": 0.0},
    "deep-thinking": {"network.width": 16, "network.steps": 3, "network.blocks": 1},
    "position-coupling": {"network.width": 32, "network.hidden": 32, "network.positions": 12},
}
RATES = {"lstm-act": 2e-2}


def stacked(config: BaselineConfig, seeds: tuple[int, ...]) -> BaselineNetwork:
    return find_baseline(config.variant).build(config, seeds)


def small(name: str, **changes: object) -> BaselineConfig:
    usual = {
        "task.terms": (2, 2),
        "task.digits": (1, 1),
        "training.batch": 8,
        "training.steps_per_epoch": 2,
        "training.epochs": 2,
        "training.checkpoint_epochs": 1,
        "training.learning_rate": RATES.get(name, 1e-2),
    }
    return override(find_baseline(name).configure("matched"), {**usual, **SMALL[name], **changes})


@pytest.mark.parametrize("name", BASELINES)
def test_a_small_one_overfits_a_small_batch(name: str):
    config = small(name, **{"training.batch": 4})
    if name == "s2g-cnn":
        config = override(config, {"network.dropout": 0.0})
    network = stacked(config, (0,))
    gradients, optimiser = find_baseline(name).gradients(network, config, (0,)), AdamW(network, config.training)
    alive, losses = torch.ones(1, dtype=torch.bool), []
    for _ in range(24):
        found = gradients(0)  # the same problems every time
        losses.append(float(found.costs["expected_loss"]))
        optimiser.update(found.gradient, torch.tensor(gradients.rate(0)), alive)
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.parametrize("name", BASELINES)
def test_a_run_learns_the_same_alone_and_in_a_fleet(name: str):
    config = small(name)
    if "network.dropout" in SMALL[name]:
        config = override(config, {"network.dropout": 0.25})
    together = Fleet(config, (3, 5), CPU)
    alone = Fleet(config, (5,), CPU)
    both, one = together.gradients(7), alone.gradients(7)
    torch.testing.assert_close(both.gradient[1], one.gradient[0], rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(both.costs["total"][1], one.costs["total"][0])
    assert not torch.allclose(both.gradient[0], both.gradient[1])


@pytest.mark.parametrize("name", BASELINES)
def test_a_problem_is_answered_the_same_beside_longer_ones(name: str):
    """Masks are exact: what a batch has beside it changes no answer, but for the width of the row."""
    network = stacked(small(name, **{"task.terms": (1, 2), "task.digits": (1, 3)}), (0, 1))
    space, short = Space((1, 2), (1, 3)), ("4", "7")
    alone, _ = answers(network, batch_of([short]), space)
    beside, _ = answers(network, batch_of([("123", "998"), short]), space)
    width = min(alone.shape[-1], beside.shape[-1])
    assert torch.equal(alone[:, 0, -width:], beside[:, 1, -width:])
    assert beside.shape[:2] == (2, 2)


@pytest.mark.parametrize("setting", ["native", "matched"])
@pytest.mark.parametrize("name", BASELINES)
def test_a_problem_of_training_is_asked_as_in_training(name: str, setting: str, monkeypatch: pytest.MonkeyPatch):
    """Whatever suite it stands in, and whatever longer problems it stands beside."""
    config = override(find_baseline(name).configure(setting), SMALL[name])
    network, trained = stacked(config, (0,)), config.space
    assert setting == "native" or trained == Space((1, 4), (1, 10))
    assert pickle.loads(pickle.dumps(config)) == config, "it is sent to other processes"
    task, digits = config.task.task, sum(trained.digits) // 2
    problem = tuple(str(1 + place % (task.alphabet.base - 1)) * digits for place in range(trained.terms[0]))
    given, encode = list[Problem](), network.encode

    def asked(*what: Any) -> None:
        given.append(encode(*what))
        raise InterruptedError  # it has been given something, and that is enough

    monkeypatch.setattr(network, "encode", asked)
    longer = ("1" * (trained.digits[1] + 3),) * trained.terms[0]
    alone = Space((len(problem), len(problem)), (digits, digits))
    wide = Space((1, len(problem)), (1, len(longer[0])))
    for batch, space in (([problem], alone), ([problem], wide), ([problem, longer], wide)):
        with pytest.raises(InterruptedError):
            answers(network, batch_of(batch, task=task), space)
    learnt = encode(sample(trained, 1, Stream.of_seeds([0]), task=task), trained, Stream.of_seeds([0]))
    for problem in given:
        assert problem.inputs.keys() == learnt.inputs.keys()
        for key, value in problem.inputs.items():
            assert value.shape == learnt.inputs[key].shape, key
            assert torch.equal(value, given[0].inputs[key]), key


def test_a_suite_may_hold_what_was_learnt_beside_what_was_not(monkeypatch: pytest.MonkeyPatch):
    """Both parts are answered, each in its place."""
    network = stacked(small("dngpu"), (0, 1))
    space, rooms = Space((1, 2), (1, 3)), []
    whole, encode = batch_of([("123", "998"), ("4", "7"), ("25", "5"), ("8", "9")]), network.encode
    monkeypatch.setattr(
        network, "encode", lambda batch, space, draws: rooms.append(space) or encode(batch, space, draws)
    )
    together, steps = answers(network, whole, space)
    assert rooms == [network.trained_on, space]
    for index in range(4):
        alone, _ = answers(network, batch_of([tuple(whole.expression(0, index)[:-1].split("+"))]), space)
        width = min(alone.shape[-1], together.shape[-1])
        assert torch.equal(alone[:, 0, -width:], together[:, index, -width:])
    assert steps.tolist() == [(7 + 3 + 4 + 3) / 4] * 2


def test_reading_back_all_at_once_is_writing_digit_by_digit():
    network = stacked(small("position-coupling"), (0, 1))
    space = Space((2, 2), (3, 3))
    batch = sample(space, 4, Stream.of_seeds([1]))
    read, _ = answers(network, batch, space)
    problem = network.encode(batch, space, None)
    for run in range(2):
        weights = {name: value[run] for name, value in network.named_parameters()}
        given = torch.zeros_like(problem.targets[0])
        inputs = {name: value[0] for name, value in problem.inputs.items()}
        for place in range(given.shape[-1]):
            logits = torch.func.functional_call(network, weights, ({**inputs, "given": given}, None)).logits
            given[:, place] = logits[:, place].argmax(-1)
        assert torch.equal(read[run], network.written(given, problem))


def test_from_the_command_line_to_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder, records = tmp_path / "coupled", tmp_path / "records.jsonl"
    shape = [f"--{key}={value}" for key, value in SMALL["position-coupling"].items()]
    size = ["--training.epochs=1", "--training.steps_per_epoch=1", "--training.batch=4"]
    common = ["--device", "cpu", "--task.terms", "1,2", "--task.digits", "1,2"]
    train_it = ["train", "--variant", "position-coupling", "--out", str(folder), "--seeds", "0-1"]
    assert main([*train_it, *shape, *size, *common]) == 0
    assert main(["train", "--resume", "--out", str(folder), "--training.epochs=2", "--device", "cpu"]) == 0
    asked = ["--suite", "2x2", "2x100", "--samples", "4", "--device", "cpu"]
    assert main(["evaluate", "--model", str(folder), *asked, "--out", str(records)]) == 0
    assert "2x100 is left out" in capsys.readouterr().err
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    assert [(line["variant"], line["seed"], line["suite"]) for line in lines] == [
        ("position-coupling/matched", 0, "2x2"),
        ("position-coupling/matched", 1, "2x2"),
    ]
    assert lines[0]["problems_seen"] == 8
    assert lines[0]["given"] == "alignment by position labels, reversed digits"
    log = map(json.loads, (folder / "seed-1" / "metrics.jsonl").read_text().splitlines())
    assert lines[1]["training_seconds"] == pytest.approx(sum(line["seconds"] for line in log) / 2, abs=0.01)
    assert main(["table", "baselines", "--records", str(records)]) == 0
    assert "position-coupling/matched" in capsys.readouterr().out
    scores = gridsum.evaluate(str(folder), "1x1", samples=2)
    assert [score.seed for score in scores] == [0, 1]
    weights = folder / "seed-0" / "weights.safetensors"
    alone = load(str(weights))
    assert alone.seeds == (0,)
    (in_memory,) = alone.kind.subjects(dataclasses.replace(alone, paths=()))
    assert in_memory.about["training_seconds"] is None


def test_median_and_best_seed():
    records = [
        make_record(given="nothing else", variant="dngpu/native", seed=seed, sequences_right=right)
        for seed, right in ((2, 0), (0, 320), (1, 640))
    ]
    table = TABLES["baselines"]([*records, make_record(suite="2x100", samples=640)])
    assert table.header == ("baseline", "was given", "seeds", "2x15", "2x100")
    assert table.rows == (
        ("base", "nothing", "1", "–", "0.938"),
        ("dngpu/native", "nothing else", "3", "0.500, 1.0", "–"),
    )


def test_partial_sums_are_told_where_the_setting_says_so():
    for setting, told in (("native", [2, 3]), ("matched", [3])):
        changes = {"network.width": 8, "task.terms": (1, 3), "task.digits": (1, 2)}
        config = override(find_baseline("lstm-act").configure(setting), changes)
        network = find_baseline("lstm-act").network(config)
        space = Space((1, 3), (1, 2))
        problem = network.encode(batch_of([("12", "9", "3")]), space, None)
        rows = problem.weight[0, 0].unflatten(0, (3, -1)).amax(-1)
        assert [number + 1 for number in range(3) if rows[number]] == told
        sums = [config.task.task.decode(row.tolist()).strip() for row in problem.targets[0, 0].unflatten(0, (3, -1))]
        assert sums == ["12", "21", "24"]
        assert not network.fits(Space((2, 2), (3, 3)))


def test_prefix_sums():
    task = override(find_baseline("deep-thinking").configure("native"), {"network.width": 8}).task.task
    batch = sample(Space((1, 1), (6, 6)), 20, Stream.of_seeds([0]), task=task)
    for problem in range(20):
        bits = batch.expression(0, problem).rstrip("=")
        odd = "".join(str(bits[: end + 1].count("1") % 2) for end in range(6)).lstrip("0") or "0"
        assert batch.task.decode(batch.targets[0, problem].tolist()).strip() == odd == task.answer((bits,))


def test_the_curves_of_baselines_are_drawn(tmp_path: Path):
    records = [
        make_record(given=given, variant=name, model=name, seed=seed, suite=suite, sequences_right=right)
        for name, given in (("dngpu/matched", "nothing"), ("lstm-act/native", "alignment"))
        for seed, right in ((0, 64), (1, 640), (2, 320))
        for suite in ("2x15", "2x100", "4x5", "10x5")
    ]
    found, both = curves(records), (("dngpu", "matched"), ("lstm-act", "native"))
    assert [((curve.name, curve.setting), curve.axis) for curve in found] == [
        (one, axis) for axis in ("digits", "terms") for one in both
    ]
    assert all(curve.is_baseline for curve in found)
    ours = curves([make_record(suite=suite) for suite in ("2x15", "2x100")])
    assert [curve.is_baseline for curve in ours] == [False]
    assert found[0].sizes == {15: [0.1, 1.0, 0.5], 100: [0.1, 1.0, 0.5]}
    picture, empty = tmp_path / "baselines.svg", "none is measured at two sizes"
    for name, kept in (("all", records), ("some", [one for one in records if one.suite not in ("2x15", "2x100")])):
        append(tmp_path / f"{name}.jsonl", [*kept, *records[:4]])
        assert main(["figure", "baselines", "--records", str(tmp_path / f"{name}.jsonl"), "--out", str(picture)]) == 0
        assert "trained as in their papers" in picture.read_text()
        assert (empty in picture.read_text()) is (name == "some")
