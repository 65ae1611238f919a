"""The page as files by name: written into a folder, or served."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gridsum.automaton.files import shipped_rule
from gridsum.io.names import DEFAULT_MODEL, MODELS
from gridsum.io.version import __version__
from gridsum.model.store import Model
from gridsum.page.data import PageError, inside_script, model_script, rule_script
from gridsum.page.inside import Inside

WEB = Path(__file__).parent / "web"
_PREVIEW = 'content="preview.png"'


def site(models: Sequence[Model], address: str | None = None) -> dict[str, bytes]:
    """The whole page, with networks of one run beside the rule.

    `address` is where it will be found, for previews of links.
    """
    files = static_files(models, address)
    for model in models:
        files[f"models/{file_of(model.name)}.js"] = script(model).encode()
        files[f"models/{file_of(model.name)}.inside.js"] = script(model, "inside").encode()
    return files


def script(model: Model, part: str = "") -> str:
    """What the page loads of a network: its weights, or what is `inside`."""
    return inside_script(Inside(model)) if part else model_script(model)


def file_of(name: str) -> str:
    """What the files of a model are called: its name, which may be a path, without what a web address cannot hold."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")
    # So that runs/x and runs-x stay apart.
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def static_files(models: Sequence[Model], address: str | None = None, api: bool = False) -> dict[str, bytes]:
    """All but the networks' own files."""
    files = {path.relative_to(WEB).as_posix(): path.read_bytes() for path in sorted(WEB.rglob("*")) if path.is_file()}
    if not api:
        files = {name: content for name, content in files.items() if not name.startswith("docs.")}
    if address is not None:
        absolute = f'content="{address.rstrip("/")}/preview.png"'
        files["index.html"] = files["index.html"].replace(_PREVIEW.encode(), absolute.encode())
    return files | {"rule.js": _rule([described(model) for model in models], api).encode()}


def described(model: Model) -> dict[str, Any]:
    """What a visitor is told of a network before it is loaded."""
    use = MODELS.get(model.name, "")
    return {"name": model.name, "file": file_of(model.name), "variant": model.config.variant, "use": use}


def _rule(models: list[dict[str, Any]], api: bool) -> str:
    table = shipped_rule(DEFAULT_MODEL)
    if table is None:
        raise PageError(f"the rule of {DEFAULT_MODEL} does not come with this gridsum; install it again")
    return rule_script(table, {"version": __version__, "models": models, "api": api})
