"""Ablations as data: each is a training that can be done, and together they leave out nothing."""

import pytest

from gridsum.ablations import ABLATIONS, CONTROL, ablations_of, has_control, model_name
from gridsum.cli.reproduce import ABLATED
from gridsum.config import fields_of, override
from gridsum.variants import VARIANTS, variant

# What makes `exact` what it is before any of its ingredients: how it halts, and how that is computed.
_NO_INGREDIENTS = {"model.halting", "model.tolerance", "objective.regulariser"}


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_changes_its_variant_and_says_why(name: str):
    changed, changes, why = ABLATIONS[name]
    assert why
    different = override(variant(changed), changes) != variant(changed)
    assert different == (name != CONTROL) or "training.precision" in changes
    assert model_name(name) == f"{changed}-{name}"
    assert model_name(name) not in VARIANTS


@pytest.mark.parametrize("name", [name for name in VARIANTS if has_control(name)])
def test_every_ingredient_is_dropped_once_and_nothing_else_is_changed(name: str):
    """Dropped alone, or together with what cannot be without it."""
    ingredients = set(VARIANTS[name]) - _NO_INGREDIENTS
    without = {path: value for path, (_, value) in fields_of(variant("base")).items()}
    dropped = [ablation.changes for ablation in ablations_of(name).values()]
    assert {path for changes in dropped for path in changes} == ingredients, "an ingredient is one more line of data"
    assert all(without[path] == value for changes in dropped for path, value in changes.items())
    assert len({frozenset(changes) for changes in dropped}) == len(dropped)


def test_the_readings_of_base_are_compared_with_base():
    assert not has_control("base")
    assert has_control("exact")
    assert list(ABLATED) == list(dict.fromkeys(ablation.variant for ablation in ABLATIONS.values()))
