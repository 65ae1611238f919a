"""How one run of `exact` learned: its network at a dozen moments, small enough for the page to compute with.

    python benchmarks/slider.py RUN/seed-0 > src/gridsum/shipped/training.js

The run must have kept its weights, as one of this command does: gridsum train --variant exact --setting small
--seeds 0 --rule.bits 8 --rule.hidden 64 --discovery.keep_epochs 1 --out RUN.

A network is folded first: what a cell makes of each symbol, what bits show to those beside them, and FFN_3. Weights are
rounded row by row. The page says which command trains the run again.
"""

import base64
import json
import shlex
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gridsum.automaton.rule import LearnedRule
from gridsum.config.exact import ExactConfig
from gridsum.config.fields import fields_of
from gridsum.config.registry import find
from gridsum.model.rule import RuleNetwork
from gridsum.model.store import WEIGHTS, Model, load_runs
from gridsum.training.discovery import at_step
from gridsum.training.folders import kept_weights, read_outcome
from gridsum.training.loop import held_out_problems

MOST_BYTES, MOST_MOMENTS = 250_000, 20
_LEVELS = 31
# A scale is kept as its logarithm, in 16 bits.
_SCALE_STEP, _SCALE_LOW = 1 / 2048, -16


def training_script(folder: Path) -> str:
    """`gridsum.training`, from the folder of a run that was trained with `--discovery.keep_epochs`.

    Of the epochs kept, every second, third or further one is shown, as many as there is room for.
    """
    paths = sorted(folder.glob(kept_weights("*")), key=lambda path: int(path.stem.rpartition("-")[2]))
    kind = find("exact")
    kept = [load_runs(str(folder), [path]) for path in (*paths, folder / WEIGHTS)]
    config, seed = kept[0].config, kept[0].seeds[0]
    start = Model(str(folder), config, (seed,), kind.build(config, [seed]))
    steps = [int(path.stem.rpartition("-")[2]) * config.training.steps_per_epoch for path in paths]
    about = {
        "command": command(config, seed),
        "device": read_outcome(folder / kind.outcome)["device"].partition(";")[0],
        "steps": config.steps,
        "batch": config.discovery.batch,
        "phases": _phases(config),
        "shape": {
            "base": config.learns.alphabet.base,
            "width": config.rule.width,
            "hidden": config.rule.hidden,
            "bits": config.rule.bits,
        },
    }
    for every in range(1, len(paths)):
        models = [start, *kept[every - 1 : -1 : every], kept[-1]]
        if len(models) > MOST_MOMENTS:
            continue
        about["at"] = [0, *steps[every - 1 :: every], config.steps]
        about["heldOut"] = [round(_held_out(model), 3) for model in models]
        about["moments"] = [moment(model.network) for model in models]
        script = f"gridsum.training = {json.dumps(about, separators=(',', ':'))};\n"
        if len(script) <= MOST_BYTES:
            return script
    raise SystemExit(f"three networks of {folder} take more than {MOST_BYTES:,} bytes; train smaller ones")


def command(config: ExactConfig, seed: int) -> str:
    """What trains this run again, with as few options as there can be."""
    kind, ours = find("exact"), fields_of(config)

    def options(setting: str | None) -> list[str]:
        usual = fields_of(kind.configure(setting))
        changed = [f"--{name} {_text(ours[name][1])}" for name in ours if ours[name] != usual[name]]
        return [*([f"--setting {setting}"] if setting else []), f"--seeds {seed}", *changed]

    return " ".join(["gridsum train --variant exact", *min(map(options, (None, *kind.settings)), key=len), "--out RUN"])


def _text(value: Any) -> str:
    return shlex.quote(",".join(map(str, value)) if isinstance(value, tuple) else str(value))


def _phases(config: ExactConfig) -> list[tuple[str, int]]:
    """The phases by name, each with the step after its last."""
    names = [at_step(config, step)[0] for step in range(config.steps)]
    return [(name, config.steps - names[::-1].index(name)) for name in dict.fromkeys(names)]


@torch.no_grad()
def _held_out(model: Model) -> float:
    """The share of the problems right that training logs as held out."""
    batch, stream = held_out_problems(model.config, torch.device("cpu"))
    return float(model.kind.held_out(model.network, model.config, batch, stream)["held_out"][0])


@torch.no_grad()
def moment(network: RuleNetwork) -> dict[str, Any]:
    """One run's network, folded and rounded."""
    rule = LearnedRule(network)
    packed = zlib.compress(b"".join(rounded(part) for part in folded(network)), 9)
    return {
        "actions": rule.actions().tolist(),
        "outputs": "".join(chr(ord("a") + symbol) for symbol in rule.outputs().tolist()),
        "weights": base64.b64encode(packed).decode(),
    }


def folded(network: RuleNetwork) -> list[Tensor]:
    """What a step computes with, in the order in which the page reads it: matrices, a row for each input, biases last.

    Cells and queries by symbol, places (left, right, below), keys and values by bit, norms, FFN_3, logits.
    """
    cell, query = network.meet(LearnedRule(network).vectors())
    sight, sight_bias = network.sight()
    order = [network.config.positions.index(name) for name in ("left", "right", "below")]
    transition = network.transition
    parts = [cell, query, network.looking.relative[:, order], _with_bias(sight, sight_bias)]
    for norm in (transition.norm_attention, transition.norm_feed_forward):
        parts.append(torch.stack((norm.weight, norm.bias), 1))
    parts += [_with_bias(layer.weight, layer.bias) for layer in (*transition.feed_forward.layers, network.logits)]
    return [part[0] for part in parts]


def _with_bias(weight: Any, bias: Any) -> Tensor:
    return torch.cat((weight, bias[:, None]), 1)


def rounded(part: Tensor) -> bytes:
    """A matrix, a byte for each weight: the scale of each row, then the rows."""
    rows = part.detach().cpu().double().numpy()
    scales = np.maximum(np.abs(rows).max(1), 2.0**_SCALE_LOW) / _LEVELS
    kept = np.clip(np.ceil((np.log2(scales) - _SCALE_LOW) / _SCALE_STEP), 0, 65535).astype("<u2")
    used = 2.0 ** (kept * _SCALE_STEP + _SCALE_LOW)
    return kept.tobytes() + np.round(rows / used[:, None]).astype("i1").tobytes()


if __name__ == "__main__":
    sys.stdout.write(training_script(Path(sys.argv[1])))
