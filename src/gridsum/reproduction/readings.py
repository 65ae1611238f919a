"""Other readings of what the paper leaves open, as what they change of `base`, and why each is worth trying."""

from typing import Any, NamedTuple


class Reading(NamedTuple):
    changes: dict[str, Any]
    why: str


_RUNNING = {"objective.normalise": "running"}
_SAMPLED = {"objective.success": "sampled"}
_LARGER = {"task.spare_rows": 1, "task.spare_columns": 3}

READINGS: dict[str, Reading] = {
    "running": Reading(
        _RUNNING, "the loss of a step is divided by the class weight of the samples still running, not of all"
    ),
    "sampled": Reading(
        _SAMPLED, "Explore-Reinforce measures success at one halting step drawn from p, not in expectation"
    ),
    "larger-grid": Reading(_LARGER, "grids have one row and one column more than the paper's formula"),
    "published": Reading(
        _RUNNING | _SAMPLED | _LARGER, "the three above together, which is how the published code reads the paper"
    ),
    "fp32": Reading({"training.precision": "fp32"}, "matrix products in full precision"),
}


def model_name(reading: str) -> str:
    """What the trainings of a reading are called, in folders and records."""
    return f"base-{reading}"
