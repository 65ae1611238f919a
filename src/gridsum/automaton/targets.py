"""What a run can learn from what it shows: the table that it should become.

What a cell holds at rest is a function of its symbol, its right and its lower neighbour; among a few states, the
*siblings*, its left neighbour decides. Which of them stands to the right of a cell hangs on that cell itself, so they
count as the same there: what was seen beside one holds beside the other. And what was seen over a state holds over all
that read alike. The target is to go in one step to what is held at rest, for any left neighbour.
"""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from gridsum.automaton.minimise import FEW, NOISE, Behaviour, tally
from gridsum.tasks import PAD

# A state counts as another choice if a context takes it in this share of its cases.
_SIBLING_SHARE = 0.02
# Of the cases that two neighbours have in common so many may differ if they are alike; left ones may matter for leading
# zeros alone. So much of one must be known of the other, anywhere or beside left ones that lead alike.
_DIFFER, _DIFFER_LEFT, _KNOWN, _KNOWN_HERE = 0.06, 0.01, 0.1, 0.03
# What came about in a smaller share of what was seen beside left neighbours of a class is a mistake.
_SELDOM = 1e-4
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


class _Beside:
    """What cells become beside what, by a behaviour's windows, where rows hand something on in both directions."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.symbols, self.side = behaviour.symbols, len(behaviour.states) + 1
        x, left, right, below, own = behaviour.windows.T
        last, lowest = right == self.side - 1, below == self.side - 1
        # A digit may have nothing on its right; a sign never has, and nothing has it in an empty row alone.
        ending, every = (np.bincount(x, behaviour.counts * part, self.symbols) for part in (last & ~lowest, 1))
        self.digit = (ending > NOISE * every)[:, None]
        # What nobody reads counts as blank: states of empty rows.
        unread = lowest | (last & ~self.digit[x, 0])
        unread, every = (np.bincount(own, behaviour.counts * part, self.side) for part in (unread, 1))
        self.read = np.where(unread > (1 - NOISE) * every, PAD, np.append(behaviour.outputs, ANY))
        readings, self.of_below = np.unique(self.read, return_inverse=True)
        self.over, self.shape = readings > PAD, (self.symbols, self.side, self.side, len(readings))
        sides = *self.shape, self.side, 2
        keys = np.ravel_multi_index((x, left, right, self.of_below[below], own, last & ~lowest), sides)
        keys, self.counts = tally(keys, behaviour.counts)
        self.x, self.left, self.right, self.under, self.own, self.ends = np.unravel_index(keys, sides)
        # What it is compared by: at first what it reads as, then a blank counts as what it stands for.
        everywhere, self.value = np.ones(len(keys), bool), self.read
        self.right_anywhere = self._alike(self.right, self.left, everywhere, _DIFFER, _KNOWN, self.read == ANY)
        self.as_left = self._alike(self.left, self.right, everywhere, _DIFFER_LEFT, _KNOWN, self.read == PAD)
        self.leads = self._leads()
        self.way = np.where(self.digit, self.leads, self.side + np.arange(self.symbols)[:, None])
        self.value = np.where(self.read == PAD, self._stands_for(), self.read)
        self.as_right = self._as_right()
        self.handed = (self.leads[self.own] == self.leads[self.left]) & (self.read[self.own] != PAD)

    def _leads(self) -> np.ndarray:
        """[side]: the class of the numbers that follow a left neighbour over a number, if they are nearly all of one;
        else its own. So a blank leads a row as the numbers of that row do."""
        numbers = self.digit[self.x, 0] & self.over[self.under] & (self.read[self.own] != PAD) & (self.ends == 0)
        pairs = np.ravel_multi_index((self.as_left[self.left], self.as_left[self.own]), (self.side, self.side))
        followed = np.bincount(pairs, self.counts * numbers, self.side**2).reshape(self.side, self.side)
        sure = followed.max(1) > (1 - NOISE) * followed.sum(1)
        return np.where(sure, followed.argmax(1), np.arange(self.side))[self.as_left]

    def _stands_for(self) -> int:
        """What cells with a number on their left read as where others are blank."""
        context = np.ravel_multi_index((self.x, self.leads[self.left], self.right, self.under), self.shape)
        reads, number = self.read[self.own], self.read[self.own] != PAD
        usual, times = self._most((context,), (math.prod(self.shape),), reads, self.counts * number)
        both = np.minimum(times[context], self.counts) * ~number
        return int(np.bincount(usual[context].clip(min=0), both.clip(min=0)).argmax())

    def _as_right(self) -> np.ndarray:
        """[x, left, right, below]: the class of each right neighbour, of digits with left ones that lead alike or of
        another symbol, over a number or not. One that was not seen there is as another of its value."""
        found, equal = np.empty(self.shape, int), self.value == self.value[:, None]
        for way, over in product(np.unique(self.way), (False, True)):
            here = (self.way[self.x, self.left] == way) & (self.over[self.under] == over)
            if not here.any():  # as digits are, whatever leads them
                here = self.digit[self.x, 0] & (self.over[self.under] == over)
            alike = self._alike(self.right, self.leads[self.left], here, _DIFFER, _KNOWN_HERE, self.read == ANY)
            often = np.bincount(self.right[here], self.counts[here], self.side)
            mates = equal * often
            classes = np.where((often == 0) & mates.any(1), alike[mates.argmax(1)], alike)
            x, left = (part[:, None] for part in np.nonzero(self.way == way))
            found[x, left, :, np.flatnonzero(self.over == over)] = classes
        return found

    def _alike(
        self, which: np.ndarray, beside: np.ndarray, here: np.ndarray, noise: float, least: float, apart: np.ndarray
    ) -> np.ndarray:
        """The class of each neighbour: of one are those that lead to equal values, as far as was seen `here`.

        Of the cases of one, `least` must be known of its class; no neighbour is a class of its own.
        """
        context = np.ravel_multi_index((self.x, beside, self.under), (self.symbols, self.side, len(self.over)))
        cases, context = np.unique(context[here], return_inverse=True)
        shape = (self.side, len(cases))
        most, times = self._most((which[here], context), shape, self.value[self.own[here]], self.counts[here])
        times, heads, found = times.clip(min=0), list[int](), np.arange(self.side)
        for each in np.argsort(-times[:-1].sum(1), kind="stable"):
            both = np.minimum(times[heads], times[each])
            same = (both * (most[heads] == most[each])).sum(1)
            known, differ = both.sum(1), both.sum(1) - same
            alike = (differ <= noise * same) & (known >= least * times[each].sum()) & (apart[heads] == apart[each])
            alike = np.where(alike, same, 0)
            if alike.any():
                found[each] = head = heads[alike.argmax()]
                unknown = most[head] == ANY
                most[head, unknown], times[head, unknown] = most[each, unknown], times[each, unknown]
            else:
                heads.append(each)
        return found

    @staticmethod
    def _most(
        where: tuple[np.ndarray, ...], shape: tuple[int, ...], outcome: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """[2, *shape]: what mostly came about there, and how often it did; ANY where nothing was seen."""
        base = int(outcome.max(initial=0)) + 1
        keys, times = tally(np.ravel_multi_index(where, shape) * base + outcome, counts)
        order = np.argsort(times, kind="stable")
        order = order[times[order] > 0]
        found = np.full((2, math.prod(shape)), ANY)
        found[:, keys[order] // base] = keys[order] % base, times[order]
        return found.reshape(2, *shape)

    def table(self, as_left: np.ndarray, as_right: np.ndarray | int, among: np.ndarray | int = 1) -> np.ndarray:
        """[2, x, left, right, below]: what most cells, or those `among` them, become by the classes of neighbours, and
        how many do."""
        x, left, _, under = np.ogrid[tuple(map(slice, self.shape))]
        as_right = np.broadcast_to(as_right, self.shape)
        where = self.x, as_left[self.left], as_right[self.x, self.left, self.right, self.under], self.under
        return self._most(where, self.shape, self.own, self.counts * among)[:, x, as_left[left], as_right, under]

    def often(self, as_left: np.ndarray) -> np.ndarray:
        """[x, left, right, below]: the same, but for what came about seldom beside left neighbours of a class."""
        total = np.zeros((self.symbols, self.side, len(self.over)))
        np.add.at(total, (self.x, as_left[self.left], self.under), self.counts)
        found, times = self.table(as_left, self.as_right)
        return np.where(times >= np.maximum(FEW, _SELDOM * total[:, as_left, None]), found, ANY)


def both_ways(behaviour: Behaviour) -> TargetTable:
    """The same where a row hands something on in both directions: to the right, from digit to digit, what leads them,
    as a sign does; to the left, a carry. What a right neighbour hands on hangs on what leads.

    Digits become what was seen beside left neighbours that lead alike, and other symbols what was seen beside any. Of
    neighbours that lead alike, blanks count by themselves where often something else is read beside them than beside
    numbers, and where a number begins over blanks. In contexts that were not seen, what leads a digit decides."""
    seen = _Beside(behaviour)
    any_, digit = np.zeros(seen.side, int), seen.digit[..., None, None]
    by_right = seen.table(any_, seen.as_right)[0]
    handed = seen.table(seen.leads, seen.as_right, seen.handed)[0]
    by_lead = np.where(handed == ANY, seen.often(seen.leads), handed)
    each = np.unique((seen.leads, seen.read == PAD), axis=1, return_inverse=True)[1]
    exact = seen.often(each)
    usual = np.where(digit, by_lead, by_right)
    leading = digit & (seen.read == PAD)[:, None, None] & ~seen.over
    targets = np.where((exact != ANY) & ((seen.read[exact] != seen.read[usual]) | leading), exact, usual)
    led, last = seen.table(seen.leads, 0, 1 - seen.ends)[0], seen.table(any_, 0)[0]
    for part in (exact, by_lead, np.where(digit, led, ANY), by_right, last):
        targets = np.where(targets == ANY, part, targets)
    targets, never = targets[..., seen.of_below], np.where(by_right == ANY, last, by_right)[:, 0][..., seen.of_below]
    return _with_start(behaviour.states, targets, never, seen.right_anywhere, seen.read)


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
