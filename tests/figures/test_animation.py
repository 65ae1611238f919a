import dataclasses
from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageSequence

from gridsum.figures.animation import animation_frames, to_gif


def test_every_symbol_and_step_has_a_frame(brief, frames):
    _, trace = brief
    # The empty grid, each symbol, each reading, the answer.
    assert len(frames) == 1 + len(trace.symbols) + len(trace.grids) + 1
    assert len({frame.image.size for frame in frames}) == 1
    pictures = [np.asarray(frame.image) for frame in frames]
    for before, after in pairwise(pictures[: len(trace.symbols) + 1]):
        assert (before != after).any()
    codes = trace.decoded.argmax(-1).flatten(1)
    first = 1 + len(trace.symbols)
    for n in range(1, len(codes)):
        quick = frames[first + n].seconds < frames[first].seconds / 3
        assert quick == bool((codes[n] == codes[n - 1]).all())


def test_a_gif_plays_and_is_small(frames):
    content = to_gif(frames)
    assert len(content) < 200_000
    with Image.open(BytesIO(content)) as film:
        assert film.info["loop"] == 0
        total = sum(frame.info["duration"] for frame in ImageSequence.Iterator(film))
        assert total == pytest.approx(1000 * sum(frame.seconds for frame in frames))
        last = np.asarray(film.convert("RGB"), dtype=int)
    drawn = np.asarray(frames[-1].image, dtype=int)
    assert np.abs(last - drawn).mean() < 2
    assert (last[0, 0] == 255).all()


def test_a_wrong_answer_ends_differently_and_a_model_without_halting_is_shown(brief, frames):
    answer, trace = brief
    undecided = dataclasses.replace(trace, halting=None, probability=None)
    (*_, before, bad) = animation_frames(undecided, dataclasses.replace(answer, expected="16"))
    assert (np.asarray(frames[-1].image) != np.asarray(bad.image)).any()
    assert (np.asarray(frames[-2].image) != np.asarray(before.image)).any(), "how likely it has halted is not told"
