"""Write a model for other programs. hf: a folder for the Hugging Face Hub with a card, config.json and
model.safetensors; gridsum loads it again. onnx: graphs of the input and of a step, for any number of problems, rows and
columns, compared with torch by onnxruntime. json: the rule of a model that has one.

examples:
  gridsum export exact --to hf --out exact-hub
  gridsum export runs/base/seed-3 --to onnx --out base-onnx
  gridsum export exact --to json --out rule.json
"""

from gridsum.cli.options import Options, Parser, add_model
from gridsum.cli.output import check_writable, tell


def add_options(parser: Parser) -> None:
    add_model(parser, "model MODEL")
    parser.option("--to FORMAT", "hf, onnx or json", choices=("hf", "onnx", "json"), required=True)
    parser.option("--out PLACE", "a folder for hf and onnx, a file for json", required=True)


def run(options: Options) -> None:
    from gridsum.exporting import export

    if options.to == "json":
        check_writable(options.out)
    for path in export(options.model, options.out, options.to):
        tell(f"gridsum: wrote {path}")
