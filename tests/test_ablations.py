"""Ablations as data: each is a training that can be done, and together they leave out nothing."""

import pytest

from gridsum.ablations import ABLATIONS, SPECIFIED, ablations_of, leaves_alone, reading_of
from gridsum.config import Config
from gridsum.fields import following, override
from gridsum.model.network import Network
from gridsum.training.gradients import EagerGradients
from gridsum.variants import PAPER_VARIANTS, VARIANTS, variant
from tests.training.test_gradients import tiny


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_changes_its_variant_and_says_why(name: str):
    changed, what, changes, why = ABLATIONS[name]
    assert why
    different = override(variant(changed), changes) != variant(changed)
    assert different or "training.precision" in changes
    assert name == f"{changed}-{what}"
    assert name not in VARIANTS
    assert what not in ABLATIONS, "a short name that were also a whole one could mean two things"


def test_every_variant_of_the_paper_that_decides_when_to_halt_can_be_read_as_running():
    deciding = [name for name in PAPER_VARIANTS if variant(name).model.halting == "ponder"]
    assert [ablation.variant for ablation in ABLATIONS.values() if ablation.name == "running"] == deciding


def test_every_variant_of_the_paper_can_be_read_as_the_published_code_does():
    so_read = [ablation for ablation in ABLATIONS.values() if ablation.name == "published"]
    assert [ablation.variant for ablation in so_read] == list(PAPER_VARIANTS)
    parts = ("running", "sampled", "larger-grid")
    together = {path: value for part in parts for path, value in ABLATIONS[f"base-{part}"].changes.items()}
    assert all(ablation.changes == together for ablation in so_read)


def _small(name: str) -> Config:
    """Small, but with problems enough for some to halt before others."""
    return tiny(name, **{"training.batch": 64})


def _train_alike(config: Config, other: Config) -> bool:
    """Whether a step has the same gradient, but for rounding."""
    first, second = (
        EagerGradients(Network(given.model, (1,)).double(), given, (1,))(3).gradient for given in (config, other)
    )
    return bool((first - second).norm() < 1e-6 * first.norm())


_READINGS = list(dict.fromkeys(ablation.name for ablation in ABLATIONS.values() if ablation.variant in PAPER_VARIANTS))


@pytest.mark.parametrize("name", PAPER_VARIANTS)
@pytest.mark.parametrize("reading", [reading for reading in _READINGS if reading != "fp32"])
def test_a_reading_leaves_a_variant_alone_where_it_trains_the_same(reading: str, name: str):
    config = _small(name)
    read = override(config, ABLATIONS[f"base-{reading}"].changes)
    assert _train_alike(config, read) == leaves_alone(reading, name)
    assert not (leaves_alone(reading, name) and f"{name}-{reading}" in ABLATIONS)


@pytest.mark.parametrize("name", ["fixedTime", "ponderReg"])
def test_of_the_published_reading_some_variants_take_a_part_alone(name: str):
    """Which the reading says of itself: fixedTime the larger grid, ponderReg that and `running`."""
    parts = {"fixedTime": ("larger-grid",), "ponderReg": ("larger-grid", "running")}[name]
    config = _small(name)
    alone = override(
        config, {path: value for part in parts for path, value in ABLATIONS[f"base-{part}"].changes.items()}
    )
    whole = override(config, ABLATIONS[f"{name}-published"].changes)
    assert _train_alike(alone, whole)


@pytest.mark.parametrize("name", [name for of in PAPER_VARIANTS for name in ablations_of(of)])
def test_a_configuration_tells_the_reading_it_is_of(name: str):
    """Of a training that went on from the reading's as well, and in whatever precision."""
    of, reading, changes, _ = ABLATIONS[name]
    read = override(variant(of), changes)
    further = override(following(read), {"objective.weight": 5e-4, "training.precision": "bf16"})
    expected = SPECIFIED if reading == "fp32" else reading
    assert reading_of(read, variant(of)) == reading_of(further, variant(of)) == expected
    assert reading_of(variant(of), variant(of)) == SPECIFIED


def test_a_configuration_that_no_reading_has_tells_its_fields():
    other = override(variant("SASA"), {"objective.normalise": "running", "task.spare_rows": 1})
    assert reading_of(other, variant("SASA")) == "objective.normalise=running, task.spare_rows=1"


def test_every_variant_can_be_changed_in_some_point():
    assert {ablation.variant for ablation in ABLATIONS.values()} == set(VARIANTS)
