"""The page as files by name: written into a folder, or served."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from gridsum.automaton.files import shipped_rules
from gridsum.evaluation.records import read
from gridsum.evaluation.suites import NINES, TRAINED
from gridsum.evaluation.tables import accuracy_text
from gridsum.io.names import DEFAULT_MODEL
from gridsum.io.version import __version__
from gridsum.model.store import SHIPPED, Model, shipped_records
from gridsum.page.data import facts_of, network_script, rule_script

WEB = Path(__file__).parent / "web"
LANGUAGES = ("en", "de", "fr", "es", "zh")
TRAINING = "training.js"
"""How one run learned, made by benchmarks/slider.py."""
OPERATIONS = ("add", "subtract", "times", "max")
"""Those that the page has words for."""
PARTS = {"weights": ".js", "inside": ".inside.js"}
"""What the page loads of a network, and how the files end that have it."""


def site(models: Sequence[Model]) -> dict[str, bytes]:
    """The whole page, with networks of one run beside the rules."""
    files = static_files(models)
    for model in models:
        for part, ending in PARTS.items():
            files[f"models/{file_of(model.name)}{ending}"] = network_script(model, part).encode()
    return files


def file_of(name: str) -> str:
    """What the files of a model are called: its name, which may be a path, without what a web address cannot hold."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")
    # So that runs/x and runs-x stay apart.
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def static_files(models: Sequence[Model], api: bool = False) -> dict[str, bytes]:
    """All but the networks' own files."""
    web = [path for path in WEB.iterdir() if path.is_file() and (api or not path.name.startswith("docs."))]
    files = {path.name: path.read_bytes() for path in sorted([*web, SHIPPED / TRAINING])}
    told = json.loads(files[TRAINING].partition(b" = ")[2].rstrip(b";\n"))
    rules = {name: table for kind in OPERATIONS for name, table in shipped_rules().items() if table.task.kind == kind}
    facts = facts_of(rules[DEFAULT_MODEL]) | {"training_base": told["shape"]["base"], "training_device": told["device"]}
    page = filled(files["index.html"].decode(), words("en"), facts)
    about = {
        "version": __version__,
        "facts": facts,
        "rules": {
            task.name: {"model": name, "kind": task.kind, "base": task.alphabet.base, "sign": task.alphabet.signs}
            for name, task in ((name, table.task) for name, table in rules.items())
        },
        "models": [{"name": model.name, "file": file_of(model.name)} for model in models],
        "scores": {name: _scores(name) for name in (DEFAULT_MODEL, *(model.name for model in models))},
        "api": api,
    }
    for language in LANGUAGES:
        content = json.dumps(words(language), ensure_ascii=False, separators=(",", ":"))
        files[f"words/{language}.js"] = f"gridsum.words.{language} = {content};\n".encode()
    scripts = {name: rule_script(table).encode() for name, table in rules.items()}
    first = f"gridsum.data = {json.dumps(about, separators=(',', ':'))};\n".encode() + scripts.pop(DEFAULT_MODEL)
    files |= {f"rules/{name}.js": script for name, script in scripts.items()}
    return files | {"index.html": page.encode(), "rule.js": first}


def words(language: str) -> dict[str, str]:
    return json.loads((WEB / "words" / f"{language}.json").read_text(encoding="utf-8"))


def filled(page: str, texts: Mapping[str, str], facts: Mapping[str, Any]) -> str:
    """The page with its texts in it, so that it can be read before any script has run."""

    def text(key: str) -> str:
        known = {name: f"{value:,}" if isinstance(value, int) else str(value) for name, value in facts.items()}
        return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], found[0]), texts[key])

    page = re.sub(r'data-t-([a-z-]+)="([\w.-]+)"', lambda tag: f'{tag[0]} {tag[1]}="{escape(text(tag[2]))}"', page)
    return re.sub(r'data-t="([\w.-]+)"([^>]*)>', lambda tag: f"{tag[0]}{text(tag[1])}", page)


def _scores(name: str) -> dict[str, int] | None:
    """Percent of sums that a shipped model has right: of random digits, where carries are short, and of 9…9 + 1."""
    path = shipped_records(name)
    if not path.exists():
        return None
    right = {record.suite: round(100 * float(accuracy_text(record.seq))) for record in read([path])}
    return {"random": right[TRAINED], "nines": right[NINES]}
