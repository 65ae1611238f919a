"""`gridsum export`: a model for other programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from gridsum.cli.options import File, ModelName, UsageError, Value, option, required, several
from gridsum.cli.output import check_writable, tell, unwritable, write_result
from gridsum.io.names import DEFAULT_MODEL


@dataclass(frozen=True, kw_only=True)
class Options:
    """Write a model for other programs. hf: a folder for the Hugging Face Hub with a card, config.json and
    model.safetensors; gridsum loads it again. onnx: graphs of the input and of a step, for any number of problems,
    rows and columns, compared with torch by onnxruntime. json: the rule of a model that has one.

    examples:
      gridsum export exact --to hf --out exact-hub
      gridsum export runs/base/seed-3 --to onnx --out base-onnx
      gridsum export exact --to json --out rule.json
    """

    model: ModelName = option(
        "a shipped model's name, the folder of one trained seed, or a weights file", DEFAULT_MODEL, argument=True
    )
    to: Literal["hf", "onnx", "json"] = required("the format")
    out: Annotated[str, Value("PLACE")] = required("a folder for hf and onnx, a file for json")
    records: tuple[File, ...] = several(
        "for hf: the scores to show, as gridsum evaluate --out keeps them (default: those of a shipped model)"
    )


def run(options: Options) -> int:
    from gridsum.api.loading import load, rule_model

    place = Path(options.out)
    if options.to == "json":
        check_writable(options.out)
        write_result(options.out, rule_model(options.model).table.to_json() + "\n")
        tell(f"gridsum: wrote {options.out}")
        return 0
    if place.exists() and not place.is_dir():
        raise UsageError(f"{place} is a file; name a folder for --to {options.to}")
    from gridsum.model.store import locate, shipped_records

    model = load(options.model)
    try:
        if options.to == "onnx":
            from gridsum.export.graphs import write_graphs

            written = write_graphs(model.network, place)
        else:
            from gridsum.evaluation.records import read
            from gridsum.export.hugging_face import write_folder

            kept = [path for path in [shipped_records(options.model)] if path.is_file()]
            written = write_folder(model, locate(options.model)[0], place, read(options.records or kept))
    except OSError as error:
        raise unwritable(error.filename or place, error) from None
    for path in written:
        tell(f"gridsum: wrote {path}")
    return 0
