"""The wheel carries the records of the baselines compared with ours, and the theorem that a rule is certified by."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_RECORDS = ("results/records/baselines.jsonl", "benchmarks/records/exact-seeds-2026-11-18.json")


class Carried(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            carried = {Path(self.root, record): "shipped" for record in _RECORDS}
            carried |= dict.fromkeys(Path(self.root, "proof").glob("*.v"), "proof")
            build_data["force_include"] |= {str(path): f"gridsum/{to}/{path.name}" for path, to in carried.items()}
