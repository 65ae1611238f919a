"""How many rows a digit survives: sums whose leading digits have only to be handed up, past many shorter terms.

    python benchmarks/depth.py [--model NAME_OR_FOLDER ...] [--json FILE]

The first term, which lies at the bottom of the grid, has ten digits, of which the first are given; the terms above it
have four and are below 2000, so no carry reaches the given digits.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

from gridsum.solving import solve
from gridsum.store import load

LEADING = ("1", "19", "90")
ABOVE = (3, 6, 12, 24, 48)
PROBLEMS = 24
_LONG, _SHORT = 10, (1000, 1999)


def sums(leading: str, above: int) -> list[tuple[str, ...]]:
    source = random.Random(f"{leading} {above}")
    return [
        (
            # The next digit is no 9, so that no carry comes up to the leading ones.
            leading + str(source.randint(0, 8)) + "".join(source.choices("0123456789", k=_LONG - len(leading) - 1)),
            *(str(source.randint(*_SHORT)) for _ in range(above)),
        )
        for _ in range(PROBLEMS)
    ]


def measure(name: str) -> list[dict[str, Any]]:
    model = load(name)
    records = []
    for leading in LEADING:
        for above in ABOVE:
            answers = list(solve(model, sums(leading, above)))
            right = sum(answer.correct for answer in answers)
            steps = sum(answer.steps for answer in answers) / PROBLEMS
            records.append({"model": name, "leading": leading, "above": above, "right": right, "steps": steps})
        shown = "  ".join(f"{record['above']}: {record['right']}" for record in records[-len(ABOVE) :])
        print(f"{name}  {leading}…  right of {PROBLEMS}, by the terms above:  {shown}", flush=True)
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs="+", default=["exact"], help="models of one run each (default: exact)")
    parser.add_argument("--json", type=Path, help="where to write what was measured")
    arguments = parser.parse_args()
    records = [record for name in arguments.model for record in measure(name)]
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
