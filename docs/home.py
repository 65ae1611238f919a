"""The site begins with the README, and runs the tutorial."""

import os
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    text = (Path(config.config_file_path).parent / "README.md").read_text(encoding="utf-8")
    for before in ("](", 'src="'):
        text = text.replace(f"{before}docs/", before)
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_config(config: Any) -> Any:
    """The kernel that runs the tutorial is described in docs/kernels."""
    os.environ["JUPYTER_PATH"] = config.docs_dir
    return config
