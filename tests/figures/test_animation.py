import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageSequence

from gridsum.figures import animation_frames, save_animation
from gridsum.figures.style import FigureError


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


def test_a_gif_plays_and_is_small(brief, frames, tmp_path):
    answer, trace = brief
    path = tmp_path / "sum.gif"
    save_animation(trace, answer, path)
    assert path.stat().st_size < 200_000
    with Image.open(path) as film:
        assert film.info["loop"] == 0
        total = sum(frame.info["duration"] for frame in ImageSequence.Iterator(film))
        assert total == pytest.approx(1000 * sum(frame.seconds for frame in frames))
        last = np.asarray(film.convert("RGB"), dtype=int)
    drawn = np.asarray(frames[-1].image, dtype=int)
    assert np.abs(last - drawn).mean() < 2
    assert (last[0, 0] == 255).all()


def test_right_and_wrong_end_differently(brief, frames):
    answer, trace = brief
    good = frames[-1]
    (*_, bad) = animation_frames(trace, dataclasses.replace(answer, expected="16"))
    assert (np.asarray(good.image)[:60] != np.asarray(bad.image)[:60]).any()


def test_a_model_without_halting_has_no_bar(brief, frames):
    answer, trace = brief
    (*_, fixed) = animation_frames(dataclasses.replace(trace, halting=None, probability=None), answer)
    assert (np.asarray(fixed.image)[-45:] == 255).all()
    assert (np.asarray(frames[-1].image)[-45:] != 255).any()


def test_other_kinds_of_film_are_refused(brief, tmp_path):
    answer, trace = brief
    with pytest.raises(FigureError, match=r"ends in \.gif"):
        save_animation(trace, answer, tmp_path / "sum.avi")
    assert not list(tmp_path.iterdir())
