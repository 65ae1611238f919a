"""What a run can learn from what it shows: the table that it should become.

What a cell holds at rest is a function of its symbol, its right and its lower neighbour; among a few states, the
*siblings*, its left neighbour decides. Which of them stands to the right of a cell hangs on that cell itself, so they
count as the same there: what was seen beside one holds beside the other. And what was seen over a state holds over all
that read alike. The target is to go in one step to what is held at rest, for any left neighbour.
"""

import math
from dataclasses import dataclass

import numpy as np

from gridsum.automaton.minimise import FEW, NOISE, Behaviour, tally
from gridsum.tasks import PAD

# A state counts as another choice if a context takes it in this share of its cases.
_SIBLING_SHARE = 0.02
# Of the cases that two neighbours have in common so many may differ if they are alike.
_DIFFER = 0.06
SHARE = 0.0001
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
    beside: np.ndarray
    """[n+1]: the class of each state as a right neighbour: those of one class count as the same."""
    under: np.ndarray
    """[n+1]: what each reads as: those that read alike count as the same below."""


def siblings(behaviour: Behaviour) -> np.ndarray:
    """The class of each state [n].

    Two states share a class if another left neighbour, or none, makes one of them the other, and back, and if they also
    lead the cell to their left to the same state, or one of such a pair, wherever both were seen: else they tell it
    something.
    """
    n, (x, left, right, below, own) = len(behaviour.states), behaviour.windows.T
    where = (left != n, x, right, below, own)
    inside = _total(where, (2, behaviour.symbols, n + 1, n + 1, n), behaviour.counts)
    times, most = inside.sum(-1).min(0), inside.argmax(-1)
    changes = behaviour.changes.copy()
    for one, other in (most, most[::-1]):
        np.add.at(changes, (one, other), times)
    changes *= ~np.eye(n, dtype=bool)
    often = changes >= np.maximum(2, NOISE * changes.sum(1, keepdims=True))
    followed = np.moveaxis(inside.sum(0), 1, 0)[:n].reshape(n, -1, n)  # what comes to the left of a state
    seen, to = followed.sum(-1), followed.argmax(-1)
    pairs, before = np.argwhere(np.triu(often & often.T)), -1
    while len(pairs) != before:  # what is no pair tells others apart
        before, led = len(pairs), _joined(pairs, n)[to]
        both, same = seen[pairs].min(1), led[pairs[:, 0]] == led[pairs[:, 1]]
        pairs = pairs[(both * ~same).sum(1) <= NOISE * (both * same).sum(1)]
    return _joined(pairs, n)


def _total(where: tuple[np.ndarray, ...], shape: tuple[int, ...], counts: np.ndarray) -> np.ndarray:
    return np.bincount(np.ravel_multi_index(where, shape), counts, math.prod(shape)).reshape(shape)


def _joined(pairs: np.ndarray, count: int) -> np.ndarray:
    """The class of each state where each of these pairs [P,2] shares one."""
    classes = np.arange(count)
    for a, b in pairs:
        classes[classes == classes[a]] = classes[b]
    return classes


def one_way(behaviour: Behaviour) -> TargetTable:
    """What the run shows at rest, for any left neighbour. In contexts that it never shows any state will do, but in the
    lowest row what it does over a blank: cells that nobody reads may never rest there."""
    n, classes = len(behaviour.states), siblings(behaviour)
    # By the class of the right neighbour: what any of a class was seen to do counts for all of it. By what the lower
    # one reads as, in the same way.
    read = np.append(behaviour.outputs, ANY)
    (beside, of_right), (readings, of_below) = (
        np.unique(part, return_inverse=True) for part in (np.append(classes, n), read)
    )
    x, left, right, below, own = behaviour.windows.T
    shape = (behaviour.symbols, len(beside), len(readings))
    context = np.ravel_multi_index((x, of_right[right], of_below[below]), shape)
    total = _total((context, own), (math.prod(shape), n), behaviour.counts)
    main = total.argmax(-1)
    usual = np.where(total.any(-1), main, ANY).astype(np.int16)
    allowed = classes[main][:, None] == classes
    targets = np.repeat(usual[:, None], n + 1, 1)
    open_ = np.flatnonzero(total.any(-1) & (allowed.sum(-1) > 1))  # where left neighbours may choose among siblings
    number = np.full(len(total), len(open_))
    number[open_] = np.arange(len(open_))
    seen = _total((number[context], left, own), (len(open_) + 1, n + 1, n), behaviour.counts)[:-1]
    targets[open_] = _by_left(seen, total[open_], allowed[open_], main[open_], read)
    targets, usual = np.moveaxis(targets.reshape(*shape, n + 1), -1, 1), usual.reshape(shape)
    blank, nowhere = np.searchsorted(readings, (PAD, ANY))
    for part in (targets, usual):
        if readings[blank] == PAD:
            part[..., nowhere] = np.where(part[..., nowhere] == ANY, part[..., blank], part[..., nowhere])
    targets, usual = targets[:, :, of_right][..., of_below], usual[:, of_right][..., of_below]
    return _with_start(behaviour.states, targets, usual, beside[of_right], read)


class Beside:
    """What cells mostly become beside what, by the symbols, neighbours and reading below of a behaviour's windows."""

    def __init__(self, behaviour: Behaviour, least: float, differ: float) -> None:
        """Neighbours that are alike must have the share `least` of one's cases in common. Of these `differ` may differ
        on the left: left ones may matter for leading zeros alone, which are rare."""
        self.n, self.symbols = len(behaviour.states), behaviour.symbols
        self.read = np.append(behaviour.outputs, ANY)
        _, self.of_below = np.unique(self.read, return_inverse=True)
        self.shape = (self.symbols, *[self.n + 1] * 3, int(self.of_below.max()) + 1)
        x, left, right, below, own = behaviour.windows.T
        ends = (right == self.n) & (below != self.n)
        ending, every = (np.bincount(x, behaviour.counts * part, self.symbols) for part in (ends, 1))
        keys = np.ravel_multi_index((x, left, right, own, self.of_below[below]), self.shape)
        keys, self.counts = tally(2 * keys + ends, behaviour.counts)
        self.ends, (self.x, self.left, self.right, self.own, self.under) = keys % 2, np.unravel_index(keys // 2, self.shape)
        reads, each, all_ = behaviour.outputs[self.own], np.arange(self.n + 1), np.ones(len(keys), bool)
        self.as_right = self._alike(self.right, self.left, reads, all_, _DIFFER, least)
        self.as_left = self._alike(self.left, self.right, reads, all_, differ, least)
        # What is handed on may end at symbols that have nothing on the right. There what the right one means hangs on the left.
        self.led = ending > NOISE * every
        over = np.unique(self.read)[self.under] > PAD
        numbers = self.counts * (self.led[self.x] & (reads != PAD) & (self.ends == 0) & over)
        told = np.bincount(self.as_left[self.left] * (self.n + 1) + self.as_left[self.own], numbers, (self.n + 1) ** 2)
        told = told.reshape(self.n + 1, -1)
        sure = told.max(1) > (1 - NOISE) * told.sum(1)
        self.nearly = np.where(sure, told.argmax(1), each)[self.as_left]
        self.least = least

    def rights(self, as_left, others):
        """[x, left, right, below]: the class of each right neighbour, beside left ones of these classes and over a number or a blank."""
        shape = (self.symbols, self.n + 1, self.n + 1, self.shape[-1])
        others = np.broadcast_to(others, shape)
        reads = self.read[self.own]
        way = np.where(self.led[:, None], as_left, self.n + 1 + np.arange(self.symbols)[:, None])
        way = 2 * way[..., None] + (np.unique(self.read) > PAD)
        ways, rights = way[self.x, self.left, self.under], np.empty(shape, int)
        for one in np.unique(way):
            (x, left, under), here = np.nonzero(way == one), ways == one
            like = others[x[0], left[0], :, under[0]]
            found = self._alike(self.right, self.as_left[self.left], reads, here, _DIFFER, 0.03)
            often = np.bincount(self.right, self.counts * here, self.n + 1)
            mates = np.where(like == like[:, None], often, 0)
            rights[x, left, :, under] = np.where((often == 0) & mates.any(1), found[mates.argmax(1)], found)
        return rights

    def _alike(self, which, beside, outcome, among, noise, least):
        """The class of each neighbour: of one are those that lead to the same, of these classes, as far as was seen.

        Most of what a neighbour was seen to do must be known of its class; no neighbour is a class of its own.
        """
        which, outcome, counts = which[among], outcome[among], self.counts[among]
        cases = (self.x[among] * (self.n + 1) + beside[among]) * self.shape[-1] + self.under[among]
        cases, context = np.unique(cases, return_inverse=True)
        most, times = self._most((which, context), (self.n + 1, len(cases)), outcome, counts)
        heads, found = list[int](), np.arange(self.n + 1)
        times = times.clip(min=0)
        for each in np.argsort(-times[:-1].sum(1), kind="stable"):
            both = np.minimum(times[heads], times[each])
            same = (both * (most[heads] == most[each])).sum(1)
            known, differ = both.sum(1), both.sum(1) - same
            alike = np.where((differ <= noise * same) & (known >= least * times[each].sum()), same, 0)
            if alike.any():
                found[each] = head = heads[alike.argmax()]
                unknown = most[head] == ANY
                most[head, unknown], times[head, unknown] = most[each, unknown], times[each, unknown]
            else:
                heads.append(each)
        return found

    def _most(self, where, shape, outcome, counts):
        """[2, *shape]: what mostly came about there, and how often."""
        base = int(outcome.max(initial=0)) + 1
        keys, times = tally(np.ravel_multi_index(where, shape) * base + outcome, counts)
        order = np.argsort(times, kind="stable")
        found = np.full((2, math.prod(shape)), ANY)
        found[:, keys[order] // base] = keys[order] % base, times[order]
        return found.reshape(2, *shape)

    def beside(self, as_left: np.ndarray, as_right: np.ndarray, among: np.ndarray | int = 1, any_below=False) -> np.ndarray:
        """[x, left, right, below]: what most cells become whose left neighbour is of such a class [n+1], and whose right
        one [x, left, right, below], as broadcast."""
        shape = (self.symbols, self.n + 1, self.n + 1, self.shape[-1])
        x, left, right, under = np.ogrid[tuple(map(slice, shape))]
        as_right = np.broadcast_to(as_right, shape)
        as_under = np.zeros(shape[-1], int) if any_below else np.arange(shape[-1])
        where = self.x, as_left[self.left], as_right[self.x, self.left, self.right, self.under], as_under[self.under]
        return self._most(where, shape, self.own, self.counts * among)[:, x, as_left[left], as_right, as_under[under]]

    def alike(self) -> np.ndarray:
        """The class of each state: of one are those that read alike and lead to the same on either side."""
        rights = np.moveaxis(self.rights(self.as_left, self.as_right[:, None]), 2, 0).reshape(self.n + 1, -1)
        return np.unique(np.column_stack((self.as_left, self.read, rights)), axis=0, return_inverse=True)[1].ravel()[:-1]


def both_ways(behaviour: Behaviour) -> TargetTable:
    """The same where a row hands something on in both directions, so that there is no left neighbour beside which it
    does not matter: what was seen beside such neighbours, or others that lead to the same, or nearly. In other contexts
    one neighbour decides: the left one, of symbols that may have nothing on the right, where what is handed on ends."""
    seen = Beside(behaviour, 0.1, 0.01)
    any_, led = np.zeros(seen.n + 1, int), seen.led[:, None, None, None]
    by_left, by_own = (seen.beside(part, any_[:, None], 1 - seen.ends)[0] for part in (seen.nearly, seen.as_left))
    right = seen.beside(any_, seen.rights(any_, seen.as_right[:, None]))
    of_nearly = seen.rights(seen.nearly, seen.as_right[:, None])
    nearly, exact = seen.beside(seen.nearly, of_nearly), seen.beside(seen.as_left, seen.rights(seen.as_left, of_nearly))
    by_right = never = right[0]
    whole = seen.beside(seen.nearly, any_[:, None], 1 - seen.ends, any_below=True)[0]
    for part in (by_own, whole):
        by_left = np.where(by_left == ANY, part, by_left)
    first = np.where(led, by_left, by_right)
    usual = np.where(led, nearly[0], right[0])
    often = np.zeros(exact[1].shape[:2] + exact[1].shape[3:])
    np.add.at(often, (seen.x, seen.as_left[seen.left], seen.under), seen.counts)
    often = often[:, seen.as_left][:, :, None]
    other = (exact[0] != ANY) & (seen.read[exact[0]] != seen.read[usual]) & (exact[1] >= np.maximum(FEW, SHARE * often))
    targets = np.where(other | (usual == ANY), exact[0], usual)
    for part in (nearly[0], first, by_right, by_left, seen.beside(any_, any_[:, None])[0]):
        targets, never = (np.where(table == ANY, part, table) for table in (targets, never))
    targets, never = targets[..., seen.of_below], never[:, 0][..., seen.of_below]
    return _with_start(behaviour.states, targets, never, seen.as_right, seen.read)


def _by_left(
    seen: np.ndarray, total: np.ndarray, allowed: np.ndarray, main: np.ndarray, read: np.ndarray
) -> np.ndarray:
    """[contexts, n+1]: which of the siblings that are allowed in a context [contexts,n] follows each left neighbour.
    From how often that was `seen` [contexts,n+1,n], in `total`, and what each state reads as."""
    inside, seen, choice = seen[:, :-1].any((1, -1)), seen * allowed[:, None], total * allowed
    several = ((choice > _SIBLING_SHARE * choice.sum(-1, keepdims=True)) & (choice > 1)).sum(-1) > 1
    several |= ~inside  # seen on the border alone
    # How each left neighbour decides among siblings, over all contexts where there is a choice.
    vote = seen[several].sum(0)
    # One that never decides, such as a digit with a carry, counts as those that read like it.
    alike = (read[:, None] == read) @ vote
    voted, by_reading = (votes * allowed[:, None] for votes in (vote, alike))
    voted = np.where(voted.any(-1, keepdims=True), voted, by_reading)
    # Where nearly all that was seen is as the left neighbours vote, they decide, also where little was seen or nothing.
    ruled, elected = voted.any(-1), voted.argmax(-1)
    agreeing = np.take_along_axis(seen, elected[..., None], -1)[..., 0].sum(1)
    decides = ruled & ((agreeing >= (1 - _SIBLING_SHARE) * seen.sum((1, -1))) & (agreeing > 0))[:, None]
    targets = np.where(several[:, None] & ruled, elected, main[:, None])
    return np.where(decides, elected, np.where(seen.any(-1), seen.argmax(-1), targets))


def _with_start(
    states: np.ndarray, targets: np.ndarray, usual: np.ndarray, beside: np.ndarray, under: np.ndarray
) -> TargetTable:
    """The same over the table's numbers. A start that is never at rest is a left neighbour like any other."""
    n, never = len(states), len(states) + 1
    targets = np.pad(targets, ((0, 0), *[(0, 1)] * 3), constant_values=ANY)
    targets[:, never, :never, :never] = usual
    start, others = np.flatnonzero(states == _START), np.flatnonzero(states != _START)
    places = np.array([*(start if len(start) else [never]), *others, n])
    number = np.full(n + 1, ANY, np.int16)  # the last is that of ANY
    number[start] = 0
    number[others] = 1 + np.arange(len(others))
    of_right, of_below = np.append(beside, never)[places], np.append(under, ANY - 1)[places]
    taught = number[targets[np.ix_(np.arange(len(targets)), places, places, places)]]
    return TargetTable(np.array([_START, *states[others]]), taught, of_right, of_below)
