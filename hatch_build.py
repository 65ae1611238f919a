"""The wheel carries its weights packed (see `gridsum.io.packed`), the records of the baselines compared with ours, and
the theorem that a rule is certified by."""

import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Carried(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        package = Path(self.root, "src", "gridsum")
        packing = runpy.run_path(str(package / "io" / "packed.py"))
        self.folder = tempfile.TemporaryDirectory()
        for plain in sorted(package.glob("shipped/*.safetensors")):
            packed = Path(self.folder.name, plain.name + packing["SUFFIX"])
            packed.write_bytes(packing["pack"](plain.read_bytes()))
            build_data["force_include"][str(packed)] = f"gridsum/shipped/{packed.name}"
        for record in ("results/records/baselines.jsonl", "benchmarks/records/exact-seeds-2026-11-18.json"):
            build_data["force_include"][str(Path(self.root, record))] = f"gridsum/shipped/{Path(record).name}"
        for theorem in sorted(Path(self.root, "proof").glob("*.v")):
            build_data["force_include"][str(theorem)] = f"gridsum/proof/{theorem.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if version != "editable":
            self.folder.cleanup()
