"""What a run can learn from what it shows: the table that it should become.

What a cell holds at rest is a function of its symbol, its right and its lower neighbour; among a few states, the
*siblings*, its left neighbour decides. Which of them stands to the right of a cell hangs on that cell itself, so they
count as the same there: what was seen beside one holds beside the other. The target is to go in one step to what is
held at rest, for any left neighbour.
"""

from dataclasses import dataclass

import numpy as np

from gridsum.automaton.minimise import NOISE, Behaviour

# A state counts as another choice if a context takes it in this share of its cases, in so many contexts (or in one for
# each digit, where the task has fewer digits).
_SIBLING_SHARE, _SIBLING_CONTEXTS = 0.02, 3
# All bits off, as every cell starts.
_START = 0
ANY = -1
"""In place of a state: any will do."""


@dataclass(frozen=True)
class TargetTable:
    """The table that a run should become."""

    states: np.ndarray
    """The bit pattern of each state, the start first."""
    targets: np.ndarray
    """[x, n+1, n+1, n+1]: own symbol, left, right, below → the number of a state, or ANY; n is outside."""


def siblings(counts: np.ndarray) -> np.ndarray:
    """The class of each state [n], of counts [x,left,right,below,own].

    States that one context takes, depending on its left neighbour alone, share a class if they also lead the cell to
    their left to the same state wherever both were seen: else they tell it something.
    """
    followed = counts.sum(1)
    digits = len(counts) - 2  # a cell holds a digit, the sign or nothing
    share = followed >= np.maximum(2, _SIBLING_SHARE * followed.sum(-1, keepdims=True))
    taken = share.reshape(-1, share.shape[-1]).astype(np.int64)
    together = taken.T @ taken >= min(_SIBLING_CONTEXTS, digits)
    classes = np.arange(counts.shape[-1])
    for a, b in zip(*np.nonzero(np.triu(together, 1)), strict=True):
        ours, theirs = followed[:, a], followed[:, b]
        shared = np.minimum(ours.sum(-1), theirs.sum(-1))
        to, other = ours.argmax(-1), theirs.argmax(-1)
        same = np.where(to == a, b, to) == np.where(other == a, b, other)
        if shared[~same].sum() <= NOISE * shared[same].sum():
            classes[classes == classes[a]] = classes[b]
    return classes


def target_table(behaviour: Behaviour) -> TargetTable:
    """What the run shows at rest, for any left neighbour. In contexts that it never shows any state will do."""
    counts, n = behaviour.counts, len(behaviour.states)
    classes = siblings(counts)
    # By the class of the right neighbour: what any of a class was seen to do counts for all of it.
    beside = np.append(classes, n)
    pooled = np.moveaxis(np.tensordot(counts, (beside[:, None] == beside).astype(counts.dtype), (2, 0)), -1, 2)
    total = pooled.sum(1)
    main = total.argmax(-1)
    usual = np.where(total.sum(-1) > 0, main, ANY)
    allowed = classes[main][..., None] == classes
    seen, choice = pooled * allowed[:, None], total * allowed
    several = ((choice > _SIBLING_SHARE * choice.sum(-1, keepdims=True)) & (choice > 1)).sum(-1) > 1
    # How each left neighbour decides among siblings, over all contexts where there is a choice.
    vote = np.einsum("xlrbo,xrb->lo", seen, several.astype(counts.dtype))
    # One that never decides, such as a digit with a carry, counts as those that read like it.
    read = np.append(behaviour.outputs, ANY)
    alike = (read[:, None] == read).astype(counts.dtype) @ vote
    voted, by_reading = (votes[:, None, None] * allowed[:, None] for votes in (vote, alike))
    voted = np.where(voted.any(-1, keepdims=True), voted, by_reading)
    targets = np.where(several[:, None] & voted.any(-1), voted.argmax(-1), usual[:, None])
    targets = np.where(seen.any(-1), seen.argmax(-1), targets)
    return _with_start(behaviour.states, targets, usual)


def _with_start(states: np.ndarray, targets: np.ndarray, usual: np.ndarray) -> TargetTable:
    """The same over the table's numbers. A start that is never at rest is a left neighbour like any other."""
    n, never = len(states), len(states) + 1
    targets = np.pad(targets, ((0, 0), *[(0, 1)] * 3), constant_values=ANY)
    targets[:, never, :never, :never] = usual
    start, others = np.flatnonzero(states == _START), np.flatnonzero(states != _START)
    places = np.array([*(start if len(start) else [never]), *others, n])
    number = np.full(n + 1, ANY)  # the last is that of ANY
    number[start] = 0
    number[others] = 1 + np.arange(len(others))
    return TargetTable(np.array([_START, *states[others]]), number[targets[:, places][:, :, places][:, :, :, places]])
