"""What is measured once on a network of the paper, for all who look inside: its heads' rules, its ring of digits."""

from typing import Any

import numpy as np

from gridsum.analysis.attention import head_rules
from gridsum.analysis.ring import digit_vectors, ring
from gridsum.evaluation.solving import solve_traced
from gridsum.model.store import Model
from gridsum.tasks import find

REFERENCE = ("523+102+9416", "99999+1", "58+67", "1234567890+987654321", "7", "4096+88+350+61", "27182+81828")
"""The sums on which every head's rule is measured: of the size networks are trained on, with and without carries."""
_PLANE_PROBLEMS = 32
# Enough for a cloud that shows where the digits lie.
_PLANE_POINTS = 400
_DECIMALS = 4


def inside(model: Model) -> dict[str, Any]:
    """What decides where each head looks, and where vectors that read as digits lie on the plane of their two principal
    components, with what puts any vector onto it."""
    traces = [solve_traced(model, find().parse(expression))[1] for expression in REFERENCE]
    rules = head_rules(model.network.step.attention, traces)
    found = ring(model.seeds[0], digit_vectors(model, _PLANE_PROBLEMS)[0])
    every = max(1, len(found.points) // _PLANE_POINTS)
    present = [digit for digit, centroid in enumerate(found.centroids) if not np.isnan(centroid).any()]
    return {
        "heads": [{"label": rule.label, "position": round(rule.position, _DECIMALS)} for rule in rules],
        "plane": {
            **{name: getattr(found.roundness, name, None) for name in ("adjacent", "winding")},
            "centroids": _points(np.array(present), found.centroids[present]),
            "points": _points(found.digits[::every], found.points[::every]),
            "mean": found.plane.mean.round(6).tolist(),
            "axes": found.plane.axes.round(6).tolist(),
        },
    }


def _points(digits: np.ndarray, points: np.ndarray) -> list[dict[str, Any]]:
    pairs = zip(digits.tolist(), points.round(_DECIMALS).tolist(), strict=True)
    return [{"digit": digit, "x": x, "y": y} for digit, (x, y) in pairs]
