"""Trainings that change a variant in one point, as data: which variants, what of them, and why that is worth knowing.

Those of the paper's variants are other readings of what the paper leaves open, and are compared with the variant
itself. Those of `exact` drop one ingredient each; they may be trained for less long than `exact` was, so `whole`, which
drops nothing and is trained as they are, is what they are compared with.
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
_BASE, _EXACT = ("base",), ("exact",)

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
    "whole": _Change(_EXACT, {}, "nothing is dropped: what the others are compared with"),
    "without-recall": _Change(
        _EXACT,
        {"model.recall": False, "training.strangers": 0.0},
        "a step sees its own grid alone, so no problem can start from another's",
    ),
    "without-deep": _Change(
        _EXACT, {"objective.deep": False}, "only the last reading counts, so answers may come late"
    ),
    "without-restarts": _Change(
        _EXACT, {"training.restarts": 0.0}, "every problem starts from its own placement; so there are no strangers"
    ),
    "without-strangers": _Change(
        _EXACT, {"training.strangers": 0.0}, "restarted problems start from states of their own alone"
    ),
    "without-noise": _Change(_EXACT, {"model.state_noise": 0.0}, "nothing disturbs a state in training"),
    "without-repeats": _Change(
        _EXACT, {"task.repeats": 0.0}, "every digit is independent of the others, so runs of one digit hardly occur"
    ),
    "without-hardening": _Change(
        _EXACT,
        {"model.harden": False, "training.certain": 0.0},
        "placement stays expected, and nothing is placed by certain actions",
    ),
    "without-certain": _Change(
        _EXACT, {"training.certain": 0.0}, "placement hardens without the network having learnt from hard grids before"
    ),
}

CONTROL = "whole"
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


def has_control(variant: str) -> bool:
    """Whether a variant's ablations are compared with a control of their own, and not with the variant itself."""
    return f"{variant}-{CONTROL}" in ABLATIONS
