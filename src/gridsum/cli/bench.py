"""`gridsum bench`: what things cost on this machine."""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridsum.cli.output import check_writable, emit, tell, terminal_width, write_result
from gridsum.cli.parsing import Parser, UsageError, add_device, called_now, one_of, pick_device
from gridsum.config.variants import PAPER_VARIANTS, VARIANTS
from gridsum.io.names import INSIDE_MODEL

if TYPE_CHECKING:
    import torch

    from gridsum.config.paper import Config
    from gridsum.model.store import Model

_RUNS = (1, 2, 5, 10, 20)
_EXACT = ("exact", "exact-small")
_PROFILED = ("base", "fixedTime", "exact")
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
        "its digits and terms. Runs begin from the weights that come with gridsum, as trained networks take more "
        "steps than new ones. On a CPU the whole takes long; ask for less.",
        "gridsum bench [options]\n"
        "       gridsum bench --profile [--variants NAME ...] [--out FILE] [--markdown]\n"
        "       gridsum bench --from FILE [--figure FILE] [--markdown]",
        "examples:\n"
        "  gridsum bench --profile --variants base exact --device cpu\n"
        "  gridsum bench --device cuda --precision bf16 --out bench.json\n"
        "  gridsum bench --from bench.json --figure bench.svg --markdown\n"
        "  gridsum bench --variants base --runs 1 --steps 3 --digits 10,1000 --terms 2,20",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="instead of all that: where the time of a training step goes, part by part, and what bounds each",
    )
    parser.add_argument(
        "--variants",
        nargs="+",
        type=one_of("variant", (*VARIANTS, *_EXACT), {}),
        metavar="NAME",
        help="which variants to train (default: the paper's); a profile takes exact and exact-small as well (default: "
        "base fixedTime exact)",
    )
    parser.add_argument(
        "--runs",
        type=_numbers,
        metavar="N,...",
        help="sizes of fleets (default: 1,2,5,10,20; of a profile, 10 on a GPU and 1 on a CPU)",
    )
    parser.add_argument("--steps", type=int, metavar="N", help="training steps to time (default: 20; of a profile, 3)")
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
    parser.add_argument(
        "--model", default=INSIDE_MODEL, metavar="MODEL", help=f"which model solves (default: {INSIDE_MODEL})"
    )
    parser.add_argument("--out", metavar="FILE", help="keep every figure in this file, as they come")
    parser.add_argument("--from", dest="kept", metavar="FILE", help="measure nothing: show what such a file holds")
    parser.add_argument("--figure", metavar="FILE", help="draw the costs; FILE ends in .svg, .png or .pdf")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    add_device(parser, "auto")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    for path in (options.out, options.figure):
        if path is not None:
            check_writable(path)
    if options.figure is not None:
        from gridsum.figures.style import check_format

        check_format(options.figure)
    if options.kept is not None and options.out is not None:
        raise UsageError("--from measures nothing, so there is nothing new to keep; leave out --out")
    data = _measured(options) if options.kept is None else _read(options.kept)

    from gridsum.benchmark.tables import tables
    from gridsum.evaluation.rendering import to_markdown, to_text

    for table in tables(data["records"], data["device"]):
        shown = to_markdown(table) if options.markdown else to_text(table, terminal_width())
        emit("\n" + shown.rstrip("\n"))
    if options.figure is not None:
        from gridsum.figures.costs import plot_costs
        from gridsum.figures.style import save

        save(plot_costs(data["records"]), options.figure)
        tell(f"gridsum: wrote {options.figure}")
    return 0


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    """What is measured, kept figure by figure: what is done is not lost if the rest is broken off."""
    device = pick_device(options.device)

    from gridsum.ops.devices import describe

    records: list[dict[str, Any]] = []
    data = {"device": describe(device), "records": records}
    for record in _profiles(options, device) if options.profile else _measures(options, device):
        records.append(record)
        emit(_line(record))
        if options.out is not None:
            write_result(options.out, json.dumps(data, indent=2) + "\n")
    if options.out is not None:
        tell(f"gridsum: wrote {len(records)} {'profiles' if options.profile else 'figures'} to {options.out}")
    return data


def _measures(options: argparse.Namespace, device: "torch.device") -> Iterator[dict[str, Any]]:
    from gridsum.benchmark.measures import all_measures
    from gridsum.model.store import load

    if set(options.variants or ()) & set(_EXACT):
        raise UsageError("exact is measured by its profile alone; ask for --profile")
    starts = [_start(name, options.precision) for name in options.variants or PAPER_VARIANTS]
    model, runs, steps = load(called_now(options.model), device), options.runs or _RUNS, options.steps or 20
    return all_measures(starts, runs, model, device, options.digits, options.terms, steps)


def _profiles(options: argparse.Namespace, device: "torch.device") -> Iterator[dict[str, Any]]:
    from gridsum.benchmark.profiles import profile
    from gridsum.config.variants import exact_for
    from gridsum.ops.devices import on_gpu

    for name in options.variants or _PROFILED:
        for runs in options.runs or ((10,) if on_gpu(device) else (1,)):
            if name in _EXACT:
                record = profile(exact_for(small=name == "exact-small"), runs, device, options.steps or 3)
                yield record | {"variant": name}
            else:
                config, trained = _start(name, options.precision)
                yield profile(config, runs, device, options.steps or 3, trained)


def _start(name: str, precision: str) -> "tuple[Config, Model | None]":
    """The configuration of a variant, and the weights that its runs begin from."""
    from gridsum.config.fields import override
    from gridsum.config.variants import variant

    config = override(variant(name), {"training.precision": precision})
    return config, _shipped(config)


def _shipped(config: "Config") -> "Model | None":
    """The model of that variant that comes with gridsum, if there is one of the same shape."""
    from gridsum.model.store import load, shipped

    if config.variant not in shipped():
        return None
    model = load(config.variant)
    return model if model.config.model == config.model else None


def _read(path: str) -> dict[str, Any]:
    try:
        data = json.loads(Path(path).read_text())
        if not all(record["measure"] for record in data["records"]) or not data["device"]:
            raise KeyError
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it does not hold what gridsum bench --out writes"
        raise UsageError(f"cannot show {path}: {reason}") from None
    return data


def _line(record: dict[str, Any]) -> str:
    if record["measure"] == "profile":
        first = record["parts"][0]
        return (
            f"profile of {record['variant']}, {record['runs']} runs: {record['ms_per_step']:.1f} ms a step, "
            f"{100 * first['share']:.0f} % of it {first['part']}"
        )
    if record["measure"] == "training":
        share = 100 * record["share_of_product_rate"]
        gigabytes = record["peak_gigabytes"]
        memory = "" if gigabytes is None else f"{gigabytes:5.1f} GB, "
        return (
            f"training {record['variant']:<10}{record['precision']:<5}{record['runs']:>3} runs: "
            f"{record['ms_per_step_and_run']:8.2f} ms a step and run, "
            f"{record['recurrent_steps_computed']:4.1f} recurrent steps, "
            f"{memory}{share:4.1f} % of the product rate"
        )
    if record["measure"] == "solving":
        return (
            f"solving {record['terms']:>4} × {record['digits']:<7} digits: {record['seconds']:8.3f} s, "
            f"{record['steps']} steps, {record['placement']} placement"
        )
    if record["measure"] == "exponent":
        return f"solving: {record['of']}: to the power of {record['value']:.2f}"
    return (
        f"throughput {record['terms']} × {record['digits']} digits, {record['problems']} sums: "
        f"{record['problems_per_second']:.0f} sums a second"
    )
