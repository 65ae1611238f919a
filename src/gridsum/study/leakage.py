"""How much of every symbol soft placement puts elsewhere than where its most probable action would.

An action hangs on the symbol alone, so this is a number for each symbol of a run: no problems are needed.

    FOLDER/NAME/leakage.jsonl     a line for each run: `actions`, the most probable of every symbol but PAD; `leak`,
                                  1 − p of that action; `lost`, the positions that a term is expected to lose over 100
                                  of its digits, each of which should move what stands before it
"""

import json
from pathlib import Path
from typing import Any

import torch

from gridsum.io.disk import append_lines, read_objects
from gridsum.model.store import Model
from gridsum.ops.placement.plain import ACTIONS, TLU

_LEAKAGE = "leakage.jsonl"


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


def read_leakage(folder: Path) -> dict[int, dict[str, Any]]:
    """The lines by seed; of several for one, the last."""
    path = folder / _LEAKAGE
    return {line["seed"]: line for line in read_objects(path)} if path.exists() else {}
