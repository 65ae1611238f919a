"""`gridsum figure`: the paper's figures, further ones, and films, from models, records and training logs."""

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from gridsum.api.loading import load
from gridsum.api.networks import PaperModel
from gridsum.api.options import SolveOptions
from gridsum.cli.options import (
    File,
    Folder,
    ModelName,
    OnCpu,
    Records,
    Rules,
    UsageError,
    Value,
    columns,
    option,
    several,
)
from gridsum.cli.output import STANDARD, check_writable, emit, tell, terminal_width, write_result
from gridsum.cli.table import RECORDS_BY_DEFAULT, record_files
from gridsum.io.names import DEFAULT_MODEL, INSIDE_MODEL, did_you_mean

if TYPE_CHECKING:
    from gridsum.api.traces import Trace

_EXPRESSION = "523+102+9416"
_DECIMALS = 6
# How many steps past halting are shown, where the subject is how the network decides to halt.
_BEYOND = 6


Drawn = tuple[Any, Sequence[Any] | None]
"""A figure, and what it is drawn of: a line of JSON each (None where that is a trace)."""


def _trace(options: "Options") -> "Trace":
    model = load(options.model or DEFAULT_MODEL, device=options.device)
    solving = SolveOptions(options.halting, options.placement, options.seed)
    return model.traced(model.read(options.expression or _EXPRESSION), solving)


def _inside(options: "Options", beyond: int = 0) -> tuple[PaperModel, Any, Any]:
    """A network of the paper's, what happens in it until `beyond` steps after halting, and its answer."""
    model = load(options.model or INSIDE_MODEL, device=options.device)
    if not isinstance(model, PaperModel):
        raise UsageError(f"the figure {options.name} is of the paper's networks, and {model.name} is none; name base")
    from gridsum.evaluation.solving import trace_expression

    terms = model.read(options.expression or _EXPRESSION)
    (answer,) = model.answers([terms], SolveOptions(options.halting, options.placement, options.seed))
    return model, trace_expression(model.runs, terms, answer.steps + beyond, options.placement), answer


def _steps(options: "Options", figures: Any) -> Drawn:
    trace = _trace(options)
    plot = figures.plot_steps if options.name == "steps" else figures.plot_placement
    return plot(trace.inside, trace.answer), None


def _halting(options: "Options", figures: Any) -> Drawn:
    _, trace, answer = _inside(options, _BEYOND)
    return figures.plot_halting(trace, answer), None


def _attention(options: "Options", figures: Any) -> Drawn:
    from gridsum.analysis.attention import head_rules

    model, trace, _ = _inside(options)
    rules = head_rules(model.network.step.attention, [trace])
    return figures.plot_attention(trace, rules), rules


def _ring(options: "Options", figures: Any) -> Drawn:
    from gridsum.analysis.ring import RingError, digit_vectors, ring
    from gridsum.model.store import load as load_runs
    from gridsum.ops.devices import pick_device

    model = load_runs(options.model or INSIDE_MODEL, pick_device(options.device))
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
    return figures.plot_rings(rings), summaries


def _terms(options: "Options", figures: Any) -> Drawn:
    from gridsum.analysis.curves import terms_curves
    from gridsum.evaluation.paper import LONG_TERMS
    from gridsum.evaluation.records import read

    curves = terms_curves(read(record_files(options.records)))
    return figures.plot_terms(curves, LONG_TERMS), curves


def _baselines(options: "Options", figures: Any) -> Drawn:
    from gridsum.evaluation.baselines import curves
    from gridsum.evaluation.records import read

    found = curves(read(record_files(options.records, "baselines")))
    return figures.plot_baselines(found), found


def _learning(options: "Options", figures: Any) -> Drawn:
    from gridsum.baselines.learning import learning

    if not options.records:
        raise UsageError(
            "the figure learning is made of what gridsum reproduce --variants baselines writes; name it: "
            "--records FOLDER/records/baselines-learning.jsonl"
        )
    found = learning(record_files(options.records))
    return figures.plot_learning(found), list(found.values())


def _training(options: "Options", figures: Any) -> Drawn:
    from gridsum.analysis.curves import training_curves

    if not options.runs:
        raise UsageError("the figure training is made of training folders; name them with --runs FOLDER")
    curves = training_curves([Path(folder) for folder in options.runs])
    return figures.plot_training(curves), curves


class Kind(NamedTuple):
    """What a figure shows, which of the options it is made of, and what draws it."""

    shows: str
    made_of: tuple[str, ...]
    draw: "Callable[[Options, Any], Drawn] | None"
    """None for a film."""


_OF_A_SUM = ("expression", "model")
FIGURES = {
    "placement": Kind("the action chosen for each symbol, and the grid it makes (Fig. 4)", _OF_A_SUM, _steps),
    "steps": Kind("the grid from step to step, changed cells marked", _OF_A_SUM, _steps),
    "film": Kind("a sum being worked out, as .gif", _OF_A_SUM, None),
    "halting": Kind("when it halts: λ_n and p_n, or how much still changes", _OF_A_SUM, _halting),
    "attention": Kind("a position-based and a content-based rule (Fig. 5)", _OF_A_SUM, _attention),
    "ring": Kind("digit vectors on principal components (Fig. 6); all seeds of MODEL", ("model",), _ring),
    "terms": Kind("accuracy and steps against the number of terms (Fig. 2)", ("records",), _terms),
    "baselines": Kind("baselines side by side: results right against digits and terms", ("records",), _baselines),
    "learning": Kind("how baselines learned, from the logs that gridsum reproduce keeps", ("records",), _learning),
    "training": Kind("mean steps during training, a curve for each folder (Fig. 3)", ("runs",), _training),
}
_OF_TRACES = ("placement", "steps", "film", "halting")
_WRITTEN = {"expression": "EXPR", "model": "--model", "records": "--records", "runs": "--runs"}


@dataclass(frozen=True, kw_only=True)
class Options(Rules, OnCpu):
    """Draw a figure and write it as SVG, PNG or PDF, or make a film. Without NAME, list the figures; their
    numbers are the paper's.

    examples:
      gridsum figure steps 99999+1 --out steps.svg
      gridsum figure film 523+102+9416 --out sum.gif
      gridsum figure ring --model runs/base --out ring.png
      gridsum evaluate --suite terms --out records.jsonl
      gridsum figure terms --records records.jsonl --out terms.svg
      gridsum figure training --runs runs/base runs/ponderReg --out training.svg
    """

    lists: ClassVar = {
        f"figures made of {' and '.join(map(_WRITTEN.__getitem__, parts))}": {
            name: kind.shows for name, kind in FIGURES.items() if kind.made_of == parts
        }
        for parts in dict.fromkeys(kind.made_of for kind in FIGURES.values())
    }
    name: Annotated[str | None, Value("NAME")] = option("which figure", argument=True)
    expression: Annotated[str | None, Value("EXPR")] = option(f"a sum (default: {_EXPRESSION})", argument=True)
    out: File | None = option("where to write; its name ends in .svg, .png or .pdf, that of a film in .gif")
    model: ModelName | None = option(
        "a shipped model's name, a trained seed's folder, or a weights file; for ring also a training folder with "
        f"several seeds (default: {DEFAULT_MODEL}; {INSIDE_MODEL} for halting, attention and ring)"
    )
    records: tuple[Records, ...] = several(
        f"files that gridsum evaluate kept, or names of shipped models for theirs (default: {RECORDS_BY_DEFAULT})"
    )
    runs: tuple[Folder, ...] = several("training folders, made by gridsum train --out")
    data: File | None = option(
        "write the numbers as JSON too, but for placement, steps, film and halting; - is standard output"
    )


def run(options: Options) -> int:
    given = [part for part in _WRITTEN if getattr(options, part)]
    if options.name is None:
        if given or options.out is not None:
            raise UsageError(f"which figure? Name one of: {', '.join(FIGURES)}")
        emit(columns({name: kind.shows for name, kind in FIGURES.items()}, 0, terminal_width()))
        return 0
    out = _checked(options, given)
    figures = load_figures()
    draw = FIGURES[options.name].draw
    if draw is None:
        figures.animation.check_film(out)
        trace = _trace(options)
        content = figures.animation.to_bytes(trace.inside, trace.answer)
    else:
        suffix = figures.style.check_format(out)
        figure, data = draw(options, figures)
        content = figures.style.to_bytes(figure, suffix)
        if options.data is not None:
            write_result(options.data, "[\n" + ",\n".join(json.dumps(_numbers(item)) for item in data or ()) + "\n]\n")
    write_result(out, content)
    tell(f"gridsum: wrote {out}")
    return 0


def _checked(options: Options, given: list[str]) -> str:
    """Where the figure goes, once it is certain that it can be made of what was given."""
    assert options.name is not None
    if options.name not in FIGURES:
        hint = did_you_mean(options.name, FIGURES, f"the figures are {', '.join(FIGURES)}")
        raise UsageError(f"unknown figure {options.name!r}; {hint}")
    made_of = FIGURES[options.name].made_of
    wrong = next((part for part in given if part not in made_of), None)
    if wrong is not None:
        needs = ", ".join(_WRITTEN[needed] for needed in made_of)
        raise UsageError(f"the figure {options.name} takes no {_WRITTEN[wrong]}; it is made of {needs}")
    if options.data is not None and options.name in _OF_TRACES:
        raise UsageError(f"the numbers of {options.name} are those of a trace; write them with gridsum solve --trace")
    if options.out is None:
        raise UsageError(f"no file to write to; add --out {options.name}.{'gif' if options.name == 'film' else 'svg'}")
    for name in (options.out, options.data):
        if name not in (None, STANDARD):
            check_writable(name)
    return options.out


def load_figures() -> Any:
    """The room of figures, if what it needs is installed."""
    try:
        import gridsum.figures
    except ImportError as error:
        raise UsageError(str(error)) from None
    return gridsum.figures


def _numbers(value: Any) -> Any:
    """What a figure is drawn of, as JSON holds it."""
    if dataclasses.is_dataclass(value):
        return {field.name: _numbers(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _numbers(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value]
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, _DECIMALS)
    return value
