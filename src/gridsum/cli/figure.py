"""Draw a figure and write it as SVG, PNG or PDF, or make a film. Figure numbers are the paper's.

examples:
  gridsum figure steps 99999+1 --out steps.svg
  gridsum figure film 523+102+9416 --out sum.gif
  gridsum figure ring --model runs/base --out ring.png
  gridsum evaluate --suite terms --out records.jsonl
  gridsum figure terms --records records.jsonl --out terms.svg
  gridsum figure training --runs runs/base runs/ponderReg --out training.svg
"""

from pathlib import Path
from typing import Any

from gridsum.api.loading import load
from gridsum.api.models import PaperModel
from gridsum.api.traces import Trace
from gridsum.cli.options import Options, Parser, UsageError, add_device
from gridsum.cli.output import check_writable, tell
from gridsum.cli.table import record_files
from gridsum.io.names import DEFAULT_MODEL, INSIDE_MODEL

_EXPRESSION = "523+102+9416"
FIGURES = {
    "placement": "the action chosen for each symbol, and the grid it makes (Fig. 4)",
    "steps": "the grid from step to step, changed cells marked",
    "film": "a sum being worked out, as .gif",
    "attention": "a position-based and a content-based rule (Fig. 5)",
    "ring": "digit vectors on principal components (Fig. 6); all seeds of MODEL",
    "terms": "accuracy and steps against the number of terms (Fig. 2)",
    "baselines": "baselines side by side: results right against digits and terms",
    "training": "mean steps during training, a curve for each folder (Fig. 3)",
}


def add_options(parser: Parser) -> None:
    parser.explain({"figures": FIGURES})
    parser.option("figure FIGURE", "which figure", choices=FIGURES, required=True)
    parser.option("expression EXPR", f"a sum (default: {_EXPRESSION})")
    parser.option("--out FILE", "where to write; its name ends in .svg, .png or .pdf, that of a film in .gif")
    parser.option(
        "--model MODEL",
        "a shipped model's name, a trained seed's folder, or a weights file; for ring also a training folder with "
        f"several seeds (default: {DEFAULT_MODEL}; {INSIDE_MODEL} for attention and ring)",
    )
    parser.option(
        "--records RECORDS...",
        "for terms, baselines: files that gridsum evaluate kept, or names of shipped models for theirs "
        "(default: those of the shipped models)",
    )
    parser.option("--runs FOLDER...", "for training: folders made by gridsum train --out")
    add_device(parser, "cpu")


def run(options: Options) -> None:
    name = options.figure
    if name == "training" and not options.runs:
        raise UsageError(f"the figure {name} is made of folders of gridsum train; name them with --runs FOLDER")
    if options.out is None:
        raise UsageError(f"no file to write to; add --out {name}.{'gif' if name == 'film' else 'svg'}")
    check_writable(options.out)
    try:
        from gridsum import figures
        from gridsum.figures import style
    except ImportError as error:
        raise UsageError(str(error)) from None
    if name == "film":
        _traced(options).film(options.out)
    else:
        style.check_format(options.out)
        figures.save(_drawn(options, figures), options.out)
    tell(f"gridsum: wrote {options.out}")


def _traced(options: Options) -> Trace:
    usual = INSIDE_MODEL if options.figure == "attention" else DEFAULT_MODEL
    return load(options.model or usual, device=options.device).trace(options.expression or _EXPRESSION)


def _drawn(options: Options, figures: Any) -> Any:
    """A figure of one sum or of many: of a model's digits, of records, or of training runs."""
    from gridsum.analysis.ring import rings_of
    from gridsum.evaluation.records import read
    from gridsum.model.store import load as load_runs
    from gridsum.ops.devices import pick_device

    match options.figure:
        case "placement" | "steps" as what:
            return _traced(options).plot(what)
        case "attention":
            trace = _traced(options)
            if not isinstance(trace.model, PaperModel):
                raise UsageError(f"the figure attention needs a network of the paper, not {trace.model.name}; use base")
            return figures.plot_attention(trace.inside, trace.model.network.step.attention)
        case "terms":
            return figures.plot_terms(read(record_files(options.records)))
        case "baselines":
            return figures.plot_baselines(read(record_files(options.records, "baselines")))
        case "training":
            return figures.plot_training(list(map(Path, options.runs)))
        case _:
            model = load_runs(options.model or INSIDE_MODEL, pick_device(options.device))
            return figures.plot_rings(rings_of(model))
