"""What a run can learn from what it shows: the table that it should become."""

from dataclasses import dataclass

import numpy as np

from gridsum.automaton.minimise import Behaviour
from gridsum.automaton.observe import KINDS

# A code counts as a neighbour's other choice if a context takes it in this share of its cases, in so many contexts (or
# in one for each digit, where the task has fewer digits).
_SIBLING_SHARE, _SIBLING_CONTEXTS = 0.02, 3
# Two states act alike if this share of what they do together differs at most.
_ALIKE = 0.1
# All bits off, as every cell starts.
_START = 0
ANY = -1
"""In place of a code: any will do."""


def siblings(behaviour: Behaviour, kinds: np.ndarray) -> np.ndarray:
    """The class of each code in cells of each kind [kinds, n].

    Codes that one context takes, depending on its left neighbour alone, share a class if they also lead the cell to
    their left to the same code wherever both were seen: else they tell it something. What holds for cells of all kinds
    together holds for each; some codes are siblings in one kind alone.
    """
    followed, beside = behaviour.counts.sum((1, 2)), behaviour.counts.sum(2)
    classes = np.arange(len(behaviour.codes))
    enough = min(_SIBLING_CONTEXTS, len(kinds) - 2)  # a cell holds a digit, the sign or nothing
    _join(classes, followed, beside.sum(1), enough)
    classes = np.tile(classes, (KINDS, 1))
    for kind in range(KINDS):
        _join(classes[kind], followed[kinds == kind], beside[:, kind], enough)
    return classes


def _join(classes: np.ndarray, followed: np.ndarray, beside: np.ndarray, enough: int) -> None:
    """Give one class to codes that `followed` [x,right,below,own] takes together, in contexts enough, and `beside`
    finds alike."""
    share = followed >= np.maximum(2, _SIBLING_SHARE * followed.sum(-1, keepdims=True))
    taken = share.reshape(-1, share.shape[-1]).astype(np.int64)
    together = taken.T @ taken >= enough
    for a, b in zip(*np.nonzero(np.triu(together, 1)), strict=True):
        same, different = _agreement(beside, 1, a, b)
        if different <= _ALIKE * same:
            classes[classes == classes[a]] = classes[b]


def _agreement(counts: np.ndarray, axis: int, code: int, other: int) -> tuple[int, int]:
    """In how many cases two codes at `axis` of a context lead to the same code, and to different ones."""
    ours, theirs = (np.moveaxis(counts, axis, 0)[which] for which in (code, other))
    shared = np.minimum(ours.sum(-1), theirs.sum(-1))
    seen = shared > 0
    a, b = ours[seen].argmax(-1), theirs[seen].argmax(-1)
    equal = np.where(a == code, other, a) == np.where(b == code, other, b)
    return int(shared[seen][equal].sum()), int(shared[seen][~equal].sum())


@dataclass(frozen=True)
class Lesson:
    """The table that a run should become."""

    codes: np.ndarray
    """The codes in use, as bits, the start first."""
    targets: np.ndarray
    """[12, n+1, n+1, n+1]: own symbol, left, right, below → the number of a code, or ANY; n is outside."""


def lesson(behaviour: Behaviour, kinds: np.ndarray) -> Lesson:
    """What the run shows at rest, for any left neighbour. In contexts that it never shows any code in use will do.

    `kinds` [12] are those of cells by their symbol.
    """
    counts, classes = behaviour.counts, siblings(behaviour, kinds)
    n = len(behaviour.codes)
    # By the class of the right neighbour: what any of a class was seen to do counts for all of it.
    pooled = counts[:, KINDS].astype(np.int64)
    for kind in range(KINDS):
        own = np.append(classes[kind], n)
        same = (own[:, None] == own).astype(np.int64)
        pooled += np.moveaxis(np.tensordot(counts[:, kind], same, (2, 0)), -1, 2)
    total = pooled.sum(1)
    main = total.argmax(-1)
    usual = np.where(total.sum(-1) > 0, main, ANY)
    own = classes[kinds]
    allowed = own[np.arange(len(kinds))[:, None, None], main][..., None] == own[:, None, None]
    seen = pooled * allowed[:, None]
    choice = total * allowed
    several = ((choice > _SIBLING_SHARE * choice.sum(-1, keepdims=True)) & (choice > 1)).sum(-1) > 1
    # How each left neighbour decides among siblings, over all contexts of a kind where there is a choice.
    decided = np.einsum("xlrbo,xrb->xlo", seen, several.astype(np.int64))
    vote = np.stack([decided[kinds == kind].sum(0) for kind in range(KINDS)])
    voted = vote[kinds][:, :, None, None] * allowed[:, None]
    # One that never decides, such as a digit with a carry, counts as those that read like it.
    read = np.append(behaviour.reading, ANY)
    alike = np.einsum("kmo,ml->klo", vote, (read[:, None] == read).astype(np.int64))
    voted = np.where(voted.any(-1, keepdims=True), voted, alike[kinds][:, :, None, None] * allowed[:, None])
    targets = np.where((several[:, None] & (voted.sum(-1) > 0)), voted.argmax(-1), usual[:, None])
    targets = np.where(seen.sum(-1) > 0, seen.argmax(-1), targets)
    return _with_start(behaviour, targets, usual)


def _with_start(behaviour: Behaviour, targets: np.ndarray, usual: np.ndarray) -> Lesson:
    """The same over the table's numbers. A start that is never at rest is a left neighbour like any other."""
    codes, n = behaviour.codes, len(behaviour.codes)
    never = n + 1
    targets = np.pad(targets, ((0, 0), *[(0, 1)] * 3), constant_values=ANY)
    targets[:, never, :never, :never] = usual
    others = np.flatnonzero(codes != _START)
    start = np.flatnonzero(codes == _START)
    places = np.array([*(start if len(start) else [never]), *others, n])
    number = np.full(n + 1, ANY)  # the last is that of ANY
    number[:n][codes == _START] = 0
    number[others] = 1 + np.arange(len(others))
    return Lesson(np.array([_START, *codes[others]]), number[targets[:, places][:, :, places][:, :, :, places]])
