"""How far a task has come, in a terminal and elsewhere."""

import io
import re
import sys

import pytest

from gridsum.api import progress as progress_module
from gridsum.api.progress import Bar, Lines, progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in a list to be set."""
    now = [1000.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_is_that_of_the_pace(clock: list[float]):
    stream = io.StringIO()
    lines = Lines(stream, updates=1)
    lines.update("epoch", 11, 110)
    for seconds, done in ((100, 21), (36000, 22), (1, 110)):
        clock[0] += seconds
        lines.update("epoch", done, 110)
    lines.update("another:", 5, 10, unit="problems measured")
    assert stream.getvalue().splitlines() == [
        "epoch 11 of 110",  # one update has no pace
        "epoch 21 of 110  0:14:50 left",
        "epoch 22 of 110  80:13:20 left",
        "epoch 110 of 110",
        "another: 5 of 10 problems measured",  # every label has a pace of its own
    ]


def test_lines_come_every_ten_updates_or_ten_seconds(clock: list[float]):
    stream = io.StringIO()
    lines = Lines(stream)
    for done in range(1, 26):
        clock[0] += 0.1
        lines.update("epoch", done, 100, "loss 1")
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["1", "11", "21"]
    clock[0] += 20
    lines.update("epoch", 26, 100, "loss 1")
    lines.note("a warning")
    lines.update("epoch", 27, 100)
    lines.update("epoch", 100, 100)
    *_, slow, warning, last = stream.getvalue().splitlines()
    assert re.fullmatch(r"epoch 26 of 100  loss 1  0:0\d:\d\d left", slow)
    assert (warning, last) == ("a warning", "epoch 100 of 100")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_and_names_are_no_markup(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress() as shown:
        assert isinstance(shown, Bar)
        shown.update("base on 2x[bold]", 3, 7, "loss [red]")
        shown.note("[note]")
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "base on 2x[bold] ━" in drawn
    assert " 3 of 7" in drawn
    assert "loss [red]" in drawn
    assert "[note]" in drawn


@pytest.mark.parametrize("lacking", ["terminal", "ability"])
def test_elsewhere_there_are_lines(lacking: str, monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO() if lacking == "terminal" else _Terminal()
    monkeypatch.setenv("TERM", "dumb" if lacking == "ability" else "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    with progress() as shown:
        shown.update("epoch", 1, 2, "loss 1")
    assert stream.getvalue() == "epoch 1 of 2  loss 1\n"


def test_progress_is_told_at_once_and_an_estimate_soon(clock: list[float]):
    """Steps of four seconds each: the first line comes with the first step, an estimate with the second."""
    written = io.StringIO()
    lines = Lines(written)
    for step in range(1, 60):
        clock[0] += 4
        lines.tick("training step", step, 100)
    told = written.getvalue().splitlines()
    assert told[0] == "training step 1 of 100"
    assert told[1] == "training step 2 of 100  0:06:32 left"
    assert len(told) < 12


def test_ticks_leave_updates_alone(clock: list[float]):
    written = io.StringIO()
    lines = Lines(written)
    for epoch in range(1, 31):
        for step in range(10):
            clock[0] += 0.01
            lines.tick("training step", 10 * (epoch - 1) + step + 1, 300)
        lines.update("epoch", epoch, 30)
    assert [line.split("  ")[0] for line in written.getvalue().splitlines() if line.startswith("training")] == [
        "training step 1 of 300",
        "training step 2 of 300",
    ]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_step_speed_and_time_left_stay_visible_and_news_has_its_own_line(columns: int, clock: list[float]):
    from rich.console import Console

    console = Console(file=io.StringIO(), width=columns, force_terminal=True)
    bar, news = Bar(console), "loss 0.123 (best 0.101, worst 0.155), accuracy 0.981, results right 0.914, steps 7.3"
    for step in range(1, 2001):
        bar.tick("training step", step, 5100)
        clock[0] += 0.25
        if step % 10 == 0:
            bar.update("epoch", step // 10, 510, news)
    lines = console.render_lines(bar._drawn(), pad=False)
    first, *rest = ["".join(piece.text for piece in line) for line in lines]
    assert len(first) < columns
    for part in ("training step", "2000 of 5100", "4.0 a second", "0:12:55 left"):
        assert part in first
    assert " ".join(rest).replace("  ", " ") == f"epoch 200 of 510: {news}"


def test_what_comes_after_training_is_part_of_the_time_left(clock: list[float]):
    """Half as long again as 100 steps of a second each; while nothing of it is done, the expectation counts down."""
    from rich.console import Console

    bar = Bar(Console(file=io.StringIO(), width=80, force_terminal=True))
    for step in range(1, 101):
        bar.tick("training step", step, 100, after=50)
        if step == 51:
            assert "0:01:39 left" in bar._drawn().plain
        clock[0] += 1
    bar.update("epoch", 10, 10, "loss 1")
    bar.update("consolidate", 0, 1, "seed 0: looking")
    clock[0] += 20
    assert "0:00:31 left" in bar._drawn().plain
    clock[0] += 40
    assert "0:01:00 so far" in bar._drawn().plain, "it takes longer than expected"
