import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gridsum.analysis import FigureError
from gridsum.analysis.ring import DigitVectors, digit_vectors, principal_plane, ring, roundness
from gridsum.data.answers import SolveOptions
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.evaluation.solving import solve
from tests.oracles.column_addition import ADD

ANGLES = 2 * math.pi * np.arange(10) / 10


def circle(order: Sequence[int] = range(10), windings=1, turn=0.0, mirror=1) -> np.ndarray:
    """Ten points on a circle; the digit order[i] stands i places around."""
    points = np.empty((10, 2))
    angles = mirror * (windings * ANGLES + turn)
    points[list(order)] = np.stack((np.cos(angles), np.sin(angles)), 1)
    return points


@given(st.integers(1, 4), st.floats(-7, 7), st.sampled_from([1, -1]), st.floats(0.1, 50), st.floats(-5, 5))
def test_a_circle_in_order_is_a_ring_however_it_is_turned_mirrored_scaled_and_moved(
    windings, turn, mirror, scale, shift
):
    found = roundness(circle(windings=windings, turn=turn, mirror=mirror) * scale + shift)
    assert found.winding == windings
    assert windings > 1 or found.adjacent == 1
    assert found.phase == pytest.approx(1)


@given(st.permutations(range(10)), st.floats(-7, 7), st.sampled_from([1, -1]))
def test_pairs_are_counted_as_they_stand(order, turn, mirror):
    expected = sum(abs(order[i] - order[(i + 1) % 10]) in (1, 9) for i in range(10)) / 10
    found = roundness(circle(order, turn=turn, mirror=mirror))
    assert found.adjacent == pytest.approx(expected)


@given(st.integers(0, 10**6))
def test_the_plane_keeps_most_variance_and_projects_like_any_rotation(seed):
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    coordinates = rng.normal(size=(400, 6)) * [9, 5, 2, 1, 0.5, 0.1]
    vectors = coordinates @ basis.T + rng.normal(size=6)
    plane = principal_plane(vectors)
    _, singular, directions = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    np.testing.assert_allclose(np.abs((plane.axes * directions[:2]).sum(1)), 1, atol=1e-9)
    np.testing.assert_allclose(plane.explained, singular[:2] ** 2 / (singular**2).sum())
    np.testing.assert_allclose(plane.axes @ plane.axes.T, np.eye(2), atol=1e-9)
    inside = plane.mean + [2.0, -3.0] @ plane.axes
    np.testing.assert_allclose(plane.project(inside), [2, -3])
    next_plane = principal_plane(vectors, (3, 4))
    np.testing.assert_allclose(next_plane.axes @ plane.axes.T, 0, atol=1e-9)
    assert next_plane.components == (3, 4)


def test_a_missing_digit_leaves_the_ring_unjudged():
    rng = np.random.default_rng(0)
    found = ring(0, DigitVectors(rng.normal(size=(500, 8)), rng.integers(0, 9, 500)))
    assert found.roundness is None
    assert np.isnan(found.centroids).all(1).tolist() == [False] * 9 + [True]
    with pytest.raises(FigureError, match="train it longer"):
        ring(4, DigitVectors(np.zeros((2, 8)), np.array([1, 2])))


def test_the_vectors_of_the_shipped_model_are_those_of_its_computations_and_lie_on_a_ring(base):
    """Read by the output layer they are the digits, and each answer that solving gives is written for some steps."""
    (every,) = digit_vectors(base, problems=16)
    read = base.network.read(torch.from_numpy(every.vectors)[None])[0].argmax(-1) - 1
    assert read.tolist() == every.digits.tolist()
    batch = sample(Space(base.config.task.terms, base.config.task.digits), 16, Stream.of_seeds([0]))
    answers = solve(base, [ADD.parse(text) for text in batch.expressions()], SolveOptions("median"))
    assert sum(len(answer.expected) for answer in answers) < len(every.digits)
    found = ring(base.seeds[0], every)
    assert found.roundness.adjacent == 1
    assert found.roundness.phase > 0.85
    for digit in range(10):
        np.testing.assert_allclose(found.centroids[digit], found.points[every.digits == digit].mean(0), atol=1e-9)
