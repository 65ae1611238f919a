"""The variants: the paper's `base`, and the others as what they change of it."""

from dataclasses import fields
from typing import Any

from gridsum.config.exact import ExactConfig
from gridsum.config.fields import override
from gridsum.config.paper import Config, ConfigError, TaskConfig
from gridsum.io.names import did_you_mean
from gridsum.tasks import DEFAULT, find

PAPER_VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "noGroups": {"model.groups": 1},
    "SASA": {"model.heads": 8, "model.query_encoding": False},
    "fixedTime": {"model.halting": "fixed", "objective.regulariser": "none"},
    "ponderReg": {"objective.regulariser": "kl"},
}
VARIANTS: dict[str, dict[str, Any]] = PAPER_VARIANTS

READINGS: dict[str, dict[str, Any]] = {
    "text": {
        "task.spare_rows": 0,
        "task.spare_columns": 2,
        "objective.truncate_prior": True,
        "objective.success": "expected",
        "objective.normalise": "batch",
    }
}
"""Other ways to read what the paper leaves open, as what they change of every variant. The defaults read it as the
published code does; `text` follows the words of the paper alone."""

MEANINGS: dict[str, str] = {
    "base": "the paper's system",
    "noGroups": "the paper's, with projections that are not split into groups",
    "SASA": "the paper's, with attention as originally defined",
    "fixedTime": "the paper's, with a fixed number of steps",
    "ponderReg": "the paper's, with PonderNet's regulariser",
}


def variant(name: str, reading: str | None = None, task: str | None = None) -> Config:
    """The configuration of a variant, under another reading of the paper and for another task if one is named."""
    if name not in VARIANTS:
        exact = ExactConfig().variant
        if name == exact:
            raise ConfigError(f"{name} has a recipe of its own; here name one of the paper's, {', '.join(VARIANTS)}")
        known = (exact, *VARIANTS)
        mend = did_you_mean(name, known, f"the variants are {', '.join(known)}")
        raise ConfigError(f"there is no variant {name!r}; {mend}")
    if reading is not None and reading not in READINGS:
        mend = did_you_mean(reading, READINGS, f"the other readings are {', '.join(READINGS)}")
        raise ConfigError(f"there is no reading {reading!r}; {mend}")
    changes = VARIANTS[name] | (READINGS[reading] if reading else {})
    if task is not None:
        changes = changes | {"task.name": task}
        most = find(task).most_terms
        if most is not None:
            few = min(most, TaskConfig().terms[1])
            changes |= {"task.terms": (1, few), "task.group_bounds": tuple(range(1, few))[:1]}
    return override(Config(variant=name), changes)


SMALL: dict[str, Any] = {
    "rule.hidden": 128,
    **{f"phases.{phase}.terms": (1, 3) for phase in ("soft", "anneal", "hard", "robust")},
    **{f"phases.{phase}.digits": (1, 3) for phase in ("soft", "anneal", "hard")},
    "phases.soft.recurrent": (3, 8),
    "phases.anneal.recurrent": (4, 8),
    "phases.hard.recurrent": (4, 8),
    "phases.robust.digits": (1, 5),
    "phases.robust.recurrent": (6, 12),
}
"""What makes `exact` small enough for a CPU: a smaller network, and shorter sums to learn from."""


def exact_for(task: str | None = None, small: bool = False) -> ExactConfig:
    """The configuration of `exact` for a task: phases have no more terms than it takes."""
    config = override(ExactConfig(task=task or DEFAULT), SMALL if small else {})
    most = find(config.task).most_terms
    if most is None:
        return config
    shortened = {
        f"phases.{item.name}.terms": (1, min(most, getattr(config.phases, item.name).terms[1]))
        for item in fields(config.phases)
    }
    return override(config, shortened)
