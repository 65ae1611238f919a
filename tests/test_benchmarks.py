"""The scripts in `benchmarks/`: how `make bench-check` judges, and that the script of a training step runs."""

import json

import pytest
import torch

from benchmarks import check, leakage, operations, step
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.model.store import load
from gridsum.ops.placement.plain import NLP, NOP
from gridsum.tasks import ExpressionError


def test_what_lies_above_its_bound_is_named():
    lines, fallen = check.judge({"a": 0.5, "b": 1.2, "c": float("nan")}, {"a": 0.5, "b": 1.0, "c": 1.0, "d": 1.0})
    assert fallen == ["b", "c", "d"], "the same is not above; no number, and nothing measured, is"
    assert [line.endswith("SLOWER") for line in lines] == [False, False, True, True, True]
    assert check.judge({"new": 0.1}, {})[1] == ["new"], "what has no bound cannot pass"
    assert check.judge({"a": 0.4}, {"a": 0.5})[1] == []


def test_every_measure_has_a_bound():
    assert set(json.loads(check.BOUNDS.read_text())) == set(check.MEASURES)


def test_a_training_step_is_measured_kept_and_profiled(tmp_path, monkeypatch, capsys):
    arguments = ["exact-small", "--runs", "1", "--steps", "1", "--device", "cpu", "--profile", "--json"]
    monkeypatch.setattr("sys.argv", ["step.py", *arguments, str(tmp_path / "step.json")])
    monkeypatch.setattr(step, "WARM_UP", 1)
    step.main()
    printed = capsys.readouterr().out
    assert "exact-small   1 runs" in printed
    assert "aten::mm" in printed
    (record,) = json.loads((tmp_path / "step.json").read_text())["records"]
    assert record["recurrent_steps"] > 0


def test_what_leaks_is_what_the_most_probable_action_does_not_get():
    model = load("base")
    (found,) = leakage.leakage(model)
    actions = model.network.actions(torch.arange(1, 13)[None, None])[0, 0].detach().double()
    assert list(found["leak"]) == list("0123456789+=")
    assert list(found["leak"].values()) == pytest.approx((1 - actions.amax(1)).tolist(), abs=1e-6)
    assert found["lost"] == pytest.approx(100 * float((actions[:10, NLP] + actions[:10, NOP]).mean()), rel=1e-4)
    assert list(found["actions"].values()) == ["TLU"] * 10 + ["NLP", "NOP"]


def test_both_adds_and_multiplies_from_left_to_right():
    """As whole numbers of Python do, also of problems as they are drawn."""
    both = operations.Both(3)
    drawn = sample(Space((1, 4), (1, 4)), 200, Stream.of_seeds([0], "cpu"), 0.5, both)
    for symbols, target in zip(drawn.symbols[0], drawn.targets_for(8)[0], strict=True):
        first, *others = both.parse(both.decode(symbols.tolist()))
        value = int(first, 3)
        for term in others:
            value = value * int(term[1:], 3) if term[0] == "*" else value + int(term[1:], 3)
        assert int(both.decode(target.tolist()) or "0", 3) == int(both.answer((first, *others)), 3) == value
    with pytest.raises(ExpressionError, match="factors of one"):
        both.parse("12*12")
