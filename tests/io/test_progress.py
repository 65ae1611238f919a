"""How far work has come, in a terminal and elsewhere."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from gridsum.io import progress as progress_module
from gridsum.io.progress import Lines, progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in a list to be set."""
    now = [1000.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_is_that_of_the_mean_pace(clock: list[float]):
    stream = io.StringIO()
    lines = Lines(stream)
    lines.update("epoch", 11, 110)
    for seconds, done, news in ((100, 21, None), (10000, 22, None), (1, 110, "loss 1")):
        clock[0] += seconds
        lines.update("epoch", done, 110, news)
    lines.update("other:", 5, 10, unit="problems")
    assert stream.getvalue().splitlines() == [
        "epoch 11 of 110",  # one update has no pace
        "epoch 21 of 110  0:14:50 left",
        "epoch 22 of 110  22:26:40 left",
        "epoch 110 of 110  loss 1",
        "other: 5 of 10 problems",  # other work has a pace and news of its own
    ]


def test_lines_come_at_once_then_more_and_more_rarely(clock: list[float]):
    """Steps of four seconds each: an estimate stands in the second line, soon after the first."""
    stream = io.StringIO()
    lines = Lines(stream)
    for step in range(1, 151):
        clock[0] += 4
        lines.update("training step", step, 1000, f"epoch {step // 10}: loss 1" if step % 10 == 0 else None)
    first, second, *rest = stream.getvalue().splitlines()
    assert (first, second) == ("training step 1 of 1000", "training step 3 of 1000  1:06:28 left")
    assert len(rest) < 15
    assert re.fullmatch(r"training step \d+ of 1000  0:\d\d:\d\d left  epoch \d+: loss 1", rest[-1])


_TRAINING = """
import time
from gridsum.io.progress import Bar, progress
with progress() as shown:
    assert isinstance(shown, Bar)
    for step in range(1, 9):
        shown.update("training step", 1000 + step, 5100, NEWS if step == 4 else None)
        time.sleep(0.1)
    shown.note("[note]")
    shown.update("SASA on leading-zeros:[1,4]x[1,100]:", 7, 640, unit="problems")
    time.sleep(0.3)
"""
_NEWS = "epoch 200 of 510: loss 0.123 (best [red] 0.101, worst 0.155), accuracy 0.981, results right 0.914, steps 7.3"


@pytest.mark.parametrize("columns", [48, 120])
def test_in_a_terminal_step_and_time_left_stay_visible(columns: int):
    """Whatever its width; news have lines of their own, and names are not markup."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    child = subprocess.Popen(
        [sys.executable, "-c", _TRAINING.replace("NEWS", repr(_NEWS))],
        stderr=theirs,
        env=environment | {"TERM": "xterm-256color"},
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            written += os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert child.wait() == 0
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode())
    lines = re.split(r"[\r\n]+", drawn)
    assert max(map(len, lines)) <= columns
    steps = [line for line in lines if line.startswith("training step")]
    assert re.fullmatch(r"training step [━╸╺ ]+ 100\d of 5100 0:0\d:\d\d", steps[-1]), steps[-1]
    told = "".join(lines).replace(" ", "")
    assert _NEWS.replace(" ", "") in told
    assert "gridsum: [note]" in lines
    assert any(re.search(r"^SASA on.* 7 of 640 problems +-:--:--$", line) for line in lines)


@pytest.mark.parametrize("terminal", [False, True])
def test_elsewhere_there_are_lines(terminal: bool, monkeypatch: pytest.MonkeyPatch):
    """In a file, and in a terminal that cannot move its cursor."""
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stderr", stream)
    with progress() as shown:
        shown.update("epoch", 1, 2, "loss 1")
    assert stream.getvalue() == "epoch 1 of 2  loss 1\n"
