"""How much of every symbol soft placement puts elsewhere than where its most probable action would, and whether runs
that lose more add shorter terms.

    python benchmarks/leakage.py FOLDER       the --out of gridsum reproduce

An action hangs on the symbol alone, so this is a number for each symbol of a run: no problems are needed. It is
measured of every run whose weights have been kept; what was measured before is kept, too.

    FOLDER/NAME/leakage.jsonl     a line for each run: `actions`, the most probable of every symbol but PAD; `leak`,
                                  1 − p of that action; `lost`, the positions that a term is expected to lose over 100
                                  of its digits, each of which should move what stands before it
"""

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr

from gridsum.evaluation.records import read
from gridsum.io.disk import append_lines, read_objects
from gridsum.model.store import WEIGHTS, Model, load_runs
from gridsum.ops.placement.plain import ACTIONS, TLU
from gridsum.study.reproduction import ON_EVERY_GRID, OVERTRAINED
from gridsum.study.results import Trained, load_results
from gridsum.training.folders import seed_folder

_LEAKAGE, SHARPER = "leakage.jsonl", "records/sharper.jsonl"
_LONG = "2x602"


@torch.no_grad()
def leakage(model: Model) -> list[dict[str, Any]]:
    """A line for every run of a model."""
    symbols = model.config.task.task.alphabet.symbols[1:]
    codes = torch.arange(1, len(symbols) + 1, device=next(model.network.parameters()).device)
    runs = model.network.actions(codes.expand(model.network.runs, 1, -1))[:, 0].double().cpu()
    digits = [index for index, symbol in enumerate(symbols) if symbol.isdigit()]
    return [
        {
            "seed": seed,
            "actions": {symbol: ACTIONS[int(row.argmax())] for symbol, row in zip(symbols, run, strict=True)},
            "leak": {symbol: 1 - float(row.max()) for symbol, row in zip(symbols, run, strict=True)},
            "lost": 100 * float((1 - run[digits, TLU]).mean()),
        }
        for seed, run in zip(model.seeds, runs, strict=True)
    ]


def append_leakage(folder: Path, lines: list[dict[str, Any]]) -> None:
    append_lines(folder / _LEAKAGE, "".join(json.dumps(line) + "\n" for line in lines).encode())


def read_lost(folder: Path) -> dict[int, float]:
    """What each run loses, by its seed."""
    path = folder / _LEAKAGE
    return {line["seed"]: line["lost"] for line in read_objects(path)} if path.exists() else {}


def measure(trained: Trained) -> dict[int, float]:
    paths = {seed: seed_folder(trained.place, seed) / WEIGHTS for seed in trained.seeds}
    known = read_lost(trained.place)
    for seed in [seed for seed, path in paths.items() if seed not in known and path.is_file()]:
        append_leakage(trained.place, leakage(load_runs(trained.name, [paths[seed]])))
    return read_lost(trained.place)


def main(folder: Path) -> None:
    blocks = load_results(folder).replications()
    for name in OVERTRAINED:
        pairs = []
        for trained in [block.trained[name] for block in blocks if name in block.trained]:
            lost = measure(trained)
            long = [one for one in trained.measured(ON_EVERY_GRID) if one.suite == _LONG]
            pairs += [(lost[one.seed], one.seq) for one in long if one.seed in lost]
        if pairs:
            correlation = spearmanr(np.array(pairs))[0]
            told = f"{correlation:+.2f} over {len(pairs)} runs"
            print(f"{name}: rank correlation of what a run loses with whole sums of {_LONG} right: {told}")
        for trained in [further for block in blocks if (further := block.overtrained(name))]:
            for seed, lost in measure(trained).items():
                print(f"{trained.place} seed {seed} loses {lost:.3f} positions over 100 digits")
    sharper = read([folder / SHARPER]) if (folder / SHARPER).exists() else []
    for name in dict.fromkeys(record.model for record in sharper):
        lost = median(read_lost(folder / "sharper" / name).values())
        suites = dict.fromkeys(record.suite for record in sharper)
        found = [median(r.seq for r in sharper if (r.model, r.suite) == (name, suite)) for suite in suites]
        told = ", ".join(f"{seq:.2f} of {suite}" for suite, seq in zip(suites, found, strict=True))
        print(f"{name}: medians: {lost:.3f} positions lost over 100 digits; right are {told}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
