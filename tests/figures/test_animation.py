import dataclasses
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from gridsum.figures import animation_frames, save_animation
from gridsum.figures.animation import check_film
from gridsum.figures.style import FigureError


def test_every_symbol_and_step_has_a_frame(brief, frames):
    _, trace = brief
    # The empty grid, each symbol, each reading, the answer.
    assert len(frames) == 1 + len(trace.symbols) + len(trace.grids) + 1
    assert len({frame.image.size for frame in frames}) == 1
    assert all(side % 2 == 0 for side in frames[0].image.size)
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
    with pytest.raises(FigureError, match=r"\.gif or \.mp4"):
        save_animation(trace, answer, tmp_path / "sum.avi")
    assert not list(tmp_path.iterdir())


def test_mp4_without_ffmpeg_names_the_mend(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FigureError, match=r"install it, or write a \.gif"):
        check_film("sum.mp4")


def test_a_failing_ffmpeg_is_told_and_leaves_nothing(brief, monkeypatch, tmp_path):
    answer, trace = brief
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ncat >/dev/null\necho no such codec >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    with pytest.raises(FigureError, match="no such codec"):
        save_animation(trace, answer, tmp_path / "sum.mp4")
    assert not (tmp_path / "sum.mp4").exists()


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs the program ffmpeg")
def test_an_mp4_lasts_as_long_as_the_frames(brief, frames, tmp_path: Path):
    answer, trace = brief
    save_animation(trace, answer, tmp_path / "sum.mp4")
    raw = subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-i", tmp_path / "sum.mp4", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True,
        check=True,
    ).stdout
    width, height = frames[0].image.size
    film = np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3)
    assert len(film) / 20 == pytest.approx(sum(frame.seconds for frame in frames), abs=1)
    assert np.abs(film[-1].astype(int) - np.asarray(frames[-1].image, dtype=int)).mean() < 5
