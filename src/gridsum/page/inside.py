"""What is measured once on a network of the paper, for all who look inside: its heads' rules, its ring of digits."""

from functools import cached_property
from typing import Any

import numpy as np

from gridsum.analysis.attention import CLEAR_SHARE, LEAST_SELECTIVITY, HeadRule, head_rules
from gridsum.analysis.ring import Ring, digit_vectors, ring
from gridsum.evaluation.solving import solve_watched
from gridsum.model.store import Model
from gridsum.tasks import find

REFERENCE = ("523+102+9416", "99999+1", "58+67", "1234567890+987654321", "7", "4096+88+350+61", "27182+81828")
"""The sums on which every head's rule is measured: of the size networks are trained on, with and without carries."""
CRITERION = (
    "How far a head is from looking everywhere alike, in bits, is the sum of three parts: position (it looks at the "
    "same neighbour from every cell), border (the edge of the grid), content (what is left to the vectors). A head is "
    f"named after position or content if that part makes up at least {CLEAR_SHARE:.0%} of the sum, and mixed "
    f"otherwise; with less than {LEAST_SELECTIVITY} bits it is unselective."
)
PLANE_PROBLEMS = 32
# Enough for a cloud that shows where the digits lie.
_PLANE_POINTS = 400
_DECIMALS = 4


class Inside:
    """The measurements of one model, each made when it is first asked for."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @cached_property
    def head_rules(self) -> list[HeadRule]:
        traces = [solve_watched(self.model, find().parse(expression), lambda _: None)[1] for expression in REFERENCE]
        return head_rules(self.model.network.step.attention, traces)

    @cached_property
    def ring(self) -> Ring:
        return ring(self.model.seeds[0], digit_vectors(self.model, PLANE_PROBLEMS)[0])

    def heads(self) -> dict[str, Any]:
        """What decides where each head looks."""
        heads = [
            {
                "head": rule.head,
                "label": rule.label,
                **{part: round(getattr(rule, part), _DECIMALS) for part in ("position", "border", "content")},
                "mean_attention": [round(weight, _DECIMALS) for weight in rule.mean_attention],
            }
            for rule in self.head_rules
        ]
        return {"model": self.model.name, "criterion": CRITERION, "reference": list(REFERENCE), "heads": heads}

    def plane(self) -> dict[str, Any]:
        """Where the vectors that read as digits lie on the plane of their two principal components."""
        ring = self.ring
        every = max(1, len(ring.points) // _PLANE_POINTS)
        present = [digit for digit, centroid in enumerate(ring.centroids) if not np.isnan(centroid).any()]
        return {
            "model": self.model.name,
            "explained": ring.plane.explained,
            **{name: getattr(ring.roundness, name, None) for name in ("adjacent", "p_value", "winding", "phase")},
            "centroids": _points(np.array(present), ring.centroids[present]),
            "points": _points(ring.digits[::every], ring.points[::every]),
        }

    def axes(self) -> dict[str, Any]:
        """What puts any vector onto that plane."""
        plane = self.ring.plane
        return {"mean": plane.mean.round(6).tolist(), "axes": plane.axes.round(6).tolist()}


def _points(digits: np.ndarray, points: np.ndarray) -> list[dict[str, Any]]:
    pairs = zip(digits.tolist(), points.round(_DECIMALS).tolist(), strict=True)
    return [{"digit": digit, "x": x, "y": y} for digit, (x, y) in pairs]
