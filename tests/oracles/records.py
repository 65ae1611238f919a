"""Made-up records."""

from typing import Any

from gridsum.evaluation.records import Record

_USUAL: dict[str, Any] = {
    "model": "base",
    "variant": "base",
    "seed": 3,
    "suite": "2x15",
    "halting": "bernoulli",
    "placement": "soft",
    "samples": 640,
    "chars_right": 9990,
    "chars_valid": 10000,
    "sequences_right": 600,
    "steps_mean": 11.72,
    "steps_max": 19,
    "evaluation_seed": 0,
    "version": "0.1.0",
    "commit": None,
}


def make_record(**changes: Any) -> Record:
    """One with what a test cares about replaced."""
    return Record(**_USUAL | changes)
