"""Models for other programs: a Hugging Face folder, ONNX graphs, the JSON of a rule."""

from pathlib import Path
from typing import Literal

from gridsum.api.loading import as_model, rule_model
from gridsum.api.models import Model, ModelError
from gridsum.io.disk import write_atomically

FORMATS = ("hf", "onnx", "json")


def export(model: str | Path | Model, out: str | Path, to: Literal["hf", "onnx", "json"] = "hf") -> list[Path]:
    """Write a model for other programs; returns the files.

    "hf" is a folder for the Hugging Face Hub, which `gridsum.load` reads too; its card has the scores of a shipped
    model. "onnx" is a folder of graphs of the input and of a step. "json" is a file with the rule of a model that has
    one.
    """
    place = Path(out)
    if to not in FORMATS:
        raise ModelError(f"unknown format {to!r}; use {', '.join(FORMATS)}")
    if to == "json":
        write_atomically(place.resolve(), (rule_model(model).table.to_json() + "\n").encode())
        return [place]
    if place.exists() and not place.is_dir():
        raise ModelError(f"{place} is a file; name a folder for {to}")
    found = as_model(model)
    if to == "onnx":
        from gridsum.exporting.graphs import write_graphs

        return write_graphs(found.network, place)
    from gridsum.exporting.hugging_face import write_folder

    return write_folder(found, place)
