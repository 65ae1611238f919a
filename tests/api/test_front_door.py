"""`import gridsum` as a person would use it."""

import dataclasses
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

import gridsum
from gridsum.api.models import ModelError
from gridsum.api.rules import RuleModel
from gridsum.training.folders import FolderError
from tests.oracles.column_addition import column_addition
from tests.oracles.sizes import TINY


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> gridsum.TrainingRun:
    return gridsum.train("base", "0,7", tmp_path_factory.mktemp("runs") / "tiny", TINY, device="cpu", quiet=True)


def test_all_that_is_offered_exists():
    for name in gridsum.__all__:
        assert getattr(gridsum, name) is not None
    assert dir(gridsum) == sorted(gridsum.__all__)
    with pytest.raises(AttributeError, match="did you mean 'solve'"):
        gridsum.slove  # noqa: B018


@pytest.mark.parametrize("name", ["exact", "base"])
def test_three_lines(name: str):
    model = gridsum.load(name)
    answer = model.solve("58+67")
    assert str(answer) == answer == "125" != "124"
    assert json.loads(json.dumps({"answer": answer})) == {"answer": "125"}
    assert vars(pickle.loads(pickle.dumps(answer))) == vars(answer)
    assert int(answer) == 125
    assert answer.correct
    assert [int(one) for one in model.solve(["1+2", " 3 + 4 = "])] == [3, 7]
    assert model.network is model.network
    wrong = dataclasses.replace(answer, expression="ff+1=", answer="100", expected="10", steps=4, base=16)
    assert repr(wrong) == "<ff+1=100, wrong: it is 10, 4 steps>"
    assert (int(wrong), f"{wrong:>5}") == (256, "  100")


@pytest.mark.parametrize("name", ["base", "exact"])
def test_a_model_is_moved_changed_saved_and_loaded(name: str, tmp_path: Path):
    model = gridsum.load(name).to("cpu")
    assert model.config.variant == name
    with torch.no_grad():
        model.network.embedding.weight.mul_(1.5)
    model.save(tmp_path / "file.safetensors")
    model.save(tmp_path / "folder")
    for place in ("file.safetensors", "folder"):
        again = gridsum.load(tmp_path / place)
        assert torch.equal(again.network.embedding.weight, model.network.embedding.weight)
        assert again.config == model.config
        assert again.about == model.about | {"name": again.name}
    assert model.encode(["58+67", "1+2"]).tolist()[1][:4] == model.task.encode(("1", "2"))


def test_a_proof_is_short_to_look_at():
    proof = gridsum.prove(RuleModel("mine", None, column_addition()))
    assert proof.proved
    assert repr(proof).startswith("Proof(failures=[], contexts=")
    assert len(repr(proof)) < 100


def test_a_trained_folder_is_loaded_by_path_or_text(training: gridsum.TrainingRun):
    assert len(training) == 2
    assert [model.name for model in training] == [str(training.folder / "seed-0"), str(training.folder / "seed-7")]
    assert gridsum.load(str(training.folder / "seed-7")).name == training[1].name
    with pytest.raises(ModelError, match=r"holds 2 trained seeds; name one of them, such as .*seed-0"):
        gridsum.load(training.folder)
    assert [line["epoch"] for line in training.log(7)] == [1]
    with pytest.raises(FolderError, match=r"in Python resume=True"):
        gridsum.train("base", "0,7", training.folder, TINY, device="cpu", quiet=True)
    again = gridsum.train(out=training.folder, resume=True, settings={"training.epochs": 2}, device="cpu", quiet=True)
    assert [line["epoch"] for line in again.log()] == [1, 2]


def test_a_trace_of_a_rule_and_of_a_network():
    rule, network = (gridsum.trace("58+67", model) for model in ("exact", "base"))
    for trace in (rule, network):
        assert len(trace) == trace.answer.steps + 1 == len(trace.text) == len(trace.grids)
        assert trace.text[-1][0].strip("·") == trace.answer.answer == "125"
        assert trace.inside.actions.shape == (len("58+67="), 3)
        assert "58+67" in str(trace)
        assert "<pre>" in trace._repr_html_()
    assert rule.inside.halting is None
    assert network.inside.halting is not None
    assert rule.states is not None
    assert network.states is None


def test_the_bits_of_a_rules_trace_are_those_of_its_network():
    trace = gridsum.trace("95+8")
    table = gridsum.load("exact").table  # type: ignore[attr-defined]
    patterns = ((trace.grids > 0).long() << torch.arange(table.bits)).sum(-1).numpy()
    assert trace.states is not None
    assert np.array_equal(patterns, np.array(table.states)[trace.states])


def test_pictures_and_films(tmp_path: Path):
    trace = gridsum.trace("9+1")
    assert trace.plot().get_axes()
    assert trace.plot("placement").get_axes()
    film = trace.film(tmp_path / "sum.gif")
    assert (tmp_path / "sum.gif").read_bytes() == film
    assert film._repr_html_().startswith('<img alt="a sum')
    assert repr(film) == f"<film: {len(film):,} bytes>"


def test_rules_and_functions_are_measured_and_scores_show_themselves():
    """One that adds, one that reads every digit one too small, and one that says nothing."""
    adds = column_addition()
    reading = tuple(max(1, symbol - 1) if symbol else 0 for symbol in adds.outputs)
    rules = [RuleModel("adds", None, adds), RuleModel("errs", None, dataclasses.replace(adds, outputs=reading))]
    scores = gridsum.evaluate([*rules, lambda _: ""], ["2x30", "examples"], 20, 3)
    assert [(record.model, record.suite) for record in scores] == [
        (model, suite) for model in ("adds", "errs", "<lambda>") for suite in ("2x30", "examples")
    ]
    first, second, wrong, _, nothing, _ = scores
    assert (first.variant, first.seed, first.halting, first.placement) == ("exact", None, "fixed-point", "hard")
    assert (first.samples, first.sequences_right, first.evaluation_seed) == (20, 20, 3)
    assert first.chars_right == first.chars_valid >= 20 * 30
    assert second.answers is not None
    assert second.sequences_right == second.samples == len(second.answers)
    assert wrong.sequences_right == nothing.sequences_right == 0
    assert "adds" in str(scores)
    assert "| adds" in scores.to_markdown() == scores._repr_markdown_()


def test_a_model_in_hand_is_measured(training: gridsum.TrainingRun):
    by_hand = gridsum.evaluate(gridsum.load("base"), "2x3", samples=4, device="cpu")
    by_name = gridsum.evaluate("base", "2x3", samples=4, device="cpu")
    assert list(by_hand) == list(by_name)
    assert len(gridsum.evaluate(training.folder, "2x3", samples=4, device="cpu")) == 2
