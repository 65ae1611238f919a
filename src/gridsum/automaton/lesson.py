"""What a run can learn from what it shows: codes that are one and the same, and the table that it should become."""

from dataclasses import dataclass

import numpy as np

from gridsum.automaton.observe import KINDS, Observed

# A code counts as a neighbour's other choice if a context takes it in this share of its cases, in so many contexts (or
# in one for each digit, where the task has fewer digits).
_SIBLING_SHARE, _SIBLING_CONTEXTS = 0.02, 3
# Two codes act alike if this share of what they do together differs at most, over at least so many cases.
_ALIKE, _TOGETHER = 0.1, 3
# All bits off, as every cell starts.
_START = 0
ANY = -1
"""In place of a code: any will do."""


@dataclass(frozen=True)
class Behaviour:
    """How often each code follows each context, over the codes in use."""

    codes: np.ndarray
    """The bit pattern of each code in use, and of those merged into it the most frequent."""
    counts: np.ndarray
    """[12, kinds + 1, n+1, n+1, n+1, n]: own symbol, kind of the right cell, left, right, below, own; n is outside."""
    members: dict[int, int]
    """Every code that was seen often, as bits → the number of the one it was merged into."""
    reading: np.ndarray
    """The symbol that each code reads as."""


def merge(observed: Observed, reading: np.ndarray, rare: float) -> Behaviour:
    """The codes in use, those that read alike and act alike taken together."""
    windows, counts = observed.windows, observed.counts
    outside = len(reading)
    frequency = np.bincount(windows[:, 4], counts, minlength=outside)
    used = np.flatnonzero(frequency >= max(1, rare * counts.sum()))
    number = np.full(outside + 1, -1)
    number[used] = np.arange(len(used))
    number[outside] = len(used)
    rows = np.column_stack((windows[:, 0], number[windows[:, 1:5]]))
    known = (rows >= 0).all(1) & (rows[:, 4] < len(used))
    side = len(used) + 1
    dense = np.zeros((observed.symbols, side, side, side, len(used)), np.int64)
    np.add.at(dense, tuple(rows[known].T), counts[known])
    into = np.arange(len(used))
    order = sorted(range(len(used)), key=lambda code: -frequency[used[code]])
    again = True
    while again:
        again = False
        for place, code in enumerate(order):
            for other in order[:place]:
                alive = into[code] == code and into[other] == other
                if alive and reading[used[code]] == reading[used[other]] and _alike(dense, code, other):
                    for axis in range(1, 5):
                        lanes = np.moveaxis(dense, axis, 0)
                        lanes[other] += lanes[code]
                        lanes[code] = 0
                    into[into == code] = other
                    again = True
    kept = np.flatnonzero(into == np.arange(len(used)))
    position = {int(code): index for index, code in enumerate(kept)}
    members = {int(used[code]): position[int(into[code])] for code in range(len(used))}
    into_kept = np.full(outside + 1, -1)
    into_kept[list(members)] = list(members.values())
    into_kept[outside] = len(kept)
    rows = np.column_stack((windows[known, 0], windows[known, 5], into_kept[windows[known, 1:5]]))
    behaviour = np.zeros((observed.symbols, KINDS + 1, *[len(kept) + 1] * 3, len(kept)), np.int32)
    np.add.at(behaviour, tuple(rows.T), counts[known])
    return Behaviour(used[kept], behaviour, members, reading[used[kept]])


def _alike(dense: np.ndarray, code: int, other: int) -> bool:
    """Whether neighbours of either code come to the same code, wherever both were seen in the same context.

    On its right and below a cell's code is seen whatever stands to the left of the one that sees it. Each side must
    agree: codes of one digit with and without a carry differ to their left alone.
    """
    over_left = dense.sum(1)
    together = 0
    for counts, axis in ((dense, 1), (over_left, 1), (over_left, 2)):
        same, different = _agreement(counts, axis, code, other)
        if different > _ALIKE * same:
            return False
        together += same
    return bool(together >= _TOGETHER)


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
    places = np.array([behaviour.members.get(_START, never), *others, n])
    number = np.full(n + 1, ANY)  # the last is that of ANY
    number[:n][codes == _START] = 0
    number[others] = 1 + np.arange(len(others))
    return Lesson(np.array([_START, *codes[others]]), number[targets[:, places][:, :, places][:, :, :, places]])
