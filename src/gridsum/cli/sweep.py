"""`gridsum sweep`: a fleet of seeds for each of many configurations."""

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridsum.api.progress import Progress, progress
from gridsum.cli import FAILED, discover
from gridsum.cli.addresses import kept_at
from gridsum.cli.evaluate import source_commit
from gridsum.cli.output import emit, tell, unwritable
from gridsum.cli.overrides import add_overrides, overridden
from gridsum.cli.parsing import (
    Parser,
    UsageError,
    add_cluster,
    add_device,
    one_of,
    pick_device,
    whole_number,
)
from gridsum.cli.train import read_seeds
from gridsum.cli.workers import do_by_workers
from gridsum.config.exact import ExactConfig
from gridsum.config.variants import VARIANTS, variant

if TYPE_CHECKING:
    from gridsum.config.paper import Config
    from gridsum.study.pieces import Piece


def _parser(exact: bool = False) -> Parser:
    parser = Parser(
        "sweep",
        "Train a fleet of seeds for each of many configurations, measure them if asked, and list how good each became. "
        "What is done is kept and skipped: after an interruption the same command goes on.",
        "gridsum sweep --out FOLDER --grid FIELD=VALUES... [options]\n"
        "       gridsum sweep --out FOLDER --random N --range FIELD=LOW:HIGH... [options]",
        "examples:\n"
        "  gridsum sweep --out runs/rates --seeds 0-4 \\\n"
        "      --grid training.learning_rate=1e-3,3e-4 model.heads=8,64\n"
        "  gridsum sweep --out runs/drawn --on ray --random 50 \\\n"
        "      --range training.learning_rate=1e-4:1e-2:log\n"
        "  gridsum sweep --out runs/mine --list changes.jsonl --measure 2x100\n"
        "  gridsum sweep --variant exact --out runs/bits --grid rule.bits=6,7,8",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where everything goes")
    parser.add_argument(
        "--variant",
        type=one_of("variant", (*VARIANTS, "exact")),
        default="base",
        metavar="NAME",
        help="what is changed; with exact the options below are those of gridsum train --variant exact",
    )
    parser.add_argument("--seeds", type=read_seeds, default=(0,), metavar="SEEDS", help="such as 0-9 (default: 0)")
    parser.add_argument(
        "--grid",
        nargs="+",
        default=[],
        metavar="FIELD=VALUES",
        help="every combination of these values; values that hold commas are separated by ;",
    )
    parser.add_argument("--list", metavar="FILE", help="one JSON object a line, of fields and values to change")
    parser.add_argument(
        "--random", type=whole_number(1, 10_001), metavar="N", help="so many configurations drawn from --range"
    )
    parser.add_argument("--range", nargs="+", default=[], metavar="FIELD=LOW:HIGH[:log]", help="what --random draws")
    parser.add_argument("--random-seed", type=whole_number(0, 2**63), default=0, metavar="N", help="of --random")
    parser.add_argument("--measure", nargs="+", default=[], metavar="SUITE", help="measure all runs on these suites")
    parser.add_argument("--samples", type=whole_number(1, 10**6), metavar="N", help="of each suite (default: its own)")
    add_cluster(parser)
    add_device(parser, "auto")
    add_overrides(parser, ExactConfig() if exact else None)
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser(discover.wanted(arguments)).read(arguments)
    with kept_at(options):
        return _run(options, arguments)


def _run(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    from gridsum.evaluation.suites import find
    from gridsum.study.sweep import configurations, sweep_pieces, write_sweep

    folder = Path(options.out)
    if options.variant == "exact":
        if options.measure:
            raise UsageError("what exact comes to is a proof; leave --measure out")
        base = overridden(ExactConfig(), options)
        configs = configurations(base, _changes(base, options))
    else:
        base = overridden(variant(options.variant), options)
        configs = configurations(base, _changes(base, options))
    suites = [suite for name in options.measure for suite in find(name)]
    wanted = sweep_pieces(folder, configs, options.seeds, suites, options.samples)
    try:
        write_sweep(folder, configs, options.seeds)
        with progress() as shown:
            if options.on is not None:
                waiting = do_by_workers(wanted, folder, options, shown, lambda: None)
            else:
                waiting = _do_here(wanted, options.device, shown)
    except KeyboardInterrupt:
        go_on = shlex.join(["gridsum", "sweep", *arguments])
        tell(f"gridsum: stopped; what is done is kept; go on with: {go_on}")
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(error.filename or folder, error) from None
    _list(folder, configs, options.seeds)
    return FAILED if waiting else 0


def _changes(base: "Config | ExactConfig", options: Any) -> list[dict[str, Any]]:
    from gridsum.study.sweep import drawn, grid, parse_axis, parse_range

    if sum((bool(options.grid), options.list is not None, options.random is not None)) != 1:
        raise UsageError("say what to sweep over: --grid, --list or --random with --range")
    if options.grid:
        return grid(dict(parse_axis(base, text) for text in options.grid))
    if options.random is not None:
        if not options.range:
            raise UsageError("--random draws from --range; name at least one field")
        ranges = dict(parse_range(base, text) for text in options.range)
        return drawn(base, ranges, options.random, options.random_seed)
    lines = Path(options.list).read_text(encoding="utf-8").splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise UsageError(f"{options.list}, line {number} is no JSON: {error}") from None
            if not isinstance(found[-1], dict):
                raise UsageError(f"{options.list}, line {number} is no object of fields and values")
    return found


def _do_here(wanted: "list[Piece]", device: str, shown: Progress) -> "list[Piece]":
    from gridsum.study.pieces import Surroundings

    around = Surroundings(
        pick_device(device),
        lambda name, epoch: shown.update(f"{name}: epoch", epoch.number, epoch.of),
        lambda name, done, total: shown.update(f"{name}:", done, total, unit="problems measured"),
        lambda text: shown.note(f"gridsum: {text}"),
        source_commit(),
    )
    for piece in wanted:
        if not piece.state().finished:
            piece.run(around)
    return []


def _list(folder: Path, configs: "Mapping[str, Config | ExactConfig]", seeds: tuple[int, ...]) -> None:
    """How good each configuration became at the end of its training, the best first."""
    from gridsum.study.proved import outcomes
    from gridsum.training.folders import read_metrics

    if all(isinstance(config, ExactConfig) for config in configs.values()):
        results = {name: outcomes(folder / name, seeds) for name in configs}
        proved = {name: sum(result["proved"] for result in found) for name, found in results.items()}
        emit(f"{'proved':>7} {'runs':>5}  configuration")
        for name in sorted(proved, key=lambda name: -proved[name]):
            emit(f"{proved[name]:>7} {len(results[name]):>5}  {name}")
        return
    rows = []
    for name in configs:
        logs = [read_metrics(folder / name, seed) for seed in seeds]
        ends = [log[-1] for log in logs if log]
        if ends:
            accuracy = sum(line["accuracy"] for line in ends) / len(ends)
            loss = sum(line["total"] for line in ends) / len(ends)
            rows.append((accuracy, loss, len(ends), name))
    emit(f"{'accuracy':>9} {'loss':>8} {'runs':>5}  configuration")
    for accuracy, loss, runs, name in sorted(rows, key=lambda row: -row[0]):
        emit(f"{accuracy:>9.4f} {loss:>8.4f} {runs:>5}  {name}")
