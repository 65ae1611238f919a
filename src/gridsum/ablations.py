"""Trainings that change a variant in one point, as data: which variant, what of it, and why that is worth knowing.

Those of `base` are other readings of what the paper leaves open, and are compared with `base` itself. Those of `exact`
drop one ingredient each; they may be trained for less long than `exact` was, so `whole`, which drops nothing and is
trained as they are, is what they are compared with.
"""

from typing import Any, NamedTuple


class Ablation(NamedTuple):
    variant: str
    changes: dict[str, Any]
    why: str


_RUNNING = {"objective.normalise": "running"}
_SAMPLED = {"objective.success": "sampled"}
_LARGER = {"task.spare_rows": 1, "task.spare_columns": 3}

ABLATIONS: dict[str, Ablation] = {
    "running": Ablation(
        "base", _RUNNING, "the loss of a step is divided by the class weight of the samples still running, not of all"
    ),
    "sampled": Ablation(
        "base", _SAMPLED, "Explore-Reinforce measures success at one halting step drawn from p, not in expectation"
    ),
    "larger-grid": Ablation("base", _LARGER, "grids have one row and one column more than the paper's formula"),
    "published": Ablation(
        "base",
        _RUNNING | _SAMPLED | _LARGER,
        "the three above together, which is how the published code reads the paper",
    ),
    "fp32": Ablation("base", {"training.precision": "fp32"}, "matrix products in full precision"),
    "whole": Ablation("exact", {}, "nothing is dropped: what the others are compared with"),
    "without-recall": Ablation(
        "exact",
        {"model.recall": False, "training.strangers": 0.0},
        "a step sees its own grid alone, so no problem can start from another's",
    ),
    "without-deep": Ablation(
        "exact", {"objective.deep": False}, "only the last reading counts, so answers may come late"
    ),
    "without-restarts": Ablation(
        "exact", {"training.restarts": 0.0}, "every problem starts from its own placement; so there are no strangers"
    ),
    "without-strangers": Ablation(
        "exact", {"training.strangers": 0.0}, "restarted problems start from states of their own alone"
    ),
    "without-noise": Ablation("exact", {"model.state_noise": 0.0}, "nothing disturbs a state in training"),
    "without-hardening": Ablation(
        "exact",
        {"model.harden": False, "training.certain": 0.0},
        "placement stays expected, and nothing is placed by certain actions",
    ),
    "without-certain": Ablation(
        "exact", {"training.certain": 0.0}, "placement hardens without the network having learnt from hard grids before"
    ),
}

CONTROL = "whole"


def ablations_of(variant: str) -> dict[str, Ablation]:
    return {name: ablation for name, ablation in ABLATIONS.items() if ablation.variant == variant}


def model_name(ablation: str) -> str:
    """What the trainings of an ablation are called, in folders and records."""
    return f"{ABLATIONS[ablation].variant}-{ablation}"


def has_control(variant: str) -> bool:
    """Whether a variant's ablations are compared with a control of their own, and not with the variant itself."""
    return CONTROL in ablations_of(variant)
