"""Models by their names: a shipped one, the folder of a trained seed, a weights file, or the JSON of a rule."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, overload

from gridsum.api.models import Model, ModelError, PaperModel
from gridsum.api.rules import RuleModel
from gridsum.api.traces import Trace
from gridsum.data.answers import Answer
from gridsum.io.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from gridsum.automaton.proof import Proof


def load(name: str | Path = DEFAULT_MODEL, device: str = "cpu") -> Model:
    """A model by the name of a shipped one, by the folder of a trained seed, by a weights file or the JSON of a rule.

    Examples:
        >>> load("base")
        <gridsum model base: base, 157,585 parameters>
    """
    from gridsum.automaton import files

    name = str(name)
    if "+" in name and not Path(name).exists():
        raise ModelError(f"{name!r} is a sum, not a model; the sum comes first: gridsum.solve({name!r}, 'exact')")
    if name.endswith(".json"):
        return RuleModel(name, None, files.read_rule(name))
    table = files.shipped_rule(name)
    if table is not None:  # without torch
        weights = files.SHIPPED / f"{name}.safetensors"
        return RuleModel(name, weights if weights.is_file() else None, table)
    from gridsum.config.registry import find
    from gridsum.model.store import configuration_of, load_runs, locate

    paths = locate(name)
    if len(paths) > 1:
        raise ModelError(f"{name} holds {len(paths)} trained seeds; name one of them, such as {paths[0].parent}")
    entry = find(configuration_of(paths[0]).variant)
    if entry.has_rule:
        return RuleModel(name, paths[0])
    if not entry.solves:
        raise ModelError(f"{paths[0]} is a run of {entry.name}, a baseline; gridsum evaluate measures it")
    from gridsum.ops.devices import pick_device

    return PaperModel(load_runs(name, paths, pick_device(device)))


def as_model(model: str | Path | Model) -> Model:
    return model if isinstance(model, Model) else load(model)


def rule_model(model: str | Path | Model) -> RuleModel:
    found = as_model(model)
    if not isinstance(found, RuleModel):
        raise ModelError(
            f"{found.name} has no rule to print or prove: its cells hold vectors, not bits, so no finite table "
            "describes it; use exact, or a run of gridsum train --variant exact"
        )
    return found


def prove(model: str | Path | Model = DEFAULT_MODEL) -> "Proof":
    """Check by enumeration that the rule of a model adds any number of terms of any length.

    Examples:
        >>> proof = prove("exact")
        >>> proof.proved, proof.failures
        (True, [])
    """
    return rule_model(model).prove()


@overload
def solve(  # type: ignore[overload-overlap]
    expressions: str, model: str | Path | Model = DEFAULT_MODEL
) -> Answer: ...


@overload
def solve(expressions: Iterable[str], model: str | Path | Model = DEFAULT_MODEL) -> list[Answer]: ...


def solve(expressions: str | Iterable[str], model: str | Path | Model = DEFAULT_MODEL) -> Answer | list[Answer]:
    """The answer of a model, by default `exact`, to a sum; or the list of its answers to several.

    `load(model).solve` takes more: how to halt, how to place.

    Examples:
        >>> solve("523+102+9416")
        <523+102+9416=10041, right, ... steps>
    """
    return as_model(model).solve(expressions)


def trace(expression: str, model: str | Path | Model = DEFAULT_MODEL) -> Trace:
    """All that happens inside a model, by default `exact`, while it works out a sum; `load(model).trace` takes more."""
    return as_model(model).trace(expression)
