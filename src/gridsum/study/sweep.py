"""A sweep: one fleet of seeds for each of many configurations.

FOLDER/NAME/                  a training folder, whose name says what is changed
FOLDER/records/NAME.jsonl     records of its runs, if suites were asked for
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from gridsum.config.fields import fields_of, override
from gridsum.config.paper import ConfigError
from gridsum.evaluation.suites import Suite
from gridsum.study.jobs import Asked, Job, PlannedRun, Sheet, jobs_of

_MOST = 10_000
Configuration = TypeVar("Configuration")


def grid(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def configurations(base: Configuration, changes: Sequence[Mapping[str, Any]]) -> dict[str, Configuration]:
    """The configurations of a sweep by name; a name says what is changed."""
    if not 0 < len(changes) <= _MOST:
        raise ConfigError(f"a sweep has 1 to {_MOST:,} configurations, not {len(changes):,}")
    digits = len(str(len(changes) - 1))
    found = {}
    for index, change in enumerate(changes):
        told = ",".join(f"{path.rsplit('.', 1)[-1]}={value}" for path, value in change.items())
        name = re.sub(r"[^\w.,=+-]+", "-", f"{index:0{digits}}-{told}")[:100].rstrip("-,")
        found[name] = override(base, dict(change))
    return found


def sweep_jobs(
    configs: Mapping[str, Any], seeds: tuple[int, ...], suites: Sequence[Suite] = (), samples: int | None = None
) -> list[Job]:
    asked = tuple(Asked(suite, samples or suite.samples) for suite in suites)
    return jobs_of(
        PlannedRun(name, config, seeds, (Sheet("measure", f"records/{name}.jsonl", asked),) if asked else ())
        for name, config in configs.items()
    )


def parse_axis(config: Any, text: str) -> tuple[str, list[str]]:
    """`training.learning_rate=1e-3,3e-4` as a field and its values; values of a field with commas are split by `;`."""
    name, _, values = text.partition("=")
    if not values:
        raise ConfigError(f"{text!r} has no values; write FIELD=VALUE,VALUE")
    if name not in fields_of(config):
        override(config, {name: values})  # which says what fields there are
    many = values.split(";") if ";" in values or isinstance(fields_of(config)[name][1], tuple) else values.split(",")
    for value in many:
        override(config, {name: value})
    return name, many
