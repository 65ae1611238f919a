"""Ablations as data: each is a training that can be done, and together they leave out nothing."""

import pytest

from gridsum.ablations import ABLATIONS, CONTROL, ablations_of, has_control
from gridsum.config import fields_of, override
from gridsum.variants import PAPER_VARIANTS, VARIANTS, variant

# What makes `exact` what it is before any of its ingredients: how it halts, and how that is computed.
_NO_INGREDIENTS = {"model.halting", "model.tolerance", "objective.regulariser"}


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_changes_its_variant_and_says_why(name: str):
    changed, what, changes, why = ABLATIONS[name]
    assert why
    different = override(variant(changed), changes) != variant(changed)
    assert different == (what != CONTROL) or "training.precision" in changes
    assert name == f"{changed}-{what}"
    assert name not in VARIANTS
    assert what not in ABLATIONS, "a short name that were also a whole one could mean two things"


@pytest.mark.parametrize("name", [name for name in VARIANTS if has_control(name)])
def test_every_ingredient_is_dropped_once_and_nothing_else_is_changed(name: str):
    """Dropped alone, or together with what cannot be without it."""
    ingredients = set(VARIANTS[name]) - _NO_INGREDIENTS
    without = {path: value for path, (_, value) in fields_of(variant("base")).items()}
    dropped = [ablation.changes for ablation in ablations_of(name).values()]
    assert {path for changes in dropped for path in changes} == ingredients, "an ingredient is one more line of data"
    assert all(without[path] == value for changes in dropped for path, value in changes.items())
    assert len({frozenset(changes) for changes in dropped}) == len(dropped)


def test_every_variant_of_the_paper_that_decides_when_to_halt_can_be_read_as_running():
    deciding = [name for name in PAPER_VARIANTS if variant(name).model.halting == "ponder"]
    assert [ablation.variant for ablation in ABLATIONS.values() if ablation.name == "running"] == deciding
    assert not any(has_control(name) for name in PAPER_VARIANTS), "readings are compared with the variant itself"
    assert has_control("exact")


def test_every_variant_can_be_changed_in_some_point():
    assert {ablation.variant for ablation in ABLATIONS.values()} == set(VARIANTS)
