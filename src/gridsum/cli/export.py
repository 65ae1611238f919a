"""`gridsum export`: a model for other programs."""

from collections.abc import Sequence
from pathlib import Path

from gridsum.cli.output import check_writable, tell, unwritable, write_result
from gridsum.cli.parsing import Parser, UsageError, called_now, one_of
from gridsum.io.names import DEFAULT_MODEL

_KINDS = ("hf", "onnx", "json")


def _parser() -> Parser:
    parser = Parser(
        "export",
        "Write a model for other programs. hf: a folder for the Hugging Face Hub with a card, config.json and "
        "model.safetensors; gridsum loads it again. onnx: graphs of the input and of a step, for any number of "
        "problems, rows and columns, compared with torch by onnxruntime. json: the rule of a model that has one.",
        "gridsum export [MODEL] --to hf|onnx|json --out PLACE [--records FILE...]",
        "examples:\n"
        "  gridsum export exact --to hf --out exact-hub\n"
        "  gridsum export runs/base/seed-3 --to onnx --out base-onnx\n"
        "  gridsum export exact --to json --out rule.json",
    )
    parser.add_argument(
        "model",
        nargs="?",
        default=DEFAULT_MODEL,
        metavar="MODEL",
        help=f"a shipped model's name, the folder of one trained seed, or a weights file (default: {DEFAULT_MODEL})",
    )
    parser.add_argument("--to", required=True, type=one_of("format", _KINDS), metavar="FORMAT", help="hf, onnx or json")
    parser.add_argument("--out", required=True, metavar="PLACE", help="a folder for hf and onnx, a file for json")
    parser.add_argument(
        "--records",
        nargs="+",
        default=[],
        metavar="FILE",
        help="for hf: the scores to show, as gridsum evaluate --out keeps them (default: those of a shipped model)",
    )
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    name, place = called_now(options.model), Path(options.out)
    if options.to == "json":
        check_writable(options.out)
        from gridsum.api.loading import rule_model

        write_result(options.out, rule_model(name).table.to_json() + "\n")
        tell(f"gridsum: wrote {options.out}")
        return 0
    if place.exists() and not place.is_dir():
        raise UsageError(f"{place} is a file; name a folder for --to {options.to}")
    from gridsum.api.loading import load
    from gridsum.model.store import locate

    model = load(name)
    try:
        if options.to == "onnx":
            from gridsum.export.graphs import write_graphs

            written = write_graphs(model.network, place)
        else:
            from gridsum.evaluation.records import read
            from gridsum.export.hugging_face import write_folder
            from gridsum.model.store import shipped_records

            kept = [shipped_records(name)] if shipped_records(name).is_file() else []
            written = write_folder(model, locate(name)[0], place, read(options.records or kept))
    except OSError as error:
        raise unwritable(error.filename or place, error) from None
    for path in written:
        tell(f"gridsum: wrote {path}")
    return 0
