"""What a part of a step takes at least, by the limits of the machine that it was measured on."""

from typing import Any


def limits(record: dict[str, Any], part: dict[str, Any]) -> dict[str, float]:
    """The least seconds that a part takes by each of the machine's limits."""
    return {
        "arithmetic": part["flops"] / record["product_rate"],
        "memory": part["bytes"] / record["copy_rate"],
        "launches": part["calls"] * record["call_seconds"],
    }
