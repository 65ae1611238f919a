"""Input that nobody has looked at: expressions, weights and configurations."""

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from gridsum.automaton.files import shipped_rule
from gridsum.automaton.solve import solve
from gridsum.config.exact import ExactConfig
from gridsum.config.fields import from_dict, to_json
from gridsum.config.paper import Config
from gridsum.io.sealed import seal
from gridsum.model.store import StoreError, load_runs
from gridsum.tasks import ExpressionError
from tests.faults.injection import Tries
from tests.oracles.column_addition import ADD

_LETTERS = "0123456789+= \t\n-−.,eE×*/()[]{}'\"\\\0\x1b٣५一１㊿½²\u202e\ud800😀abcxyz"


def expressions(tries: int, seed: int = 0, solved: int = 0) -> Tries:
    """Mutated sums are read or refused; of those that can be read some are solved, and the rule is right."""
    chance = random.Random(seed)
    rule = shipped_rule("exact") if solved else None
    for index in range(tries):
        text = _expression(chance)
        try:
            terms = ADD.parse(text)
        except ExpressionError as error:
            yield None if str(error) else f"{text!r} is refused without a reason"
            continue
        except Exception as error:
            yield f"{text!r}: {error!r}"
            continue
        if rule is not None and index % max(1, tries // solved) == 0 and sum(map(len, terms)) < 60:
            answer = solve(rule, terms)
            yield None if answer.correct else f"{text!r} is answered with {answer.answer}"
        else:
            yield None


def _expression(chance: random.Random) -> str:
    terms = [str(chance.randrange(10 ** chance.randint(1, 12))) for _ in range(chance.randint(1, 5))]
    letters = list(chance.choice(("+", " + ", "++")).join(terms) + chance.choice(("", "=", " =", "=="))) or ["1"]
    for _ in range(chance.choice((0, 0, 1, 1, 2, 5, 20))):
        where = chance.randrange(len(letters) + 1)
        letters[where : where + chance.randint(0, 2)] = [chance.choice(_LETTERS)] * chance.randint(0, 3)
    return "".join(letters)


def hostile_files(place: Path, weights: list[Path], tries: int, seed: int = 0) -> Tries:
    """Weights and configurations made by an enemy load or are refused, without a traceback and without much memory."""
    chance = random.Random(seed)
    path = place / "hostile.safetensors"
    for index in range(tries):
        exact = index % 2 == 0
        config = json.loads(to_json(ExactConfig() if exact else Config()))
        _poison(config, chance)
        tensors = {
            chance.choice(("embedding.weight", "output.bias", "step.attention.relative", "x\x1b[2J")): _tensor(chance)
            for _ in range(chance.randint(1, 4))
        }
        about = {"format": "gridsum-weights-2", "seed": chance.choice((0, -1, "x", None, 10**30)), "config": config}
        match chance.choice(("sealed", "unsealed", "bytes")):
            case "sealed":
                path.write_bytes(seal(tensors, about))
            case "unsealed":
                save_file(tensors, path, {"gridsum": json.dumps(about)})
            case "bytes":
                content = bytearray(chance.choice(weights).read_bytes())
                for _ in range(chance.randint(1, 8)):
                    content[chance.randrange(min(len(content), 6000))] = chance.randrange(256)
                path.write_bytes(content)
        try:
            with suppress(StoreError):
                load_runs("hostile", [path])
            with suppress(ValueError):
                from_dict(ExactConfig if exact else Config, config)
        except Exception as error:
            yield f"{path.read_bytes()!r}, {config}: {error!r}"
        else:
            yield None


def _poison(data: dict[str, Any], chance: random.Random) -> None:
    values = (0, -1, 10**12, 2**63, 1e308, float("inf"), float("nan"), "x\x1b]0;y\x07", None, [], [1] * 50, {}, True)
    for _ in range(chance.randint(1, 6)):
        place: Any = data
        while True:
            key = chance.choice(list(place))
            if not isinstance(place[key], dict) or not place[key] or chance.random() < 0.1:
                break
            place = place[key]
        place[key if chance.random() < 0.9 else "unknown\x1b[31m"] = chance.choice(values)


def _tensor(chance: random.Random) -> torch.Tensor:
    kind = chance.choice((torch.float32, torch.float64, torch.int64, torch.bool, torch.float16))
    shape = [chance.choice((0, 1, 3, 13, 64)) for _ in range(chance.randint(0, 4))]
    values = torch.full(shape, chance.choice((0.0, float("nan"), float("inf"), 1.0)))
    return values.nan_to_num(0).to(kind) if not kind.is_floating_point else values.to(kind)
