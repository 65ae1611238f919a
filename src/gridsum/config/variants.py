"""The variants: the paper's `base`, and the others as what they change of it."""

from typing import Any

from gridsum.config.fields import Changes, override
from gridsum.config.paper import Config, TaskConfig
from gridsum.tasks import find

PAPER_VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "noGroups": {"model.groups": 1},
    "SASA": {"model.heads": 8, "model.query_encoding": False},
    "fixedTime": {"model.halting": "fixed", "objective.regulariser": "none"},
    "ponderReg": {"objective.regulariser": "kl"},
}
"""The paper's own, which the study is about."""
VARIANTS: dict[str, dict[str, Any]] = {**PAPER_VARIANTS}
"""All of them; add yours here."""

INTERPRETATIONS: dict[str, dict[str, Any]] = {
    "text": {
        "task.spare_rows": 0,
        "task.spare_columns": 2,
        "objective.truncate_prior": True,
        "objective.success": "expected",
        "objective.normalise": "batch",
    }
}
"""Other interpretations of what the paper leaves open, as what they change of every variant. The defaults follow the
published code; `text` follows the words of the paper alone."""


def variant(name: str, setting: str | None = None, task: str | None = None, changes: Changes = None) -> Config:
    """The configuration of a variant in a setting, such as another interpretation, and for another task."""
    few: dict[str, Any] = {}
    if task is not None:
        most = find(task).most_terms
        few = {"task.name": task}
        if most is not None:
            terms = min(most, TaskConfig().terms[1])
            few |= {"task.terms": (1, terms), "task.bucket_bounds": tuple(range(1, terms))[:1]}
    deltas = {**VARIANTS[name], **(INTERPRETATIONS[setting] if setting else {}), **few, **(changes or {})}
    return override(Config(variant=name), deltas)


SMALL: dict[str, Any] = {
    "rule.bits": 10,
    "rule.hidden": 128,
    "discovery.batch": 64,
    **{f"phases.{phase}.terms": (1, 3) for phase in ("soft", "bits", "long")},
    **{f"phases.{phase}.digits": (1, 3) for phase in ("soft", "bits")},
    "phases.soft.recurrent": (3, 8),
    "phases.bits.recurrent": (4, 8),
    "phases.long.digits": (1, 5),
    "phases.long.recurrent": (6, 12),
}
"""What makes `exact` small enough for a CPU: a smaller network, surer with more bits, and fewer and shorter sums."""
