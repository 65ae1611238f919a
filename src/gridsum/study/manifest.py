"""What the folder of a reproduction keeps, with checksums: summaries instead of logs, and the weights of each run."""

import hashlib
import json
from pathlib import Path
from typing import Any

from gridsum.io.disk import write_atomically
from gridsum.model.store import WEIGHTS
from gridsum.study.reproduction import EXTRA_FOLDER
from gridsum.study.results import Results
from gridsum.training.folders import seed_folder
from gridsum.training.summary import write_summary

MANIFEST = "manifest.json"
_KEPT = ("config.json", "start.json", "machine.jsonl", "summary.json", "validation.jsonl", "leakage.jsonl")


def keep(results: Results) -> None:
    """Write the summary of every training, then the manifest of the folder.

    Weights that are no longer there keep the checksum that they had.
    """
    for name in results.trained:
        write_summary(results.folder / name)
    before = read_manifest(results.folder).get("weights", {})
    weights = {name: before.get(name, {}) | _weights(results, name) for name in results.trained}
    content = {"files": _files(results), "weights": {name: known for name, known in weights.items() if known}}
    write_atomically(results.folder / MANIFEST, json.dumps(content, indent=1).encode() + b"\n")


def read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    return json.loads(path.read_text()) if path.exists() else {}


def _files(results: Results) -> dict[str, str]:
    folder = results.folder
    paths = [folder / name / kept for name in results.trained for kept in _KEPT]
    paths += [
        place / "records" / f"{name}.jsonl" for place in (folder, folder / EXTRA_FOLDER) for name in results.trained
    ]
    return {path.relative_to(folder).as_posix(): checksum(path) for path in paths if path.exists()}


def _weights(results: Results, name: str) -> dict[str, str]:
    runs = {seed: seed_folder(results.folder / name, seed) / WEIGHTS for seed in results.trained[name].seeds}
    return {str(seed): checksum(path) for seed, path in runs.items() if path.is_file()}


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
