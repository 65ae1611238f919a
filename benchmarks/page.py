"""How smoothly the page plays: milliseconds a frame of its own drawing, and from one frame to the next, in Chromium.

    python benchmarks/page.py [--json FILE] [--seconds N]

The page is opened from files. A screen shows a frame every 16.7 ms, so a median gap of at most 17 ms is smooth. The
gaps mean little on a machine that does other work too; the drawing's own time is told beside them.
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from gridsum.page.site import site

SUMS = {
    "3 numbers": "523+102+9416",
    "12 × 60 cells": "+".join(str(digit % 9 + 1) * 57 for digit in range(11)),
    "9…9 + 1, 200,000 nines": "9{200000}+1",
    "1,000 numbers of 8 digits": "+".join(str(12345678 + 8191 * number) for number in range(1000)),
    "1,000 numbers of 200 digits": "+".join(["7{200}"] * 1000),
}
_PLAY = """
  async ([text, seconds]) => {
    const { hero, show } = gridsum.app, draw = hero.draw.bind(hero), drawing = [], gaps = [];
    const asked = performance.now();
    await show(text, { play: false });
    const solved = performance.now() - asked;
    hero.draw = () => { const start = performance.now(); draw(); drawing.push(performance.now() - start); };
    hero.play();
    const end = performance.now() + 1000 * seconds;
    for (let last = performance.now(); performance.now() < end;) {
      const now = await new Promise(requestAnimationFrame);
      if (hero.playing) gaps.push(now - last);
      else hero.play();
      last = now;
    }
    hero.pause();
    hero.draw = draw;
    return { solved, drawing, gaps, steps: hero.film.computation.steps };
  }
"""


def measure(seconds: float) -> dict[str, dict[str, Any]]:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise SystemExit("no Chromium is installed; apt-get install chromium")
    found = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name, content in site(()).items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_bytes(content)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        tab.goto(f"{Path(folder, 'index.html').as_uri()}#sum={quote('1+1')}")
        tab.wait_for_function("gridsum.app.hero.film")
        for name, text in SUMS.items():
            told = tab.evaluate(_PLAY, [text, seconds])
            found[name] = {
                "steps": told["steps"],
                "first_answer_ms": told["solved"],
                "drawing_ms": statistics.median(told["drawing"]),
                "frame_ms": statistics.median(told["gaps"]),
                "frame_p95_ms": sorted(told["gaps"])[int(0.95 * len(told["gaps"]))],
            }
        browser.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--seconds", type=float, default=5, help="of playing each sum")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    found = measure(options.seconds)
    print(f"load average before {load:.1f} on {os.cpu_count()} cores")
    print(f"{'':30}{'steps':>9}{'answer':>9}{'drawing':>9}{'frame':>9}{'p95':>9}   ms")
    for name, row in found.items():
        times = (row["first_answer_ms"], row["drawing_ms"], row["frame_ms"], row["frame_p95_ms"])
        print(f"{name:30}{row['steps']:>9,}" + "".join(f"{value:>9.1f}" for value in times))
    if options.json:
        figures = {"cores": os.cpu_count(), "load_average": load, "sums": found}
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
