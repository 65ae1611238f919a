"""`make faults`: every kind of fault, as often as its share of the time allows; a table of tries and losses."""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from gridsum.store import shipped
from tests.faults.clients import slow_clients
from tests.faults.folders import damaged, killed_again_and_again, killed_at_every_operation, two_writers
from tests.faults.inputs import expressions, hostile_files
from tests.faults.nodes import killed_sweep
from tests.faults.trainings import scenarios


def _told(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20, help="after which nothing new is tried (default: 20)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        trainings = scenarios(place)
        kinds: list[tuple[str, float, Iterator[str | None]]] = [
            ("killed, or disk full, at every file operation", 0.35, killed_at_every_operation(trainings, place)),
            ("killed again and again", 0.1, killed_again_and_again(trainings, place, 300)),
            ("files flipped, cut, zeroed, doubled", 0.15, damaged(trainings, place, 800)),
            ("two writers of one folder", 0.05, two_writers(trainings, place, 60)),
            ("hostile weights and configurations", 0.03, hostile_files(place, list(shipped().values()), 5000)),
            ("fuzzed expressions", 0.05, expressions(10**6, solved=2000)),
            ("slow and broken clients", 0.05, slow_clients(1000)),
        ]
        if find_spec("ray") is not None:
            kinds.append(("nodes, workers and drivers of a cluster killed", 0.25, killed_sweep(place, 12)))
        _told(f"{'fault':<48}{'tries':>10}{'losses':>8}{'seconds':>9}")
        all_tries, all_losses = 0, []
        for name, share, tries in kinds:
            began, done, losses = time.monotonic(), 0, []
            for lost in tries:
                done += 1
                if lost is not None:
                    losses.append(lost)
                    _told(f"lost: {lost}")
                if time.monotonic() - began > 60 * options.minutes * share:
                    break
            tries.close() if hasattr(tries, "close") else None  # type: ignore[attr-defined]
            _told(f"{name:<48}{done:>10,}{len(losses):>8}{time.monotonic() - began:>9.0f}")
            all_tries, all_losses = all_tries + done, all_losses + losses
        _told(f"{'all':<48}{all_tries:>10,}{len(all_losses):>8}")
    return 1 if all_losses else 0


if __name__ == "__main__":
    sys.exit(main())
