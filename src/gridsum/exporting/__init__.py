"""Models for other programs: a Hugging Face folder, ONNX graphs, the JSON of a rule.

FOLDER/README.md           a card with metadata and scores
FOLDER/config.json         the configuration
FOLDER/model.safetensors   the weights, with the configuration inside; never a pickle
FOLDER/rule.json           the rule, of a model that has one
"""

import json
from pathlib import Path
from typing import Literal

from gridsum.api.loading import as_model, rule_model
from gridsum.api.models import Model, ModelError
from gridsum.api.rules import RuleModel
from gridsum.config.fields import to_json
from gridsum.evaluation.records import read
from gridsum.evaluation.rendering import to_markdown
from gridsum.evaluation.tables import TABLES
from gridsum.io.disk import write_atomically
from gridsum.io.names import MODELS
from gridsum.io.version import __version__
from gridsum.model.store import EXPORTED, shipped_records

FORMATS = ("hf", "onnx", "json")
_CARD = """---
license: mit
library_name: gridsum
tags: [arithmetic, addition, systematic-generalisation, cellular-automaton, universal-transformer]
---
# gridsum-{name}

A network of gridsum (`pip install .` in a checkout of it), variant `{variant}`, seed {seed}, {parameters:,} parameters.
Its task is `{task.name}`: {task.meaning}.
{use}
```python
import gridsum

model = gridsum.load("this-folder")
print(model.solve("{example}"))
```

{scores}"""


def export(model: str | Path | Model, out: str | Path, to: Literal["hf", "onnx", "json"] = "hf") -> list[Path]:
    """Write a model for other programs; returns the files.

    "hf" is a folder for the Hugging Face Hub, which `gridsum.load` reads too, "onnx" a folder of graphs of the input
    and of a step, "json" a file with the rule of a model that has one.
    """
    place = Path(out)
    if to not in FORMATS:
        raise ModelError(f"unknown format {to!r}; use {', '.join(FORMATS)}")
    if to == "json":
        write_atomically(place.resolve(), (rule_model(model).table.by_reading().to_json() + "\n").encode())
        return [place]
    if place.exists() and not place.is_dir():
        raise ModelError(f"{place} is a file; name a folder for {to}")
    found = as_model(model)
    if to == "onnx":
        from gridsum.exporting.graphs import write_graphs

        return write_graphs(found.network, place)
    records, write = shipped_records(found.name), found.task.alphabet.write
    card = _CARD.format(
        **found.about | {"name": Path(found.name).name},
        task=found.task,
        use=f"Use it for {MODELS[found.name]}.\n" if found.name in MODELS else "",
        example=found.task.render((write(67), write(58))).removesuffix("="),
        scores=to_markdown(TABLES["scores"](read([records]))) if records.is_file() else "",
    )
    about = {"model_type": "gridsum", "gridsum_version": __version__, "alphabet": list(found.task.alphabet.symbols)}
    files = {"README.md": card, "config.json": json.dumps(about | json.loads(to_json(found.config)), indent=2) + "\n"}
    if isinstance(found, RuleModel):
        files["rule.json"] = found.table.to_json() + "\n"
    for name, text in files.items():
        write_atomically(place / name, text.encode())
    found.save(place / EXPORTED)
    return [*(place / name for name in files), place / EXPORTED]
