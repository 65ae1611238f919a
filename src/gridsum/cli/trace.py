"""`gridsum trace`: everything that happens inside while a sum is worked out, as JSON."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gridsum.cli.output import STANDARD, check_writable, write_result
from gridsum.cli.parsing import Parser
from gridsum.cli.solve import describe
from gridsum.cli.watching import add_watching, watch

if TYPE_CHECKING:
    from gridsum.api.traces import Trace

# float32 holds about seven digits; more of them would be noise, and double the file.
_DECIMALS = 6


def _parser() -> Parser:
    parser = Parser(
        "trace",
        "Work out one sum and write what happened inside as one JSON object.",
        "gridsum trace EXPR [--out FILE] [options]",
        "the object, for a grid of H rows × W columns, from the top and from the left:\n"
        "  expression, answer, exact, correct, steps, halting, placement, capped, model\n"
        "                 as printed by gridsum solve --json\n"
        "  alphabet       the 13 symbols; the first, ' ', is PAD (a blank)\n"
        "  symbols        the input, character by character\n"
        "  action_names   TLU (append to the top row), NLP (push a new row), NOP (ignore)\n"
        "  actions        for each input symbol, the probabilities of these actions\n"
        "  readings       for each n from 0 (before any step) to steps:\n"
        "    n\n"
        "    lambda       λ_n, the probability of halting now if still running\n"
        "    p            p_n, the probability of halting at n\n"
        "    cumulated    the probability of having halted by n\n"
        "                 (these three are null for models without halting network)\n"
        "    symbols      H × W, the symbol that the output layer reads in each cell\n"
        "    confidence   H × W, its probability\n"
        "    codes        H × W, the code of each cell, where the model is a rule\n"
        "    grid         H × W × E, the features of each cell (with --grids)\n"
        "    attention    k² × H × W × h, what each cell pays to its neighbours, row by\n"
        "                 row, with each head, in the step from n to n+1; null for the\n"
        "                 last n (with --attention)\n\n"
        "examples:\n"
        "  gridsum trace 523+102 --out trace.json\n"
        "  gridsum trace 99999+1 --grids --attention --out trace.json\n"
        "  gridsum trace 12+34 --model base | jq '.readings[].lambda'",
    )
    parser.add_argument(
        "--out", default=STANDARD, metavar="FILE", help="where to write (default: - for standard output)"
    )
    parser.add_argument("--grids", action="store_true", help="with the features of every cell; large")
    parser.add_argument("--attention", action="store_true", help="with all attention weights; very large")
    add_watching(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    if options.out != STANDARD:
        check_writable(options.out)
    watched = watch(options)
    answer, traced = watched.answer, watched.inside
    content = describe(answer, watched.model.name) | {
        "alphabet": list(traced.alphabet),
        "symbols": [traced.alphabet[code] for code in traced.symbols.tolist()],
        "action_names": ["TLU", "NLP", "NOP"],
        "actions": _rounded(traced.actions),
        "readings": [_reading(watched, n, options.grids, options.attention) for n in range(answer.steps + 1)],
    }
    write_result(options.out, json.dumps(content) + "\n")
    return 0


def _reading(watched: "Trace", n: int, grids: bool, attention: bool) -> dict[str, Any]:
    traced = watched.inside
    confidence, codes = traced.decoded[n].max(-1)
    halting, probability = traced.halting, traced.probability
    reading: dict[str, Any] = {
        "n": n,
        "lambda": None if halting is None else float(halting[n]),
        "p": None if probability is None else float(probability[n]),
        "cumulated": None if probability is None else float(probability[: n + 1].sum()),
        "symbols": [[traced.alphabet[code] for code in row] for row in codes.tolist()],
        "confidence": _rounded(confidence),
    }
    if watched.codes is not None:
        reading["codes"] = watched.codes[n].tolist()
    if grids:
        reading["grid"] = _rounded(traced.grids[n])
    if attention:
        weights = watched.attention
        reading["attention"] = _rounded(weights[n]) if n < len(weights) else None
    return reading


def _rounded(values: Any) -> Any:
    return values.double().round(decimals=_DECIMALS).tolist()
