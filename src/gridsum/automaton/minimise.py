"""State minimisation: the fewest states that explain what a run shows at rest.

This is the partition refinement of automata theory (Moore 1956, Hopcroft 1971), on observations instead of a transition
table. The elements are the types of cells (kind of symbol, bits, bits below), because one pattern of bits may mean two
things, and two patterns one. Types that read alike begin as one class; the lowest row, which nobody reads, begins as
blank. A class is split where neighbours tell its members apart: a cell that sees one of them or another, with the same
symbol and with other neighbours of the same classes, comes to different classes. What is left are the states.
The left neighbour is not held the same: what stands there follows from what the cell comes to, and so it would hide
every difference. Where it decides (among siblings, see `targets`) a case is not pure, and does not count.

Some types never stand where neighbours could compare them. So a class is also split where its members become different
classes when another pattern is put on their left.

A run makes mistakes, and no type is seen everywhere. So evidence is weighed:

- What a cell comes to counts only where it is nearly always the same: `PURE` of its cases, at least `FEW` of them.
- Two are alike if in each role they differ in at most `NOISE` of the situations that both were seen in, or in
  `EVIDENCE` of all cells seen.
- Types of one pattern are one state until something tells them apart; patterns are different states until something
  compares them, and they are alike. Not to merge what nothing compares is always right, and only costs states.
- What a type becomes beside another left neighbour counts only if that class comes back by the same means, in `RETURN`
  of its cases: else the run errs in a context that it never meets.

Nothing here knows what is added.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridsum.automaton.observe import Observed

PURE, FEW, NOISE, EVIDENCE, RETURN = 0.9, 2, 0.1, 1e-4, 0.01
"""The noise rule, as the head of this file states it."""
LEFT, RIGHT, BELOW, OWN = 1, 2, 3, 4
"""Columns of a window."""
_ROLES = 4
_MOST_STATES = 48
"""A run that shows more has learned no rule."""
# What a blank reads as, and the share of a state's cells that a pattern must have to be one of its own.
_BLANK, _PATTERN_SHARE = 0, 0.002
_NONE = -1


@dataclass(frozen=True)
class Behaviour:
    """How often each state follows each context."""

    states: np.ndarray
    """[n]: the bit pattern of each state."""
    counts: np.ndarray
    """[x, n+1, n+1, n+1, n]: own symbol, left, right, below, own; n is outside."""
    changes: np.ndarray
    """[n, n]: how often a cell came from one state to another when another pattern was put on its left."""
    outputs: np.ndarray
    """[n]: the symbol that each state reads as."""


class TooManyStates(ValueError):
    """What a run shows cannot be written in the patterns that it has; the message says why."""


def minimise(seen: Observed, outputs: np.ndarray, rare: float) -> Behaviour:
    """The states of a run and what they do. `outputs` is by pattern; those in a share below `rare` are mistakes."""
    seen = _without_rare(seen, rare)
    windows, counts = seen.windows, seen.counts
    frequency = np.bincount(windows[:, OWN], counts, minlength=len(seen.patterns))
    shown = np.where(seen.lowest, _BLANK, 2 * outputs[seen.patterns] + seen.edge)
    shown -= seen.edge & (np.bincount(shown, frequency)[shown] < EVIDENCE * counts.sum())
    classes = partition(seen, shown)
    n = int(classes.max()) + 1
    if n > _MOST_STATES:
        raise TooManyStates(f"it shows more than {_MOST_STATES} states: it has learned no rule")
    patterns = _patterns(seen, classes, frequency, outputs)
    patterns, number = np.sort(patterns), np.argsort(np.argsort(patterns))
    shape = (seen.symbols, n + 1, n + 1, n + 1, n)
    contexts = np.ravel_multi_index((windows[:, 0], *np.append(number[classes], n)[windows[:, 1:]].T), shape)
    dense = np.bincount(contexts, counts, minlength=math.prod(shape)).reshape(shape)
    return Behaviour(patterns, dense.astype(np.int64), _changes(seen, number[classes]), outputs[patterns])


def _changes(seen: Observed, classes: np.ndarray) -> np.ndarray:
    """[n, n]: how often a cell came from one class to another."""
    changes = np.zeros((int(classes.max()) + 1,) * 2, np.int64)
    np.add.at(changes, tuple(classes[seen.changes].T), seen.change_counts)
    return changes


def _without_rare(seen: Observed, rare: float) -> Observed:
    """What was seen without types that never were at rest, or are of a rare pattern."""
    frequency = np.bincount(seen.windows[:, OWN], seen.counts, minlength=len(seen.patterns))
    common = np.bincount(seen.patterns, frequency) >= max(1, rare * seen.counts.sum())
    kept = np.append(common[seen.patterns] & (frequency > 0), True)
    number = np.cumsum(kept) - 1
    known = kept[seen.windows[:, 1:]].all(1)
    windows = np.column_stack((seen.windows[known, 0], number[seen.windows[known, 1:]]))
    both = kept[seen.changes].all(1)
    return replace(
        seen,
        windows=windows,
        counts=seen.counts[known],
        patterns=seen.patterns[kept[:-1]],
        lowest=seen.lowest[kept[:-1]],
        edge=seen.edge[kept[:-1]],
        changes=number[seen.changes[both]],
        change_counts=seen.change_counts[both],
    )


def partition(seen: Observed, output: np.ndarray) -> np.ndarray:
    """The class of each type, numbered from 0: a coarse partition of `output` that agrees with what was seen.

    `output` [T] is what each type shows to the world. Classes are made anew with each partition found, until one comes
    back: what the last one compares tells more than what those before it did.
    """
    _, shown = np.unique(output, return_inverse=True)
    frequency = np.bincount(seen.windows[:, OWN], seen.counts, minlength=len(output))
    classes = shown
    # What stands below and to the left tells states apart only where it is known what the right neighbour tells.
    for roles in ((RIGHT,), (RIGHT, BELOW, LEFT, OWN)):
        before = list[np.ndarray]()
        while classes.max() < _MOST_STATES and not any(np.array_equal(classes, other) for other in before):
            before.append(classes)
            classes = _parted(seen, shown, _all_evidence(seen, classes, roles), frequency)
    return classes


def _parted(seen: Observed, shown: np.ndarray, evidence: "_Evidence", frequency: np.ndarray) -> np.ndarray:
    """The class of each type: types that show the same are one class, but for what evidence tells apart.

    Types of one pattern are taken together first. Each pattern then is compared as a whole with the others.
    """
    enough = EVIDENCE * seen.counts.sum()
    _, pattern = np.unique(np.stack((shown, seen.patterns)), axis=1, return_inverse=True)
    units = _told_apart(pattern.reshape(-1), evidence, frequency, enough, 0)
    showing = np.zeros(int(units.max()) + 1, np.int64)
    showing[units] = shown
    base, most = (int(part.max(initial=0)) + 1 for part in (evidence.outcomes, evidence.situations))
    cases = (units[evidence.types] * most + evidence.situations) * base + evidence.outcomes
    keys, weights = _tally(cases, evidence.weights)
    of_units = _Evidence(keys // base // most, keys // base % most, keys % base, weights)
    return _told_apart(showing, of_units, np.bincount(units, frequency), enough, 1)[units]


def _told_apart(kinds: np.ndarray, evidence: "_Evidence", size: np.ndarray, enough: float, least: int) -> np.ndarray:
    """The class of each, where those of one kind are one class, but for what evidence tells apart."""
    classes, count = np.zeros(len(kinds), np.int64), 0
    for members, part in evidence.parts(kinds):
        found = _clusters(part, size[members], enough, least)
        classes[members] = count + found
        count += int(found.max()) + 1
    return classes


@dataclass(frozen=True)
class _Evidence:
    """What cells nearly always come to that see a type in one role, and in one situation otherwise."""

    types: np.ndarray
    situations: np.ndarray
    """A number whose remainder by `_ROLES` is the role."""
    outcomes: np.ndarray
    weights: np.ndarray

    def parts(self, kinds: np.ndarray) -> Iterator[tuple[np.ndarray, "_Evidence"]]:
        """The types of each kind, and what is known of them, in which they are numbered from 0."""
        types, rows = (np.argsort(part, kind="stable") for part in (kinds, kinds[self.types]))
        every = np.arange(kinds.max() + 2)
        ends, row_ends = np.searchsorted(kinds[types], every), np.searchsorted(kinds[self.types[rows]], every)
        place = np.zeros(len(kinds), np.int64)
        for kind in every[:-1]:
            members, of = types[ends[kind] : ends[kind + 1]], rows[row_ends[kind] : row_ends[kind + 1]]
            place[members] = np.arange(len(members))
            yield members, _Evidence(place[self.types[of]], self.situations[of], self.outcomes[of], self.weights[of])


def _all_evidence(seen: Observed, classes: np.ndarray, roles: Sequence[int]) -> _Evidence:
    """Pure evidence of all these roles."""
    parts = [_evidence(seen, classes, role) for role in roles]
    names = ("types", "situations", "outcomes", "weights")
    return _Evidence(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _evidence(seen: Observed, classes: np.ndarray, role: int) -> _Evidence:
    """Pure evidence. A situation is a symbol and the classes of the right and the lower neighbour, as far as they stand
    in another role. Of the left neighbour all that counts is whether there is one: it follows from what a cell comes
    to, which is to be compared. What a cell itself comes to with another left neighbour has one situation, and counts
    where it often is of another class.
    """
    base = int(classes.max()) + 2
    by_class = np.append(classes, base - 1)
    if role == OWN:
        before, after = classes[seen.changes].T
        changes = _changes(seen, classes)
        returned = changes >= np.maximum(FEW, RETURN * changes.sum(1, keepdims=True))
        exchanged = (before != after) & returned[after, before]
        moved = np.bincount(seen.changes[:, 0], seen.change_counts * exchanged, len(classes))
        often = moved > NOISE * np.bincount(seen.changes[:, 0], seen.change_counts, len(classes))
        other = exchanged & often[seen.changes[:, 0]]
        (types, own), counts = seen.changes[other].T, seen.change_counts[other]
        situation = np.zeros_like(own)
    else:
        inside = seen.windows[:, role] < len(classes)
        windows, counts = seen.windows[inside], seen.counts[inside]
        types, situation, own = windows[:, role], windows[:, 0], windows[:, OWN]
        for other in {RIGHT, BELOW} - {role}:
            situation = situation * base + by_class[windows[:, other]]
        situation = situation * 2 + (role != LEFT) * (windows[:, LEFT] == len(classes))
    situation = situation * _ROLES + role - 1
    most = int(situation.max(initial=0)) + 1
    keys, weights = _tally((types * most + situation) * base + by_class[own], counts)
    cases, outcomes = keys // base, keys % base
    first = np.flatnonzero(np.diff(cases, prepend=-1))
    if not len(first):
        return _Evidence(*[np.zeros(0, np.int64)] * 4)
    total, best = np.add.reduceat(weights, first), np.maximum.reduceat(weights, first)
    pure = (best >= PURE * total) & (total >= FEW)
    # Of equal ones, which no pure case has, the last.
    case = np.repeat(np.arange(len(first)), np.diff(first, append=len(cases)))
    winner = np.zeros(len(first), np.int64)
    winner[case[weights == best[case]]] = outcomes[weights == best[case]]
    return _Evidence(cases[first][pure] // most, cases[first][pure] % most, winner[pure], total[pure])


def _tally(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different keys in their order, and the sum of the counts of each."""
    order = np.argsort(keys)
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(counts[order], first) if len(first) else counts[:0]


def _clusters(evidence: _Evidence, size: np.ndarray, enough: float, least: int) -> np.ndarray:
    """The cluster of each, the largest first: it joins the one that it agrees with most of those that it does not
    contradict, and that it agrees with in at least so many cases; else it is a new one."""
    count = len(size)
    if count == 1:
        return np.zeros(1, np.int64)
    situations, situation = np.unique(evidence.situations, return_inverse=True)
    results, outcome = np.unique(evidence.outcomes, return_inverse=True)
    role = np.eye(_ROLES)[situations % _ROLES]
    order = np.argsort(evidence.types, kind="stable")
    ends = np.searchsorted(evidence.types[order], np.arange(count + 1))
    cluster, sizes = np.zeros(count, np.int64), np.zeros(count)
    votes = list[np.ndarray]()
    for one in np.argsort(-size, kind="stable"):
        rows = order[ends[one] : ends[one + 1]]
        where, what, weight = situation[rows], outcome[rows], evidence.weights[rows]
        best = len(votes)
        if votes:
            voted = np.stack([part[where] for part in votes])
            both = np.minimum(weight, voted.sum(-1))
            agrees = both * (voted.argmax(-1) == what)
            differs = both - agrees
            same, apart = ((cases > 0) @ role[where] for cases in (agrees, differs))
            alike = ((apart <= NOISE * same) | (differs @ role[where] <= enough)).all(-1) & (agrees.sum(-1) >= least)
            if alike.any():
                best = np.lexsort((sizes[: len(votes)], (agrees - differs).sum(-1), alike))[-1]
        if best == len(votes):
            votes.append(np.zeros((len(situations), max(1, len(results)))))
        np.add.at(votes[best], (where, what), weight)
        sizes[best] += size[one]
        cluster[one] = best
    return cluster


def _patterns(seen: Observed, states: np.ndarray, frequency: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """A bit pattern for each state: the most frequent of its patterns that is free, or an unused one that reads alike.

    States of few patterns choose first.
    """
    count = int(states.max()) + 1
    use = np.zeros((count, len(outputs)))
    np.add.at(use, (states, seen.patterns), frequency)
    read = np.zeros((count, len(outputs)))
    np.add.at(read, (states[~seen.lowest], seen.patterns[~seen.lowest]), frequency[~seen.lowest])
    use[use < _PATTERN_SHARE * use.sum(1, keepdims=True)] = 0
    # A state of the lowest row alone is read by nobody.
    wanted = np.where(read.any(1), outputs[read.argmax(1)], _BLANK)
    suits = (outputs == wanted[:, None]) | ~read.any(1, keepdims=True)
    patterns, taken = np.full(count, _NONE), np.zeros(len(outputs), bool)
    unused = ~use.any(0)
    for state in sorted(range(count), key=lambda state: (np.count_nonzero(use[state]), -use[state].sum())):
        own = np.where(suits[state] & ~taken, use[state], 0)
        free = own if own.any() else suits[state] & ~taken & unused
        if not free.any():
            raise TooManyStates(f"{count} states, and no bit pattern is left that reads as one of them does")
        patterns[state] = free.argmax()
        taken[patterns[state]] = True
    return patterns
