"""A model as a folder that the Hugging Face Hub takes: card, configuration, weights.

    FOLDER/README.md           a card with metadata and scores
    FOLDER/config.json         the configuration
    FOLDER/model.safetensors   the weights, with the configuration inside; never a pickle
    FOLDER/rule.json           the rule, of a model that has one

`gridsum.load(FOLDER)` reads it again. Weights that do not fit the configuration in full are refused.
"""

import json
from pathlib import Path

from gridsum.api.models import Model
from gridsum.api.rules import RuleModel
from gridsum.config.fields import to_json
from gridsum.evaluation.records import read
from gridsum.evaluation.rendering import to_markdown
from gridsum.evaluation.tables import TABLES
from gridsum.io.names import MODELS
from gridsum.io.version import __version__
from gridsum.model.store import EXPORTED, shipped_records, write_atomically

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


def write_folder(model: Model, folder: Path) -> list[Path]:
    """Write a model as it is now; returns what was written."""
    about = {"model_type": "gridsum", "gridsum_version": __version__, "alphabet": list(model.task.alphabet.symbols)}
    files = {
        "README.md": card(model),
        "config.json": json.dumps(about | json.loads(to_json(model.config)), indent=2) + "\n",
    }
    if isinstance(model, RuleModel):
        files["rule.json"] = model.table.to_json() + "\n"
    for name, text in files.items():
        write_atomically(folder / name, text.encode())
    model.save(folder / EXPORTED)
    return [*(folder / name for name in files), folder / EXPORTED]


def card(model: Model) -> str:
    """The README of a model, with metadata that the Hub reads."""
    records = shipped_records(model.name)
    return _CARD.format(
        **model.about | {"name": Path(model.name).name},
        task=model.task,
        use=f"Use it for {MODELS[model.name]}.\n" if model.name in MODELS else "",
        example=model.task.render(tuple(map(model.task.alphabet.write, (67, 58)))).removesuffix("="),
        scores=to_markdown(TABLES["scores"](read([records]))) if records.is_file() else "",
    )
