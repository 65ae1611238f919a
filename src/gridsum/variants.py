"""The variants: the paper's `base`, and the others as what they change of it."""

import difflib
from typing import Any

from gridsum.config import Config, ConfigError
from gridsum.fields import override

PAPER_VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "noGroups": {"model.groups": 1},
    "SASA": {"model.heads": 8, "model.query_encoding": False},
    "fixedTime": {"model.halting": "fixed", "objective.regulariser": "none"},
    "ponderReg": {"objective.regulariser": "kl"},
}
VARIANTS: dict[str, dict[str, Any]] = PAPER_VARIANTS

MEANINGS: dict[str, str] = {
    "base": "the paper's system",
    "noGroups": "the paper's, with projections that are not split into groups",
    "SASA": "the paper's, with attention as originally defined",
    "fixedTime": "the paper's, with a fixed number of steps",
    "ponderReg": "the paper's, with PonderNet's regulariser",
}


def variant(name: str) -> Config:
    """The configuration of a variant."""
    if name not in VARIANTS:
        folded = {known.lower(): known for known in VARIANTS}
        near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.4)
        hint = f"did you mean {folded[near[0]]!r}? " if near else ""
        raise ConfigError(f"there is no variant {name!r}; {hint}The variants are {', '.join(VARIANTS)}")
    return override(Config(variant=name), VARIANTS[name])
