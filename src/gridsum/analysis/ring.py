"""The ring of digits: the plane in which a network's digit vectors lie, and how ring-like they lie there.

As in the paper, every cell's vector is taken after every step until the computation halts, and those that the output
layer reads as a digit are projected onto their two principal components. Vectors before any step are the embeddings.

A ring need not count once around. With digit d at the angle 2πwd/10 it winds w times; for w = 2 the digits d and
d + 5 meet. A network can have several rings at once, on components of their own.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gridsum.analysis import FigureError
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.model.inference import default_rule, infer
from gridsum.model.rollout import Network, Start, unroll
from gridsum.model.store import Model
from gridsum.ops.grids import GridSize
from gridsum.tasks import FIRST_DIGIT, find

DIGITS = find().alphabet.base
"""The ring is the paper's: of decimal digits."""
# Five times around, even and odd digits stand on two opposite points, which is no ring.
_WINDINGS = range(1, DIGITS // 2)
# Vectors that make a plane.
_LEAST = 3


@dataclass(frozen=True)
class DigitVectors:
    """The vectors [P,E] of one run that read as digits, and the digit [P] that each reads as."""

    vectors: np.ndarray
    digits: np.ndarray


@dataclass(frozen=True)
class Plane:
    """Two principal components: a point is mean + axes·coordinates."""

    mean: np.ndarray  # [E]
    axes: np.ndarray
    """[2,E], orthonormal; each one's largest entry is positive, so that a picture does not depend on the solver."""
    explained: tuple[float, float]
    """The share of the variance along each axis."""
    components: tuple[int, int] = (1, 2)
    """Which components they are; 1 has the most variance."""

    def project(self, vectors: np.ndarray) -> np.ndarray:
        """[...,E] → [...,2], for any vectors of the same network."""
        return (np.asarray(vectors, dtype=np.float64) - self.mean) @ self.axes.T


@dataclass(frozen=True)
class Roundness:
    """How the ten centroids lie around their middle."""

    adjacent: float
    """The share of the ten pairs 0-1, 1-2, …, 9-0 that are next to each other by angle: 1 for a ring."""
    winding: int
    """w, how often the digits go around from 0 to 9 and back to 0: the one of 1 … 4 that fits best."""
    phase: float
    """How well it fits: |mean over d of exp i(θ_d ∓ 2πwd/10)|, the better direction; 1 if the angles are exact."""


@dataclass(frozen=True)
class Ring:
    """The plane of one run's digit vectors, and what is on it."""

    seed: int
    plane: Plane
    points: np.ndarray  # [P,2]
    digits: np.ndarray  # [P]
    centroids: np.ndarray
    """[10,2]; not a number for digits that never occur."""
    roundness: Roundness | None
    """None where a digit never occurs."""


@torch.no_grad()
def digit_vectors(model: Model, problems: int = 64) -> list[DigitVectors]:
    """Those of every run of `model` on problems drawn from its own task, halted without chance."""
    network, task = model.network, model.config.task
    if not isinstance(network, Network):
        raise FigureError(f"{model.name} is a run of {model.config.variant}; only the paper's networks have a ring")
    if task.task.alphabet.base != DIGITS:
        raise FigureError(f"the ring is one of {DIGITS} digits, and {model.name} was trained on {task.name}")
    space = Space(task.terms, task.digits)
    device = next(network.parameters()).device
    symbols = sample(space, problems, Stream.of_seeds([0], device), task=task.task).symbols.expand(network.runs, -1, -1)
    size = GridSize(*task.grid(space))
    own = default_rule(network)
    rule = "median" if own == "sampled" else own
    halted = infer(network, symbols, size, rule).steps
    found: list[list[tuple[Tensor, Tensor]]] = [[] for _ in range(network.runs)]
    for step, grid, *_ in unroll(Start(network, symbols, size, int(halted.max()))):
        code = network.read(grid).argmax(-1)
        written = (halted >= step) & (step > 0)
        chosen = (code >= FIRST_DIGIT) & (code < FIRST_DIGIT + DIGITS) & written[..., None, None]
        for run in range(network.runs):
            found[run].append((grid[run][chosen[run]], code[run][chosen[run]] - FIRST_DIGIT))
    return [DigitVectors(*(torch.cat(parts).cpu().numpy() for parts in zip(*run, strict=True))) for run in found]


def rings_of(model: Model) -> list[Ring]:
    """The ring of every run that writes digits enough; of a single one also that on the next two components."""
    found = list(zip(model.seeds, digit_vectors(model), strict=True))
    planes = ((1, 2), (3, 4)) if len(found) == 1 else ((1, 2),)
    written = [(seed, vectors) for seed, vectors in found if len(vectors.digits) >= _LEAST]
    return [ring(seed, vectors, plane) for seed, vectors in written or found for plane in planes]


def ring(seed: int, found: DigitVectors, components: tuple[int, int] = (1, 2)) -> Ring:
    if len(found.digits) < _LEAST:
        raise FigureError(
            f"seed {seed} writes fewer than three digits on these problems, too few for a plane; "
            "train it longer, or take more problems"
        )
    plane = principal_plane(found.vectors, components)
    means = np.full((DIGITS, found.vectors.shape[1]), np.nan)
    for digit in np.unique(found.digits):
        means[digit] = found.vectors[found.digits == digit].mean(0, dtype=np.float64)
    centroids = plane.project(means)
    judged = None if np.isnan(means).any() else roundness(centroids)
    return Ring(seed, plane, plane.project(found.vectors), found.digits, centroids, judged)


def principal_plane(vectors: np.ndarray, components: tuple[int, int] = (1, 2)) -> Plane:
    """The plane of two principal components of vectors [P,E]."""
    vectors = np.asarray(vectors, dtype=np.float64)
    mean = vectors.mean(0)
    variances, directions = np.linalg.eigh(np.cov(vectors - mean, rowvar=False))
    chosen = [-component for component in components]  # eigh sorts from the least
    axes = directions[:, chosen].T
    largest = axes[np.arange(2), np.abs(axes).argmax(1)]
    first, second = (float(share) for share in variances[chosen] / max(variances.sum(), np.finfo(np.float64).tiny))
    return Plane(mean, axes * np.sign(largest)[:, None], (first, second), components)


def roundness(centroids: np.ndarray) -> Roundness:
    """Of the ten digits' centroids [10,2]."""
    around = centroids - centroids.mean(0)
    angles = np.arctan2(around[:, 1], around[:, 0])
    order = np.argsort(angles, kind="stable")
    gaps = (np.roll(order, -1) - order) % DIGITS
    pairs = int(((gaps == 1) | (gaps == DIGITS - 1)).sum())
    even = 2 * math.pi * np.arange(DIGITS) / DIGITS
    fits = {w: max(abs(np.exp(1j * (angles - turn * even)).mean()) for turn in (w, -w)) for w in _WINDINGS}
    winding = max(fits, key=lambda w: fits[w])
    return Roundness(pairs / DIGITS, winding, float(fits[winding]))
