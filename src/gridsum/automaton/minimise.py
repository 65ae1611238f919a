"""State minimisation: the fewest states that explain what a run shows at rest.

This is the partition refinement of automata theory (Moore 1956, Hopcroft 1971), on observations instead of a transition
table. The elements are the types of cells (kind of symbol, bits, bits below), because one pattern of bits may mean two
things, and two patterns one. Types that read alike begin as one class; the lowest row, which nobody reads, begins as
blank. A class is split where neighbours tell its members apart: a cell that sees one of them or another, with the same
symbol and with other neighbours of the same classes, comes to different classes. What is left are the states.

Some types never stand where neighbours could compare them. So a class is also split where its members become different
classes when another pattern is put on their left.

A run makes mistakes, and no type is seen everywhere. So evidence is weighed:

- What a cell comes to counts only where it is nearly always the same: `PURE` of its cases, at least `FEW` of them.
- Two types, or a type and a group of types, are alike if they differ in at most `NOISE` of what they have in common.
- A group of its own needs more disagreement than that with every other group, and in `EVIDENCE` of all cells seen.
- What a type becomes beside another left neighbour counts only if that class comes back by the same means, in `RETURN`
  of its cases: else the run errs in a context that it never meets.
- A type of which too little is known joins the group that it contradicts least; of equal ones that of its pattern, or
  the largest.

Types that share no situation are *strangers*: nothing says whether they are alike. Taken for alike, they make few
states. Where the table of these fails, strangers are kept apart: each opens a group of its own, unless a group has its
pattern or little is known of it; a type that comes to contradict its group leaves it; and types are compared in more
situations, which leave the left neighbour out.

Nothing here knows what is added.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridsum.automaton.observe import Observed

PURE, FEW, NOISE, EVIDENCE, RETURN = 0.9, 2, 0.1, 1e-4, 0.01
"""The noise rule, as the head of this file states it."""
LEFT, RIGHT, BELOW, OWN = 1, 2, 3, 4
"""Columns of a window."""
_MOST_STATES = 64
"""A run that shows more has learned no rule."""
# What a blank reads as, and the share of a state's cells that a pattern must have to be one of its own.
_BLANK, _PATTERN_SHARE = 0, 0.002
_NONE = -1
# In which role a neighbour sees a type, and what else makes the situation; in this order classes are split.
_ROLES = ((RIGHT, (LEFT, BELOW)), (BELOW, (LEFT, RIGHT)), (LEFT, (RIGHT, BELOW)), (OWN, ()))
_MORE_ROLES = (*_ROLES[:2], (RIGHT, (BELOW,)), (BELOW, (RIGHT,)), *_ROLES[2:])


@dataclass(frozen=True)
class Behaviour:
    """What each state does, and how often it was seen to."""

    states: np.ndarray
    """[n]: the bit pattern of each state."""
    types: np.ndarray
    """[T]: the number of each type's state."""
    windows: np.ndarray
    """[N,5]: own symbol, left, right, below, own, in numbers of states; n is outside."""
    counts: np.ndarray
    """[N]: how often each window was seen."""
    changes: np.ndarray
    """[n, n]: how often a cell came from one state to another when another pattern was put on its left."""
    outputs: np.ndarray
    """[n]: the symbol that each state reads as."""
    symbols: int


class TooManyStates(ValueError):
    """What a run shows cannot be written in the patterns that it has; the message says why."""


class Shown:
    """What a run shows at rest, and what each type reads as, before anything is said about states."""

    def __init__(self, seen: Observed, outputs: np.ndarray, rare: float) -> None:
        """`outputs` is by pattern; those in a share below `rare` are mistakes."""
        self.seen = seen = _without_rare(seen, rare)
        self.outputs = outputs
        self.frequency = np.bincount(seen.windows[:, OWN], seen.counts, minlength=len(seen.patterns))
        reads = np.where(seen.lowest, _BLANK, 2 * outputs[seen.patterns] + seen.edge)
        self.reads = reads - (seen.edge & (np.bincount(reads, self.frequency)[reads] < EVIDENCE * seen.counts.sum()))

    def behaviour(self, classes: np.ndarray) -> Behaviour:
        """What the classes of the types do: each is a state."""
        _, classes = np.unique(classes, return_inverse=True)
        n = int(classes.max()) + 1
        if n > _MOST_STATES:
            raise TooManyStates(f"it shows more than {_MOST_STATES} states: it has learned no rule")
        patterns = _patterns(self.seen, classes, self.frequency, self.outputs)
        patterns, number = np.sort(patterns), np.argsort(np.argsort(patterns))
        number = np.append(number[classes], n)
        windows = np.column_stack((self.seen.windows[:, 0], number[self.seen.windows[:, 1:]]))
        return Behaviour(
            patterns,
            number[:-1],
            windows,
            self.seen.counts,
            _changes(self.seen, number[:-1]),
            self.outputs[patterns],
            self.seen.symbols,
        )


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
        kinds=seen.kinds[kept[:-1]],
        patterns=seen.patterns[kept[:-1]],
        lowest=seen.lowest[kept[:-1]],
        edge=seen.edge[kept[:-1]],
        changes=number[seen.changes[both]],
        change_counts=seen.change_counts[both],
    )


def partition(seen: Observed, output: np.ndarray, *, apart: bool = False) -> np.ndarray:
    """The class of each type, numbered from 0: the coarsest partition of `output` that agrees with what was seen.

    `output` [T] is what each type shows to the world.
    """
    _, classes = np.unique(output, return_inverse=True)
    frequency = np.bincount(seen.windows[:, OWN], seen.counts, minlength=len(output))
    again = True
    while again:
        again = False
        for role, others in _MORE_ROLES if apart else _ROLES:
            split = _refined(seen, classes, frequency, role, others, apart)
            while split.max() > classes.max():
                classes, again = split, True
                if classes.max() >= _MOST_STATES:
                    return classes
                split = _refined(seen, classes, frequency, role, others, apart)
    return classes


def _refined(
    seen: Observed, classes: np.ndarray, frequency: np.ndarray, role: int, others: Sequence[int], apart: bool
) -> np.ndarray:
    """The classes, each split by what cells come to that see its members in this role."""
    evidence = _evidence(seen, classes, role, others)
    by_class = np.argsort(classes[evidence.types], kind="stable")
    evidence = evidence.of(by_class)
    ends = np.searchsorted(classes[evidence.types], np.arange(classes.max() + 2))
    refined, enough = classes.copy(), EVIDENCE * (seen.change_counts if role == OWN else seen.counts).sum()
    for number in range(classes.max() + 1):
        members = np.flatnonzero(classes == number)
        members = members[np.argsort(-frequency[members], kind="stable")]
        part = evidence.of(slice(ends[number], ends[number + 1]))
        groups = _groups(members, part, seen.patterns, frequency, enough, apart)
        sizes = np.bincount(groups, frequency[members])
        names = np.empty(len(sizes), np.int64)
        names[np.argsort(-sizes, kind="stable")] = [number, *(refined.max() + 1 + np.arange(len(sizes) - 1))]
        refined[members] = names[groups]
    return refined


@dataclass(frozen=True)
class _Evidence:
    """What cells nearly always come to that see a type in one role, and in one situation otherwise."""

    types: np.ndarray
    situations: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray

    def of(self, which: np.ndarray | slice) -> "_Evidence":
        return _Evidence(self.types[which], self.situations[which], self.outcomes[which], self.weights[which])


def _evidence(seen: Observed, classes: np.ndarray, role: int, others: Sequence[int]) -> _Evidence:
    """Pure evidence. A situation is a symbol and the classes of other neighbours. What a cell itself comes to with
    another left neighbour has one situation, and counts where it often is of another class."""
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
        for other in others:
            situation = situation * base + by_class[windows[:, other]]
    most = int(situation.max(initial=0)) + 1
    keys, weights = tally((types * most + situation) * base + by_class[own], counts)
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


def tally(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different keys in their order, and the sum of the counts of each."""
    order = np.argsort(keys)
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(counts[order], first) if len(first) else counts[:0]


def _groups(
    members: np.ndarray,
    evidence: _Evidence,
    patterns: np.ndarray,
    frequency: np.ndarray,
    enough: float,
    apart: bool,
) -> np.ndarray:
    """The group of each member of a class, the most frequent of which come first: those in a group are alike."""
    place = np.zeros(max(members.max(initial=0), evidence.types.max(initial=0)) + 1, np.int64)
    place[members] = np.arange(len(members))
    _, situations = np.unique(evidence.situations, return_inverse=True)
    evidence = _Evidence(place[evidence.types], situations, evidence.outcomes, evidence.weights)
    patterns, frequency = patterns[members], frequency[members]
    group, weight = np.full(len(members), _NONE), np.bincount(evidence.types, evidence.weights, len(members))
    scores, firsts = np.zeros((0, 2, len(members))), np.zeros(len(members), bool)
    while True:
        free, number = (group == _NONE) & (weight > 0), len(scores)
        same, differ = scores[:, 0], scores[:, 1]
        alone = free & (differ > np.maximum(NOISE * same, enough)).all(0)
        strange = free & ~same.any(0)
        if alone.any():
            first = int(alone.argmax())
        elif apart and strange.any():
            first, placed = int(strange.argmax()), group != _NONE
            own = frequency * (patterns == patterns[first])
            company, sizes = (np.bincount(group[placed], part[placed], number) for part in (own, frequency))
            home = int(company.argmax())
            if company[home] and differ[home, first] <= enough:
                number = home
            elif weight[first] <= enough:
                number = int(np.lexsort((-sizes, differ[:, first]))[0])
        else:
            break
        firsts[first] = True
        _grow(group, number, first, firsts, evidence, apart)
        scores = np.stack([_agreement(evidence, group == each) for each in range(max(number + 1, len(scores)))])
    if len(scores) <= 1:
        return np.zeros_like(group)
    # The first group that a type is like may be like others by accident: it goes to the one that it contradicts least.
    share = (scores[:, 1] + 1) / (scores.sum(1) + 1)
    least, placed = share.argmin(0), np.flatnonzero(group != _NONE)
    group[placed] = np.where(share[group, np.arange(len(group))] > share.min(0), least, group)[placed]
    scores = np.stack([_agreement(evidence, group == number) for number in range(len(scores))])
    by_pattern = np.stack([np.bincount(patterns, frequency * (group == each)) for each in range(len(scores))])
    company, size = by_pattern[:, patterns], by_pattern.sum(1, keepdims=True)
    # First those whose pattern is in some group: what they show counts for the others.
    for now in (company.any(0), np.ones(len(members), bool)):
        left = np.flatnonzero((group == _NONE) & now)
        least = scores[:, 0, left] - scores[:, 1, left]
        group[left] = np.lexsort((np.broadcast_to(size, least.shape), company[:, left], least), axis=0)[-1]
        scores = np.stack([_agreement(evidence, group == number) for number in range(len(scores))])
    return group


def _grow(group: np.ndarray, number: int, first: int, firsts: np.ndarray, evidence: _Evidence, apart: bool) -> None:
    """Put the type `first` into a group, in place, and all that are like the group as it then is."""
    joined, gone = np.arange(len(group)) == first, np.zeros(len(group), bool)
    while joined.any():
        group[joined] = number
        same, differ = _agreement(evidence, group == number)
        leaving = apart & (group == number) & ~firsts & (differ > NOISE * same)
        if leaving.any():
            group[leaving], gone = _NONE, gone | leaving
            same, differ = _agreement(evidence, group == number)
        joined = (group == _NONE) & ~gone & (same > 0) & (differ <= NOISE * same)


def _agreement(evidence: _Evidence, inside: np.ndarray) -> np.ndarray:
    """[2, members]: in how many cases each does what most of the group `inside` do in the same situation, and not."""
    base, count = int(evidence.outcomes.max(initial=0)) + 1, int(evidence.situations.max(initial=-1)) + 1
    of_group = inside[evidence.types]
    votes = np.bincount(
        evidence.situations[of_group] * base + evidence.outcomes[of_group], evidence.weights[of_group], count * base
    ).reshape(count, base)
    usual, known = votes.argmax(1), votes.sum(1)
    together = np.minimum(evidence.weights, known[evidence.situations])
    agrees = usual[evidence.situations] == evidence.outcomes
    return np.stack([np.bincount(evidence.types, together * part, len(inside)) for part in (agrees, ~agrees)])


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
