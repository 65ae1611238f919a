"""How much of every symbol soft placement puts elsewhere than where its most probable action would.

An action hangs on the symbol alone, so this is a number for each symbol of a run: no problems are needed.

    FOLDER/NAME/leakage.jsonl     a line for each run of a training run
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch

from gridsum.io.disk import append_lines, read_objects
from gridsum.model.store import Model
from gridsum.ops.placement.plain import ACTIONS, TLU

_LEAKAGE = "leakage.jsonl"


class Leakage(NamedTuple):
    """Of one run."""

    seed: int
    actions: dict[str, str]
    """The most probable action of every symbol but PAD."""
    leak: dict[str, float]
    """1 − p of that action."""
    lost: float
    """Positions that a term is expected to lose over 100 of its digits: each should move what stands before it."""


def leakage(model: Model) -> list[Leakage]:
    """Of every run of a model."""
    alphabet = model.config.task.task.alphabet
    device = next(model.network.parameters()).device
    codes = torch.arange(1, len(alphabet.symbols), device=device)
    with torch.no_grad():
        actions = model.network.actions(codes.expand(model.network.runs, 1, -1))[:, 0].double().cpu()
    symbols = alphabet.symbols[1:]
    digits = [index for index, symbol in enumerate(symbols) if symbol.isdigit()]
    found = []
    for seed, run in zip(model.seeds, actions, strict=True):
        chosen = run.argmax(-1).tolist()
        found.append(
            Leakage(
                seed,
                {symbol: ACTIONS[action] for symbol, action in zip(symbols, chosen, strict=True)},
                {symbol: 1 - float(row.max()) for symbol, row in zip(symbols, run, strict=True)},
                100 * float((1 - run[digits, TLU]).mean()),
            )
        )
    return found


def append_leakage(folder: Path, found: list[Leakage]) -> None:
    lines = "".join(json.dumps(one._asdict()) + "\n" for one in found)
    append_lines(folder / _LEAKAGE, lines.encode())


def read_leakage(folder: Path) -> dict[int, Leakage]:
    """By seed; of several for one, the last."""
    path = folder / _LEAKAGE
    rows: list[dict[str, Any]] = list(read_objects(path)) if path.exists() else []
    return {row["seed"]: Leakage(**row) for row in rows}
