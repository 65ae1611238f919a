"""What the page computes with, as scripts: proved rules, and the weights of networks.

Scripts, not JSON: a browser does not let a page that was opened as a file fetch other files, but it runs them.
"""

import base64
import json
from typing import Any

import numpy as np

from gridsum.analysis.attention import head_rules
from gridsum.analysis.ring import digit_vectors, ring
from gridsum.automaton.meaning import meaning_of
from gridsum.automaton.proof import prove
from gridsum.automaton.table import RuleTable
from gridsum.evaluation.solving import solve_traced
from gridsum.io.version import __version__
from gridsum.model.store import EXACT_SEEDS, SHIPPED, Model, configuration_of, facts, other_records
from gridsum.tasks import find

_SHAPE = ("width", "kernel", "groups", "heads", "context_length", "context_heads")
_SHAPE += ("halting", "fixed_steps", "max_evaluation_steps")
REFERENCE = ("523+102+9416", "99999+1", "58+67", "1234567890+987654321", "7", "4096+88+350+61", "27182+81828")
"""The sums on which every head's rule is measured: of the size networks are trained on, with and without carries."""
_PLANE_PROBLEMS = 32
# Enough for a cloud that shows where the digits lie.
_PLANE_POINTS = 400
_DECIMALS = 4


def rule_script(table: RuleTable) -> str:
    """`gridsum.tables.TASK`: a proved rule, and what its states mean."""
    meaning = meaning_of(table)
    known = meaning.check.certificate.meaning_of
    content = {
        **table.content(),
        "meanings": [{"digit": state.digit, "carry": state.carry} for state in meaning.states],
        "kinds": [{state: carry for state, (_, carry) in means.items()} for kind, means in known.items() if kind],
        "carryBits": [{"bit": bit, "on": on} for bit, on in meaning.carry_bits.items()],
    }
    return f"gridsum.tables[{json.dumps(table.task.name)}] = {_packed(content)};\n"


def facts_of(table: RuleTable) -> dict[str, Any]:
    """What texts tell in numbers: what the proof counted, and what came of fresh seeds."""
    proof = prove(table)
    record = json.loads(other_records(EXACT_SEEDS).read_text())
    config = configuration_of(SHIPPED / "exact.safetensors")
    runs = [run for command in record["fresh"] for run in command["runs"]]
    ten = next(command for command in record["fresh"] if len(command["runs"]) == 10)
    seeds = sorted(run["seed"] for run in runs)
    return {
        "contexts": proof.contexts,
        "evaluations": proof.evaluations,
        "states": len(proof.states),
        "entries": table.steps.size,
        "version": __version__,
        "fresh": len(runs),
        "proved": sum(run["proved"] for run in runs),
        "first": sum(run["proved"] and run["round"] == 1 for run in runs),
        "seeds": f"{seeds[0]}–{seeds[-1]}",
        "examples": config.steps * config.discovery.batch,
        "polish": config.consolidation.problems,
        "device": record["device"],
        "seconds": round(ten["seconds"]),
    }


def network_script(model: Model, part: str = "weights") -> str:
    """A part of `gridsum.models.NAME`: its weights, or what was measured `inside`, for which nobody would wait."""
    content = _packed(_inside(model) if part == "inside" else _weights(model))
    return f"(gridsum.models[{json.dumps(model.name)}] ??= {{}}).{part} = {content};\n"


def _weights(model: Model) -> dict[str, Any]:
    """The weights of one network in float32, and what its computation needs beside them."""
    task, parts, arrays = model.config.task, {}, []
    for name, parameter in model.network.named_parameters():
        array = parameter[0].detach().cpu().float().numpy()
        parts[name] = {"at": sum(before.size for before in arrays), "shape": list(array.shape)}
        arrays.append(array.reshape(-1))
    return {
        **facts(model),
        "model": {name: getattr(model.config.model, name) for name in _SHAPE},
        "task": {
            "leastTerms": task.groups[0].terms[1],
            "spareRows": task.spare_rows,
            "spareColumns": task.spare_columns,
            "terms": task.terms,
            "digits": task.digits,
        },
        "parts": parts,
        "weights": base64.b64encode(np.concatenate(arrays).astype("<f4").tobytes()).decode(),
    }


def _inside(model: Model) -> dict[str, Any]:
    """What decides where each head looks, and where vectors that read as digits lie on the plane of their two principal
    components, with what puts any vector onto it."""
    traces = [solve_traced(model, find().parse(expression))[1] for expression in REFERENCE]
    rules = head_rules(model.network.step.attention, traces)
    found = ring(model.seeds[0], digit_vectors(model, _PLANE_PROBLEMS)[0])
    every = max(1, len(found.points) // _PLANE_POINTS)
    present = [digit for digit, centroid in enumerate(found.centroids) if not np.isnan(centroid).any()]
    return {
        "heads": [{"label": rule.label, "position": round(rule.position, _DECIMALS)} for rule in rules],
        "plane": {
            **{name: getattr(found.roundness, name, None) for name in ("adjacent", "winding")},
            "centroids": _points(np.array(present), found.centroids[present]),
            "points": _points(found.digits[::every], found.points[::every]),
            "mean": found.plane.mean.round(6).tolist(),
            "axes": found.plane.axes.round(6).tolist(),
        },
    }


def _points(digits: np.ndarray, points: np.ndarray) -> list[dict[str, Any]]:
    pairs = zip(digits.tolist(), points.round(_DECIMALS).tolist(), strict=True)
    return [{"digit": digit, "x": x, "y": y} for digit, (x, y) in pairs]


def _packed(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"))
