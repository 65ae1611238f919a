"""A computation as a film: the input written symbol by symbol, the steps, the answer."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import Rectangle

from gridsum.analysis.placement import written
from gridsum.figures.cells import Cell, draw_cells, spelled
from gridsum.figures.steps import ACTION_MEANINGS, cells_of, check_size, steps_of
from gridsum.figures.style import INK, LINE, QUIET, RIGHT, SERIES, WRONG, FigureError, Picture, styled
from gridsum.ops.placement.plain import ACTIONS, NOP

if TYPE_CHECKING:
    from PIL.Image import Image

    from gridsum.evaluation.solving import Answer
    from gridsum.model.inside import Trace

_DPI = 110
_CELL, _MARGIN, _HEAD, _FOOT = 0.42, 0.3, 1.0, 0.95
"""Inches."""
_WRITING, _CHANGING, _IDLE, _FIRST, _END = 0.35, 0.6, 0.18, 1.0, 3.0
"""Seconds a frame stays: steps without a change pass quickly."""
_COLOURS, _PALETTE_FRAMES, _ALMOST_WHITE = 128, 16, 245


class Frame(NamedTuple):
    """A picture and how many seconds it stays."""

    image: "Image"
    seconds: float


class _Scene(NamedTuple):
    """What a frame shows."""

    cells: list[list[Cell]]
    caption: str
    seconds: float
    read: int | None = None
    """How many symbols of the input have been written; None once all have."""
    halted: float | None = None
    ending: bool = False


def animation_frames(trace: "Trace", answer: "Answer") -> Iterator[Frame]:
    """The frames one by one."""
    check_size(trace)
    for scene in _scenes(trace, answer):
        yield Frame(_draw(answer, scene, trace.alphabet), scene.seconds)


def _scenes(trace: "Trace", answer: "Answer") -> Iterator[_Scene]:
    for count in range(len(trace.symbols) + 1):
        cells = [[Cell(code) for code in row] for row in written(trace, answer.placement, count).symbols.tolist()]
        if count == 0:
            yield _Scene(cells, "an empty grid", _FIRST, count)
            continue
        action = ACTIONS[int(trace.actions[count - 1].argmax())]
        if action != ACTIONS[NOP]:
            cells[0][-1] = cells[0][-1]._replace(changed=True)
        symbol = trace.alphabet[int(trace.symbols[count - 1])]
        yield _Scene(cells, f"{symbol}   {ACTION_MEANINGS[action]}", _WRITING, count)
    readings = cells_of(trace)
    halted = 0.0
    for n, cells in enumerate(readings):
        if trace.probability is not None:
            halted = min(1.0, halted + float(trace.probability[n]))
        read = spelled(cells[0], trace.alphabet) or "nothing"
        caption = f"step {n}   reads {read}" if n else f"read by the output layer: {read}"
        changes = n == 0 or any(cell.changed for row in cells for cell in row)
        seconds = _FIRST if n == 0 else _CHANGING if changes else _IDLE
        shown = None if trace.probability is None else halted
        yield _Scene(cells, caption, seconds, halted=shown)
    still = [[cell._replace(changed=False) for cell in row] for row in readings[-1]]
    end = f"stopped by the limit of {steps_of(answer)}" if answer.capped else f"halts after {steps_of(answer)}"
    yield _Scene(still, end, _END, halted=None if trace.probability is None else halted, ending=True)


@styled
def _draw(answer: "Answer", scene: _Scene, alphabet: tuple[str, ...]) -> "Image":
    from PIL import Image

    rows, columns = len(scene.cells), len(scene.cells[0])
    letters = len(answer.expression) + max(len(answer.answer), len(answer.expected)) + 2
    grid_width = _CELL * columns
    width = round(max(grid_width, 0.155 * letters, 3.6) + 2 * _MARGIN + 0.005, 2)
    height = _HEAD + _CELL * rows + _FOOT
    pixels = [2 * round(side * _DPI / 2) for side in (width, height)]
    width, height = (side / _DPI for side in pixels)
    figure = Picture(figsize=(width, height), dpi=_DPI)
    _draw_expression(figure, answer, scene, width, height)
    axes = figure.add_axes(
        ((width - grid_width) / 2 / width, _FOOT / height, grid_width / width, _CELL * rows / height)
    )
    draw_cells(axes, scene.cells, 15, alphabet)
    colour = INK
    caption = scene.caption
    if scene.ending:
        colour = RIGHT if answer.correct else WRONG
        caption = f"{caption}: {'right' if answer.correct else f'wrong, it is {answer.expected}'}"
    figure.text(0.5, (_FOOT - 0.3) / height, caption, ha="center", va="center", fontsize=11, color=colour)
    if scene.halted is not None:
        _draw_halted(figure, scene.halted, width, height)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def _draw_expression(figure: Picture, answer: "Answer", scene: _Scene, width: float, height: float) -> None:
    """The input with what has been read in ink, the symbol just read marked; at the end, the answer behind it."""
    done = len(answer.expression) if scene.read is None else scene.read
    letters = [(symbol, INK if index < done else LINE) for index, symbol in enumerate(answer.expression)]
    if scene.ending:
        shown = f"{answer.answer or 'nothing'} {'✓' if answer.correct else '✗'}"
        letters += [(symbol, RIGHT if answer.correct else WRONG) for symbol in shown]
    advance = 0.155
    left = (width - advance * len(letters)) / 2
    level = 1 - 0.45 / height
    for index, (symbol, colour) in enumerate(letters):
        place = (left + (index + 0.5) * advance) / width
        bold = "bold" if scene.ending and index >= len(answer.expression) else "normal"
        figure.text(place, level, symbol, ha="center", va="center", fontsize=16, color=colour, fontweight=bold)
        if scene.read is not None and index == scene.read - 1:
            mark = Rectangle(
                (place - 0.065 / width, level - 0.2 / height),
                0.13 / width,
                0.03 / height,
                transform=figure.transFigure,
                color=SERIES[1],
            )
            figure.add_artist(mark)


def _draw_halted(figure: Picture, halted: float, width: float, height: float) -> None:
    """A bar that fills as halting becomes certain."""
    label, bar = 1.05, 1.6
    left, level = (width - label - bar - 0.5) / 2, 0.3 / height
    figure.text(left / width, level, "halted by now", va="center", fontsize=8, color=QUIET)
    place = (left + label) / width, level - 0.05 / height
    for share, fill in ((1.0, "white"), (halted, SERIES[4])):
        part = Rectangle(place, share * bar / width, 0.1 / height, facecolor=fill, edgecolor=LINE, linewidth=0.7)
        part.set_transform(figure.transFigure)
        figure.add_artist(part)
    figure.text((left + label + bar + 0.08) / width, level, f"{halted:.0%}", va="center", fontsize=8, color=QUIET)


def check_film(name: str | Path) -> None:
    if Path(name).suffix.lower() != ".gif":
        raise FigureError(f"cannot write {name}: use a name that ends in .gif")


def to_gif(frames: Sequence[Frame]) -> bytes:
    from PIL import Image

    # One palette for all frames, so that no colour flickers; made of some of them, side by side.
    some = [*frames[:: -(-len(frames) // _PALETTE_FRAMES)], frames[-1]]
    first = frames[0].image
    sheet = Image.new("RGB", (first.width, len(some) * first.height))
    for index, frame in enumerate(some):
        sheet.paste(frame.image, (0, index * first.height))
    palette = sheet.quantize(_COLOURS, dither=Image.Dither.NONE)
    # Colours that stand for several are their mean; white stays white, or the film shows as a box on its page.
    entries = np.array(palette.getpalette()).reshape(-1, 3)
    entries[(entries >= _ALMOST_WHITE).all(1)] = 255
    palette.putpalette(entries.flatten().tolist())
    images = [frame.image.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    buffer = BytesIO()
    durations = [round(frame.seconds * 1000) for frame in frames]
    images[0].save(
        buffer, format="GIF", save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True
    )
    return buffer.getvalue()
