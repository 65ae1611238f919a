"""The site begins with the README."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    text = (Path(config.config_file_path).parent / "README.md").read_text(encoding="utf-8")
    for before in ("](", 'src="'):
        text = text.replace(f"{before}docs/", before)
    files.append(File.generated(config, "index.md", content=text))
    return files
