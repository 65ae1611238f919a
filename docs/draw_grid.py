"""Draw a trace as the README's picture: `gridsum trace EXPR --json - | python docs/draw_grid.py > docs/grid.svg`.

One panel for the input as it is written down, then one for every step in which the grid's symbols changed.
"""

import json
import sys
from html import escape
from itertools import pairwise
from typing import Any

CELL, GAP, MARGIN, CAPTION, PANELS_A_ROW = 34, 34, 20, 40, 6
LEGEND = (
    "What the output layer reads in every cell. Blue: the row of the answer; orange: changed since the panel before; "
    "fainter: less sure. Steps without a change are left out."
)
INK, FAINT, CHANGED, TOP = "#1b1f24", "#8b949e", "#ffd9a8", "#dcebff"


def panel(reading: dict[str, Any], before: dict[str, Any] | None, x: float, y: float, caption: str) -> list[str]:
    parts = [f'<text x="{x}" y="{y - 22}" class="caption">{escape(caption)}</text>']
    answer = "".join(reading["symbols"][0]).strip()
    parts.append(f'<text x="{x}" y="{y - 7}" class="faint">top row reads {escape(answer) or "nothing"}</text>')
    for i, row in enumerate(reading["symbols"]):
        for j, symbol in enumerate(row):
            new = before is not None and before["symbols"][i][j] != symbol
            fill = CHANGED if new else TOP if i == 0 else "#ffffff"
            left, top = x + j * CELL, y + i * CELL
            parts.append(f'<rect x="{left}" y="{top}" width="{CELL}" height="{CELL}" fill="{fill}" class="cell"/>')
            opacity = 0.25 + 0.75 * reading["confidence"][i][j]
            middle = f'x="{left + CELL / 2}" y="{top + CELL / 2 + 6}"'
            parts.append(f'<text {middle} class="symbol" opacity="{opacity:.2f}">{escape(symbol)}</text>')
    return parts


def picture(trace: dict[str, Any]) -> str:
    readings = trace["readings"]
    shown = [(readings[0], None, "before any step")]
    for before, reading in pairwise(readings):
        if reading["symbols"] != before["symbols"]:
            shown.append((reading, before, f"step {reading['n']}"))
    last = readings[-1]
    if shown[-1][0] is not last:
        shown.append((last, last, f"step {last['n']}"))
    shown[-1] = (*shown[-1][:2], f"{shown[-1][2]}: halts")

    rows, columns = len(last["symbols"]), len(last["symbols"][0])
    panel_width, panel_height = max(columns * CELL, 150) + GAP, rows * CELL + CAPTION + GAP
    width = MARGIN * 2 + panel_width * min(PANELS_A_ROW, len(shown)) - GAP
    height = MARGIN + 50 + panel_height * -(-len(shown) // PANELS_A_ROW)
    mark = "right" if trace["correct"] else f"wrong: it is {trace['exact']}"
    title = f"{trace['expression']}{trace['answer']}  ({mark}; {trace['steps']} steps, model {trace['model']})"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        f"<title>{escape(title)}</title>",
        f"<style>.caption{{font-size:14px;font-weight:600;fill:{INK}}}.faint{{font-size:12px;fill:{FAINT}}}"
        f".cell{{stroke:{FAINT};stroke-width:1}}.symbol{{font-size:18px;text-anchor:middle;fill:{INK}}}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{MARGIN}" y="{MARGIN + 8}" font-size="17" fill="{INK}">{escape(title)}</text>',
        f'<text x="{MARGIN}" y="{MARGIN + 28}" class="faint">{escape(LEGEND)}</text>',
    ]
    for index, (reading, before, caption) in enumerate(shown):
        row, column = divmod(index, PANELS_A_ROW)
        x, y = MARGIN + column * panel_width, MARGIN + 45 + row * panel_height + CAPTION
        parts += panel(reading, before, x, y, caption)
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(picture(json.load(sys.stdin)))
