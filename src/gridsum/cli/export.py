"""`gridsum export`: a model for other programs."""

from dataclasses import dataclass
from typing import Annotated, Literal

from gridsum.cli.options import File, ModelName, Value, option, required, several
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
    if options.to == "json":
        from gridsum.api.loading import rule_model

        check_writable(options.out)
        write_result(options.out, rule_model(options.model).table.to_json() + "\n")
        tell(f"gridsum: wrote {options.out}")
        return 0
    from gridsum.exporting import export

    try:
        written = export(options.model, options.out, options.to, options.records)
    except OSError as error:
        raise unwritable(error.filename or options.out, error) from None
    for path in written:
        tell(f"gridsum: wrote {path}")
    return 0
