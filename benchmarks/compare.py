"""This checkout beside another on a CPU: `benchmarks/cpu.py` of both, in turns, and the ratios of their times.

    git worktree add ../before COMMIT
    python benchmarks/compare.py ../before [--rounds N] [--json FILE]

Other work on the machine slows both down alike, as they take turns, and of each time the best round counts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]


def measure(checkout: Path) -> dict[str, float]:
    """Every time that a checkout's `benchmarks/cpu.py` measures, in seconds."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cpu.json"
        command = [sys.executable, checkout / "benchmarks" / "cpu.py", "--json", path]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        figures = json.loads(path.read_text())
    return dict(_times(figures))


def _times(figures: dict[str, Any]) -> Any:
    yield "2048³ product", 2 * 2048**3 / figures["product_rate"]
    yield from ((name, seconds) for name, seconds in figures.items() if name.startswith("training_step"))
    for solved in figures["solving"]:
        seconds = solved["seconds"] / max(1, solved["steps"])
        yield f"{solved['model']}, 2 × {solved['digits']} digits, per recurrent step", seconds
    yield from figures["start_up"].items()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("before", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (default: 3)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    rounds: dict[str, list[dict[str, float]]] = {"before": [], "now": []}
    for _ in range(options.rounds):
        rounds["before"].append(measure(options.before.resolve()))
        rounds["now"].append(measure(HERE))
    best = {
        when: {name: min(found[name] for found in measured) for name in measured[0]}
        for when, measured in rounds.items()
    }
    ratios = {name: seconds / best["before"][name] for name, seconds in best["now"].items() if name in best["before"]}
    for name, ratio in ratios.items():
        print(f"{name:<45}{best['before'][name]:9.4f} s {best['now'][name]:9.4f} s   {ratio:.2f}")
    for name in best["now"].keys() - best["before"].keys():
        print(f"{name:<45}{'':>11} {best['now'][name]:9.4f} s")
    if options.json:
        options.json.write_text(json.dumps({"best": best, "ratios": ratios, "rounds": rounds}, indent=2) + "\n")


if __name__ == "__main__":
    main()
