"""The paper's variants: `base`, and the others as what they change of it."""

import difflib
from typing import Any

from gridsum.config import Config, ConfigError, override

VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "noGroups": {"model.groups": 1},
    "SASA": {"model.heads": 8, "model.query_encoding": False},
    "fixedTime": {"model.halting": "fixed", "objective.regulariser": "none"},
    "ponderReg": {"objective.regulariser": "kl"},
}


def variant(name: str) -> Config:
    """The configuration of a variant."""
    if name not in VARIANTS:
        folded = {known.lower(): known for known in VARIANTS}
        near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.4)
        hint = f"did you mean {folded[near[0]]!r}? " if near else ""
        raise ConfigError(f"there is no variant {name!r}; {hint}The variants are {', '.join(VARIANTS)}")
    return override(Config(variant=name), VARIANTS[name])
