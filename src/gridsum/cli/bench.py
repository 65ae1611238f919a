"""`gridsum bench`: what things cost on this machine."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

from gridsum.cli.output import check_writable, emit, tell, write_result
from gridsum.cli.parsing import Parser, add_device, one_of, pick_device
from gridsum.variants import PAPER_VARIANTS, VARIANTS

_RUNS = (1, 2, 5, 10, 20)
_DIGITS = (10, 100, 1000, 10_000, 100_000)
_TERMS = (2, 5, 10, 20, 50, 100, 200)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} should be whole numbers from 1, separated by commas")
    return numbers


def _parser() -> Parser:
    parser = Parser(
        "bench",
        "Measure what training and solving cost on this machine: milliseconds of a training step for fleets of "
        "several sizes, the share of the machine's fastest product that is reached, and the time of a sum against "
        "its digits and terms. On a CPU the whole takes long; ask for less.",
        "gridsum bench [options]",
        "examples:\n"
        "  gridsum bench --device cuda --json bench.json\n"
        "  gridsum bench --variants base --runs 1 --steps 3 --digits 10,1000 --terms 2,20",
    )
    parser.add_argument(
        "--variants",
        nargs="+",
        type=one_of("variant", tuple(VARIANTS), {}),
        default=list(PAPER_VARIANTS),
        metavar="NAME",
        help="which variants to train (default: the paper's)",
    )
    parser.add_argument(
        "--runs", type=_numbers, default=_RUNS, metavar="N,...", help="sizes of fleets (default: 1,2,5,10,20)"
    )
    parser.add_argument("--steps", type=int, default=20, metavar="N", help="training steps to time (default: 20)")
    parser.add_argument(
        "--precision",
        type=one_of("precision", ("fp32", "tf32", "bf16"), {}),
        default="fp32",
        metavar="NAME",
        help="of the products in training: fp32, bf16 or, on a GPU, tf32 (default: fp32)",
    )
    parser.add_argument(
        "--digits", type=_numbers, default=_DIGITS, metavar="N,...", help="of two terms to add (default: 10 to 100,000)"
    )
    parser.add_argument(
        "--terms", type=_numbers, default=_TERMS, metavar="N,...", help="of 10 digits to add (default: 2 to 200)"
    )
    parser.add_argument("--model", default="base", metavar="MODEL", help="which model solves (default: base)")
    parser.add_argument("--json", metavar="FILE", help="also write every figure to this file")
    add_device(parser, "auto")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    if options.json is not None:
        check_writable(options.json)
    device = pick_device(options.device)

    from gridsum.benchmark import all_measures, exponent
    from gridsum.config import override
    from gridsum.devices import describe
    from gridsum.store import load
    from gridsum.variants import variant

    configs = [override(variant(name), {"training.precision": options.precision}) for name in options.variants]
    model = load(options.model, device)
    records: list[dict[str, Any]] = []
    for record in all_measures(configs, options.runs, model, device, options.digits, options.terms, options.steps):
        records.append(record)
        emit(_line(record))
    for varied, fixed in (("digits", {"terms": 2}), ("terms", {"digits": 10})):
        chosen = [r for r in records if r["measure"] == "solving" and all(r[k] == v for k, v in fixed.items())]
        sizes, seconds = [r[varied] for r in chosen], [r["seconds_per_step"] for r in chosen]
        if len(set(sizes)) > 1:
            power = exponent(sizes, seconds)
            records.append({"measure": "exponent", "of": f"seconds per step against {varied}", "value": power})
            emit(f"solving: seconds per step grow as {varied}^{power:.2f}")
    if options.json is not None:
        write_result(options.json, json.dumps({"device": describe(device), "records": records}, indent=2) + "\n")
        tell(f"gridsum: wrote {len(records)} figures to {options.json}")
    return 0


def _line(record: dict[str, Any]) -> str:
    if record["measure"] == "training":
        share = 100 * record["share_of_product_rate"]
        return (
            f"training {record['variant']:<10}{record['precision']:<5}{record['runs']:>3} runs: "
            f"{record['ms_per_step_and_run']:8.2f} ms a step and run, "
            f"{record['recurrent_steps_computed']:4.1f} recurrent steps, "
            f"{record['peak_gigabytes']:5.1f} GB, {share:4.1f} % of the product rate"
        )
    if record["measure"] == "solving":
        return (
            f"solving {record['terms']:>4} × {record['digits']:<7} digits: {record['seconds']:8.3f} s, "
            f"{record['steps']} steps, {record['placement']} placement"
        )
    return (
        f"throughput {record['terms']} × {record['digits']} digits, {record['problems']} sums: "
        f"{record['problems_per_second']:.0f} sums a second"
    )
