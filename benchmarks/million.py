"""A million sums of every family by the shipped rule, each against Python's integers.

    python benchmarks/million.py [--sums N] [--seed K] [--json FILE]

The rule is proved, so no error is expected. This looks for faults in what the proof does not cover: the solver's short
cuts. A family is a way to draw a sum that random digits hardly ever make. The few sums of very many terms or digits
are counted among the million.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gridsum.automaton.files import shipped_rule
from gridsum.automaton.solve import solve
from gridsum.tasks import find

Terms = tuple[str, ...]
Chance = random.Random


def _digits(chance: Chance, count: int, of: str = "0123456789") -> str:
    return "".join(chance.choices(of, k=count))


def _size(chance: Chance, most: int) -> int:
    """Small numbers more often than large ones."""
    return int(most ** chance.random())


def _many(chance: Chance, of: str) -> Terms:
    return tuple(_digits(chance, _size(chance, 40), of) for _ in range(_size(chance, 12)))


def _without_carry(chance: Chance) -> Terms:
    """Every column adds up to 9."""
    first = _digits(chance, _size(chance, 60))
    return first, "".join(str(9 - int(digit)) for digit in first)


def _shuffled(chance: Chance, *terms: str) -> Terms:
    return tuple(chance.sample(terms, len(terms)))


FAMILIES: dict[str, tuple[float, Callable[[Chance], Terms]]] = {
    "random digits": (0.3, lambda chance: _many(chance, "0123456789")),
    "digits of three kinds": (0.2, lambda chance: _many(chance, _digits(chance, 3))),
    "zeros and nines": (0.15, lambda chance: _many(chance, "09")),
    "0 and 9…9, either order": (0.05, lambda chance: _shuffled(chance, "0", "9" * _size(chance, 100))),
    "1 and 9…9, either order": (0.05, lambda chance: _shuffled(chance, "1", "9" * _size(chance, 100))),
    "nines without a carry": (0.05, _without_carry),
    "zeros alone": (0.05, lambda chance: _many(chance, "0")),
    "leading zeros": (
        0.1,
        lambda chance: tuple("0" * _size(chance, 20) + term for term in _many(chance, "0123456789")),
    ),
    "one term": (
        0.04948,
        lambda chance: (_digits(chance, _size(chance, 200), chance.choice(("0123456789", "0", "01"))),),
    ),
    "1,000 terms": (0.0005, lambda chance: tuple(_digits(chance, _size(chance, 12)) for _ in range(1000))),
    "10^5 digits": (
        0.00002,
        lambda chance: tuple(_digits(chance, 10**5, chance.choice(("0123456789", "9", "09"))) for _ in range(2)),
    ),
}
"""Which share of the sums each is, and how one is drawn."""  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--sums", type=int, default=10**6, metavar="N", help="how many (1,000,000)")
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="of the random numbers (0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was found as JSON")
    options = parser.parse_args()
    table = shipped_rule("exact")
    assert table is not None
    rows, wrong = [], []
    for name, (share, draw) in FAMILIES.items():
        chance, started = random.Random(f"{options.seed} {name}"), time.process_time()
        count, errors = max(1, round(share * options.sums)), 0
        for _ in range(count):
            terms = draw(chance)
            if solve(table, terms).answer != find().answer(terms):
                errors += 1
                wrong.append("+".join(terms)[:200])
        rows.append({"family": name, "sums": count, "errors": errors})
        print(f"{name:<28}{count:>9,} sums {errors:>6,} errors {time.process_time() - started:>7.0f} s", flush=True)
    total, errors = sum(row["sums"] for row in rows), sum(row["errors"] for row in rows)
    print(f"{'in all':<28}{total:>9,} sums {errors:>6,} errors")
    for expression in wrong[:5]:
        print(f"wrong: {expression}")
    if options.json is not None:
        options.json.write_text(
            json.dumps({"seed": options.seed, "families": rows, "wrong": wrong[:20]}, indent=1) + "\n"
        )
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
