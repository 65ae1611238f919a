"""The site: it begins with the README, runs the tutorial, and holds every file that a page links to."""

import os
import re
from pathlib import Path
from posixpath import dirname, relpath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
OUTSIDE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "measurements.md": "benchmarks/README.md",
}
"""Pages of the site that lie outside docs/."""
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")


def on_config(config: Any) -> Any:
    """The kernel that runs the tutorial is described in docs/kernels."""
    os.environ["JUPYTER_PATH"] = config.docs_dir
    return config


def on_files(files: Files, config: Any) -> Files:
    pages = {file.src_uri: Path(config.docs_dir, file.src_uri) for file in files.documentation_pages()}
    for uri, path in OUTSIDE.items():
        pages[uri] = ROOT / path
        files.append(File.generated(config, uri, content=pages[uri].read_text(encoding="utf-8")))
    for page in pages.values():
        for _, link, _ in _LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if target.is_file() and files.get_file_from_path(_place(target)) is None:
                files.append(File.generated(config, _place(target), content=target.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    here = page.file.src_uri
    folder = Path(ROOT, OUTSIDE.get(here, f"docs/{here}")).parent

    def led(found: re.Match[str]) -> str:
        before, link, after = found.groups()
        target = (folder / link).resolve()
        if not target.is_file():  # an address; of a folder, its list of files
            return f"{before}{link}{after}" if not target.exists() else f"{before}{_listed(target)}{after}"
        return f"{before}{relpath(_place(target), dirname(here) or '.')}{after}"

    def _listed(target: Path) -> str:
        uri = f"source/{target.relative_to(ROOT)}.txt"
        if files.get_file_from_path(uri) is None:
            names = sorted(str(path.relative_to(ROOT)) for path in target.rglob("*") if path.is_file())
            files.append(File.generated(config, uri, content="\n".join(n for n in names if "__pycache__" not in n)))
        return relpath(uri, dirname(here) or ".")

    return _LINK.sub(led, markdown)


def _place(target: Path) -> str:
    """Where a file of the repository stands on the site: a page, a picture, or a text to read."""
    path = target.relative_to(ROOT).as_posix()
    pages = {there: uri for uri, there in OUTSIDE.items()}
    return pages.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}.txt")
