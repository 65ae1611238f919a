"""The names of the models that come with gridsum, as data; and what is said of a name that does not exist."""

import difflib
from collections.abc import Iterable
from typing import NamedTuple

DEFAULT_MODEL = "exact"
"""Answers wherever no model is named."""
INSIDE_MODEL = "base"
"""Is shown wherever the inside of the paper's networks is looked at and no model is named."""

MODELS: dict[str, str] = {
    "exact": "any sum: proved to add any number of terms of any length",
    "base": "the paper's system: up to 4 terms of up to 10 digits, and somewhat beyond",
    "base-terms": "more terms, 5 to 10: base trained further; the base of the paper's Tables III to V",
    "base-digits": "comparing: base trained further, good at two long terms and at little else",
    "noGroups": "long terms, up to 4000 digits, and up to 6 terms: the best all-round of the paper's",
    "SASA": "comparing: attention as originally defined",
    "fixedTime": "comparing: always 12 steps",
    "ponderReg": "comparing: PonderNet's own regulariser",
}
"""The shipped models, and what each is to be used for."""


class Alias(NamedTuple):
    model: str
    same: bool
    """Whether these are the very weights that had the other name."""


ALIASES: dict[str, Alias] = {
    "base-published": Alias("base", True),
    "base-published-overtrained": Alias("base-digits", True),
    "base-published-overtrained-terms": Alias("base-terms", True),
    "base-standard": Alias("base", False),
    "base-overtrained": Alias("base-terms", False),
    "base-overtrained-digits": Alias("base-digits", False),
    "noGroups-published-overtrained": Alias("noGroups", True),
    "noGroups-published-overtrained-terms": Alias("noGroups", False),
    "noGroups-published": Alias("noGroups", False),
    "noGroups-overtrained": Alias("noGroups", False),
    "noGroups-standard": Alias("noGroups", False),
    "SASA-published": Alias("SASA", True),
    "SASA-standard": Alias("SASA", False),
    "fixedTime-published": Alias("fixedTime", True),
    "ponderReg-published": Alias("ponderReg", True),
}
"""Names that models had in 0.1.0, and what stands for each."""


def resolve(name: str) -> tuple[str, str]:
    """The name that a model has now, and a note for the person where that is another than the one given."""
    if name not in ALIASES:
        return name, ""
    model, same = ALIASES[name]
    if same:
        return model, f"{name} is called {model} now"
    return model, f"{name} no longer comes with gridsum; {model}, which has other weights, stands for it"


def did_you_mean(name: str, known: Iterable[str], advice: str) -> str:
    """What to do about a name that does not exist: `advice`, after the nearest name if there is one."""
    folded = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
    return meant(folded[near[0]], advice) if near else advice


def meant(name: str, advice: str) -> str:
    shown = name if name.startswith("-") else repr(name)
    return f"did you mean {shown}? {advice[:1].upper()}{advice[1:]}".rstrip()


def printable(text: str) -> str:
    """A text for a terminal: what would move its cursor or colour it, in a name from a file, is shown as `?`."""
    return "".join(character if character.isprintable() or character in "\n\t" else "?" for character in text)
