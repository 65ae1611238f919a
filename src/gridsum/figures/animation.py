"""A computation as a film: the input written symbol by symbol, the steps, the answer."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from gridsum.data.answers import Answer
from gridsum.figures import steps
from gridsum.figures.style import INK, LINE, RIGHT, WRONG, Picture, styled
from gridsum.model.inside import Trace
from gridsum.ops.placement.plain import ACTIONS, NOP

_DPI = 110
_CELL, _LETTER, _MARGIN, _HEAD, _FOOT = 0.42, 0.155, 0.3, 0.85, 0.75  # inches
_WRITING, _CHANGING, _IDLE, _FIRST, _END = 0.35, 0.6, 0.18, 1.0, 3.0
"""Seconds a frame stays: steps without a change pass quickly."""


class Frame(NamedTuple):
    image: Image.Image
    seconds: float


def animation_frames(trace: Trace, answer: Answer) -> Iterator[Frame]:
    steps.check_size(trace)
    asked, letters = answer.expression, trace.alphabet
    for count in range(len(trace.symbols) + 1):
        cells = [[steps.Cell(code) for code in row] for row in trace.written(answer.placement, count).tolist()]
        words, seconds = "an empty grid", _FIRST
        if count:
            action = ACTIONS[int(trace.actions[count - 1].argmax())]
            cells[0][-1] = cells[0][-1]._replace(changed=action != ACTIONS[NOP])
            words, seconds = f"{letters[int(trace.symbols[count - 1])]}   {steps.ACTION_MEANINGS[action]}", _WRITING
        yield Frame(_draw(answer, [(asked, LINE), (asked[:count], INK)], cells, words, letters), seconds)
    readings = steps.cells_of(trace)
    halted = None if trace.probability is None else trace.probability.cumsum(0).clamp(max=1)
    for n, cells in enumerate(readings):
        words = f"step {n}   reads {steps.spelled(cells[0], letters)}" if n else "before any step"
        by_now = "" if halted is None else f"   halted: {float(halted[n]):.0%}"
        seconds = _CHANGING if n == 0 or steps.changed(cells) else _IDLE
        yield Frame(_draw(answer, [(asked, INK)], cells, words + by_now, letters), seconds)
    still = [[cell._replace(changed=False) for cell in row] for row in readings[-1]]
    end = f"{'stopped by the limit of' if answer.capped else 'halts after'} {answer.taken}"
    said = f"{asked}{answer.answer or 'nothing'} {'✓' if answer.correct else '✗'}"
    verdict = "right" if answer.correct else f"wrong, it is {answer.expected}"
    above = [(said, RIGHT if answer.correct else WRONG), (asked, INK)]
    yield Frame(_draw(answer, above, still, f"{end}: {verdict}", letters), _END)


@styled()
def _draw(
    answer: Answer, above: list[tuple[str, str]], cells: list[list[steps.Cell]], below: str, alphabet: tuple[str, ...]
) -> Image.Image:
    """What is written above the grid, layer over layer, each in its colour; the cells; and words below them."""
    rows, columns = len(cells), len(cells[0])
    letters = _LETTER * (len(answer.expression) + max(len(answer.answer), len(answer.expected)) + 2)
    grid_width = _CELL * columns
    width, height = max(grid_width, letters, 3.6) + 2 * _MARGIN, _HEAD + _CELL * rows + _FOOT
    figure = Picture(figsize=(width, height), dpi=_DPI)
    for text, colour in above:
        place = (width - letters) / 2 / width, 1 - _HEAD / 2 / height
        figure.text(*place, text, color=colour, fontsize=16, family="DejaVu Sans Mono", va="center")
    left, bottom = (width - grid_width) / 2 / width, _FOOT / height
    steps.draw_cells(figure.add_axes((left, bottom, grid_width / width, _CELL * rows / height)), cells, 15, alphabet)
    figure.text(0.5, _FOOT / 2 / height, below, ha="center", va="center", fontsize=11)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def to_gif(frames: Sequence[Frame]) -> bytes:
    images, durations, buffer = [f.image for f in frames], [round(f.seconds * 1000) for f in frames], BytesIO()
    images[0].save(buffer, "GIF", save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True)
    return buffer.getvalue()
