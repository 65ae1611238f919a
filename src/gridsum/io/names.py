"""The names of the models that come with gridsum, as data; and what is said of a name that does not exist."""

import difflib
from collections.abc import Iterable

DEFAULT_MODEL = "exact"
"""Answers wherever no model is named."""
INSIDE_MODEL = "base"
"""Is shown wherever the inside of the paper's networks is looked at and no model is named."""

MODELS: dict[str, str] = {
    "exact": "any sum: proved to add any number of terms of any length",
    "base": "the paper's network: up to 4 terms of up to 10 random digits, and most sums of 5 or 6 terms",
    "noGroups": "two long terms, up to 600 random digits: the paper's best on digits",
    "SASA": "comparing: attention as originally defined",
    "fixedTime": "comparing: always 12 steps",
    "ponderReg": "comparing: PonderNet's own regulariser",
}
"""The shipped models, and what each is to be used for."""


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
