"""`gridsum figure`: the paper's figures, and further ones, from models, records and training logs."""

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gridsum.cli.output import STANDARD, check_writable, emit, tell, terminal_width, write_result
from gridsum.cli.parsing import (
    Parser,
    UsageError,
    add_device,
    add_rules,
    add_seed,
    called_now,
    check_halting,
    columns,
    load_single,
    pick_device,
)
from gridsum.cli.table import RECORDS_BY_DEFAULT, record_files
from gridsum.cli.watching import watch
from gridsum.io.names import DEFAULT_MODEL, INSIDE_MODEL, did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gridsum.evaluation.solving import Answer
    from gridsum.model.rollout import Trace
    from gridsum.model.store import Model

_EXPRESSION = "523+102+9416"
_DECIMALS = 6
# How many steps past halting are shown, where the subject is how the network decides to halt.
_BEYOND = 6


class Kind(NamedTuple):
    """What a figure shows, and which of the options it is made of."""

    shows: str
    made_of: tuple[str, ...]


FIGURES = {
    "placement": Kind("the action chosen for each symbol, and the grid it makes (Fig. 4)", ("expression", "model")),
    "steps": Kind("the grid from step to step, changed cells marked", ("expression", "model")),
    "halting": Kind("when it halts: λ_n and p_n, or how much still changes", ("expression", "model")),
    "attention": Kind("a position-based and a content-based rule (Fig. 5)", ("expression", "model")),
    "ring": Kind("digit vectors on principal components (Fig. 6); all seeds of MODEL", ("model",)),
    "terms": Kind("accuracy and steps against the number of terms (Fig. 2)", ("records",)),
    "systems": Kind("systems side by side: results right against digits and terms", ("records",)),
    "learning": Kind("how systems learned, from the learning.jsonl of gridsum compare", ("records",)),
    "training": Kind("mean steps during training, a curve for each folder (Fig. 3)", ("runs",)),
}
_OF_TRACES = ("placement", "steps", "halting")
_WRITTEN = {"expression": "EXPR", "model": "--model", "records": "--records", "runs": "--runs"}


def _parser() -> Parser:
    width = max(map(len, FIGURES)) + 2
    shown = "\n".join(
        f"  {name:<{width}}{kind.shows}\n  {'':<{width}}made of {', '.join(_WRITTEN[part] for part in kind.made_of)}"
        for name, kind in FIGURES.items()
    )
    parser = Parser(
        "figure",
        "Draw a figure and write it as SVG, PNG or PDF. Without NAME, list the figures.",
        "gridsum figure [NAME] [EXPR] --out FILE [options]",
        f"figures (the numbers are the paper's):\n{shown}\n\n"
        "examples:\n"
        "  gridsum figure steps 99999+1 --out steps.svg\n"
        "  gridsum figure ring --model runs/base --out ring.png\n"
        "  gridsum evaluate --suite terms --out records.jsonl\n"
        "  gridsum figure terms --records records.jsonl --out terms.svg\n"
        "  gridsum figure training --runs runs/base runs/ponderReg --out training.svg",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="which figure")
    parser.add_argument("expression", nargs="?", metavar="EXPR", help=f"a sum (default: {_EXPRESSION})")
    parser.add_argument("--out", metavar="FILE", help="where to write; its name ends in .svg, .png or .pdf")
    parser.add_argument(
        "--model",
        metavar="MODEL",
        help="a shipped model's name, a trained seed's folder, or a weights file; for ring also a training "
        f"folder with several seeds (default: {DEFAULT_MODEL}; {INSIDE_MODEL} for halting, attention and ring)",
    )
    parser.add_argument(
        "--records",
        nargs="+",
        action="extend",
        metavar="RECORDS",
        help=f"files that gridsum evaluate kept, or names of shipped models for theirs (default: {RECORDS_BY_DEFAULT})",
    )
    parser.add_argument(
        "--runs", nargs="+", action="extend", metavar="FOLDER", help="training folders, made by gridsum train --out"
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="write the numbers as JSON too, but for placement, steps and halting; - is standard output",
    )
    add_rules(parser)
    add_seed(parser, "of the draws of sampled halting; for ring, of its problems")
    add_device(parser, "cpu")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    given = [part for part in _WRITTEN if getattr(options, part) is not None]
    if options.name is None:
        if given or options.out is not None:
            raise UsageError(f"which figure? Name one of: {', '.join(FIGURES)}")
        emit(columns({name: kind.shows for name, kind in FIGURES.items()}, 0, terminal_width()))
        return 0
    _check(options, given)
    suffix = load_figures().style.check_format(options.out)
    check_writable(options.out)
    figure, data = _DRAW[options.name](options)
    write_result(options.out, load_figures().style.to_bytes(figure, suffix))
    if options.data is not None:
        write_result(options.data, _json(data))
    tell(f"gridsum: wrote {options.out}")
    return 0


def _check(options: Any, given: list[str]) -> None:
    if options.name not in FIGURES:
        mend = did_you_mean(options.name, FIGURES, f"the figures are {', '.join(FIGURES)}")
        raise UsageError(f"there is no figure {options.name!r}; {mend}")
    made_of = FIGURES[options.name].made_of
    for part in given:
        if part not in made_of:
            needs = ", ".join(_WRITTEN[needed] for needed in made_of)
            raise UsageError(f"the figure {options.name} takes no {_WRITTEN[part]}; it is made of {needs}")
    if options.data is not None:
        if options.name in _OF_TRACES:
            raise UsageError(f"the numbers of {options.name} are those of a trace; write them with gridsum trace")
        if options.data != STANDARD:
            check_writable(options.data)
    if options.out is None:
        raise UsageError(f"where should the figure go? Add --out {options.name}.svg")


def load_figures() -> Any:
    """The room of figures, if what it needs is installed."""
    try:
        import gridsum.figures
    except ImportError as error:
        raise UsageError(str(error)) from None
    return gridsum.figures


def _placement(options: Any) -> "Drawn":
    trace = _watched(options)
    return load_figures().plot_placement(trace.inside, trace.answer), None


def _steps(options: Any) -> "Drawn":
    trace = _watched(options)
    return load_figures().plot_steps(trace.inside, trace.answer), None


def _watched(options: Any) -> Any:
    options.expression, options.model = options.expression or _EXPRESSION, options.model or DEFAULT_MODEL
    return watch(options)


def _halting(options: Any) -> "Drawn":
    _, trace, answer = _traced(options, _BEYOND)
    return load_figures().plot_halting(trace, answer), None


def _attention(options: Any) -> "Drawn":
    from gridsum.analysis.attention import head_rules

    model, trace, _ = _traced(options)
    rules = head_rules(model.network.step.attention, [trace])
    return load_figures().plot_attention(trace, rules), rules


def _traced(options: Any, beyond: int = 0) -> "tuple[Model, Trace, Answer]":
    """The sum that the options name worked out, and what happened until `beyond` steps after halting."""
    name = options.model or INSIDE_MODEL
    model = load_single(name, options.device)
    terms = model.config.task.task.parse(options.expression or _EXPRESSION)
    check_halting(model.network, options.halting, name)
    from gridsum.evaluation.solving import solve, trace_expression

    (answer,) = solve(model, [terms], options.halting, options.seed, options.placement)
    return model, trace_expression(model, terms, answer.steps + beyond, options.placement), answer


def _ring(options: Any) -> "Drawn":
    from gridsum.analysis.ring import RingError, digit_vectors, ring
    from gridsum.model.store import load

    model = load(called_now(options.model or INSIDE_MODEL), pick_device(options.device))
    found = digit_vectors(model, seed=options.seed)
    # Of a single network there is room to show a second ring, which lies on the next two components.
    planes = ((1, 2), (3, 4)) if len(found) == 1 else ((1, 2),)
    rings = []
    for seed, vectors in zip(model.seeds, found, strict=True):
        try:
            rings += [ring(seed, vectors, plane) for plane in planes]
        except RingError as error:
            if not rings and seed == model.seeds[-1]:
                raise
            tell(f"gridsum: left out: {error}")
    # Without the points: there are very many, and what they amount to is given.
    summaries = [dataclasses.replace(found, points=found.points[:0], digits=found.digits[:0]) for found in rings]
    return load_figures().plot_rings(rings), summaries


def _terms(options: Any) -> "Drawn":
    from gridsum.analysis.curves import terms_curves
    from gridsum.evaluation.paper import LONG_TERMS
    from gridsum.evaluation.records import read

    curves = terms_curves(read(record_files(options.records)))
    return load_figures().plot_terms(curves, LONG_TERMS), curves


def _systems(options: Any) -> "Drawn":
    from gridsum.evaluation.records import read
    from gridsum.evaluation.systems import curves

    found = curves(read(record_files(options.records)))
    return load_figures().plot_systems(found), found


def _learning(options: Any) -> "Drawn":
    from gridsum.baselines.learning import learning

    if not options.records:
        raise UsageError(
            "the figure learning is made of what gridsum compare --out FOLDER writes; name it: "
            "--records FOLDER/learning.jsonl"
        )
    found = learning(record_files(options.records))
    return load_figures().plot_learning(found), list(found.values())


def _training(options: Any) -> "Drawn":
    from gridsum.analysis.curves import training_curves

    if not options.runs:
        raise UsageError("the figure training is made of training folders; name them with --runs FOLDER")
    curves = training_curves([Path(folder) for folder in options.runs])
    return load_figures().plot_training(curves), curves


def _json(data: Sequence[Any]) -> str:
    """A list with a line for each curve, ring or head."""
    return "[\n" + ",\n".join(json.dumps(_numbers(item)) for item in data) + "\n]\n"


def _numbers(value: Any) -> Any:
    """What a figure is drawn of, as JSON holds it."""
    if dataclasses.is_dataclass(value):
        return {field.name: _numbers(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        return {name: _numbers(item) for name, item in value._asdict().items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _numbers(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value]
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, _DECIMALS)
    return value


Drawn = tuple["Figure", Any]
"""A figure, and what it is drawn of (None where that is a trace)."""

_DRAW: dict[str, Callable[[Any], Drawn]] = {
    "placement": _placement,
    "steps": _steps,
    "halting": _halting,
    "attention": _attention,
    "ring": _ring,
    "terms": _terms,
    "systems": _systems,
    "learning": _learning,
    "training": _training,
}
