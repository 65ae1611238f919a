"""What goes wrong in Python is answered as well as on the command line: with the mend."""

# pyright: reportArgumentType=false, reportCallIssue=false

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gridsum
from gridsum.tasks import Addition, find, known_as


def train(*arguments: Any, **options: Any) -> Any:
    """As a person has it who expects it to begin."""
    return gridsum.train(*arguments, **{"out": "no-such-place", **options}, quiet=True)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        # names
        (lambda: train("dngpu", setting="own"), "dngpu has no setting 'own'; .*native"),
        (lambda: gridsum.load("exakt"), "did you mean 'exact'"),
        (lambda: gridsum.load("."), "no weights"),
        (lambda: train("base", settings={"zzzzqqqq": 3}), r"the fields are .*model\.width"),
        (lambda: train("base", settings={"epochs": 3}), "did you mean 'training.epochs'"),
        (lambda: train("base", task="addition"), "unknown task 'addition'; .*add, subtract"),
        (lambda: train("base", task="add:bas=2"), "takes no 'bas'; did you mean 'base'"),
        (lambda: gridsum.evaluate("exact", "2x"), "'2x'.*such as 2x"),
        (lambda: gridsum.load("base").solve("1+2", halting="ponder"), "cannot follow 'ponder'; use 'sampled' or"),
        (lambda: gridsum.load("fixedTime").solve("1+2", halting="median"), "cannot follow 'median'; use 'fixed'"),
        (lambda: gridsum.load("base").solve("1+2", placement="firm"), "unknown placement 'firm'; use auto, soft, hard"),
        (lambda: gridsum.load("base").run_with_cache("5+3", "step.atention"), r"did you mean 'step\.attention'"),
        (lambda: gridsum.trace("5+3").plot("placment"), "did you mean 'placement'"),
        (lambda: gridsum.export("exact", "a", to="onyx"), "unknown format 'onyx'; use hf, onnx, json"),
        # types
        (lambda: gridsum.evaluate([], "2x2"), "there is nothing to measure"),
        (lambda: gridsum.trace("9" * 6000 + "+1"), "too many to keep; trace a shorter sum"),
        (lambda: gridsum.evaluate(3, "2x3"), "3 cannot be measured; give a model"),
        (lambda: train("base", task=Addition), r"make one of it: Addition\(\)"),
        (lambda: train("base", []), "does not name seeds"),
        # one in another's place
        (lambda: gridsum.solve("base", "58+67"), r"a sum, not a model; .* gridsum.solve\('58\+67', "),
        (lambda: gridsum.load("base").solve("exact"), "'exact' is a model, not a sum"),
        (lambda: gridsum.evaluate("2x15", "base"), r"is a model, not a suite; .* evaluate\('base', "),
        (lambda: train("base", device="gpu"), "no device 'gpu'; use auto, cpu or cuda"),
        (lambda: gridsum.train("runs/mine"), "Name a folder: out='runs/mine'"),
        (lambda: train(start_from="base", task="subtract"), "setting and task are for a new training"),
        (lambda: gridsum.load("exact").solve("1+2", halting="median"), "halts at a fixed point"),
        (lambda: gridsum.load("base").solve("1+2", network=True), "is a network already"),
    ],
)  # fmt: skip
def test_a_natural_mistake_is_answered_with_the_mend(ask: Callable[[], Any], said: str, here: Path):
    with pytest.raises((ValueError, AttributeError), match=said):
        ask()
    assert not list(here.iterdir()), "nothing is begun"


def test_objects_of_one_class_are_tasks_of_their_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gridsum.tasks.registry._registered", {})
    based = type("Based", (Addition,), {"kind": "based"})  # of a base that its name tells
    for base in (2, 4):
        task = based(base)
        assert find(known_as(task)) is task
    assert find("based:base=2").alphabet.base == 2
    with pytest.raises(ValueError, match=r"unknown task 'based'; .*gridsum.tasks.register\('based', its class\)"):
        find("based:base=3")
