"""Trainings that change a variant in one point, as data: which variants, what of them, and why that is worth knowing.

They are other readings of what the paper leaves open, and are compared with the variant itself.
"""

from typing import Any, NamedTuple

from gridsum.config import Config
from gridsum.fields import fields_of


class Ablation(NamedTuple):
    variant: str
    name: str
    """What is changed, in a word; several variants may be changed alike."""
    changes: dict[str, Any]
    why: str


class _Change(NamedTuple):
    variants: tuple[str, ...]
    changes: dict[str, Any]
    why: str
    alike: tuple[str, ...] = ()
    """The paper's variants whose training it would leave as it is, so that they need no other."""


_RUNNING = {"objective.normalise": "running"}
_SAMPLED = {"objective.success": "sampled"}
_LARGER = {"task.spare_rows": 1, "task.spare_columns": 3}
_OPEN = (*_RUNNING, *_SAMPLED, *_LARGER)
"""The fields by which readings of the paper differ."""
_DECIDING = ("base", "noGroups", "SASA", "ponderReg")
"""The paper's variants that decide when to halt. Where all samples run to the end, `running` changes nothing."""
_EVERY = ("base", "noGroups", "SASA", "fixedTime", "ponderReg")
_BASE = ("base",)

_CHANGES: dict[str, _Change] = {
    "running": _Change(
        _DECIDING,
        _RUNNING,
        "the loss of a step is divided by the class weight of the samples still running, not of all",
        alike=("fixedTime",),
    ),
    "sampled": _Change(
        _BASE,
        _SAMPLED,
        "Explore-Reinforce measures success at one halting step drawn from p, not in expectation",
        alike=("fixedTime", "ponderReg"),
    ),
    "larger-grid": _Change(_BASE, _LARGER, "grids have one row and one column more than the paper's formula"),
    "published": _Change(
        _EVERY,
        _RUNNING | _SAMPLED | _LARGER,
        "running, sampled and larger-grid together, which is how the published code reads the paper, but that it draws "
        "the halting step in a pass of its own, without dropout, and this in the pass of training; sampled changes "
        "nothing of ponderReg and fixedTime, which have no Explore-Reinforce, nor does running of fixedTime, whose "
        "samples all run to the end",
    ),
    "fp32": _Change(("base", "noGroups"), {"training.precision": "fp32"}, "matrix products in full precision"),
}

SPECIFIED = "specified"
"""In place of a reading's name: the variant itself."""

ABLATIONS: dict[str, Ablation] = {
    f"{variant}-{name}": Ablation(variant, name, change.changes, change.why)
    for name, change in _CHANGES.items()
    for variant in change.variants
}
"""By the name of the training, in folders and records: VARIANT-NAME."""


def ablations_of(variant: str) -> dict[str, Ablation]:
    return {name: ablation for name, ablation in ABLATIONS.items() if ablation.variant == variant}


def leaves_alone(name: str, variant: str) -> bool:
    """Whether the change called `name` changes nothing of a variant's training."""
    return variant in _CHANGES[name].alike


def reading_of(config: Config, specified: Config) -> str:
    """How a configuration reads what the paper leaves open, seen from its variant's own configuration.

    The name of the reading; where none has it so, the fields themselves.
    """
    ours, theirs = ({path: value for path, (_, value) in fields_of(side).items()} for side in (config, specified))

    def apart(values: dict[str, Any]) -> dict[str, Any]:
        return {path: values[path] for path in _OPEN if path in values and values[path] != theirs[path]}

    differing = apart(ours)
    if not differing:
        return SPECIFIED
    readings = ablations_of(specified.variant).values()
    named = next((ablation.name for ablation in readings if apart(ablation.changes) == differing), None)
    return named or ", ".join(f"{path}={value}" for path, value in differing.items())
