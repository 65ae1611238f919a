"""A sweep: a training run for each of many configurations, in a folder whose name says what is changed."""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from gridsum.config.fields import fields_of, override
from gridsum.config.paper import ConfigError
from gridsum.study.jobs import Train


def sweep_jobs(base: Any, axes: Mapping[str, Sequence[Any]], seeds: tuple[int, ...] = (0,)) -> list[Train]:
    """A job for every combination of the values that some fields are to have."""
    combinations = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    digits, jobs = len(str(len(combinations) - 1)), list[Train]()
    for index, changes in enumerate(combinations):
        told = ",".join(f"{path.rsplit('.', 1)[-1]}={value}" for path, value in changes.items())
        name = re.sub(r"[^\w.,=+-]+", "-", f"{index:0{digits}}-{told}")[:100].rstrip("-,")
        jobs.append(Train(name, override(base, changes), seeds))
    return jobs


def parse_axis(config: Any, text: str) -> tuple[str, list[str]]:
    """`training.learning_rate=1e-3,3e-4` as a field and its values; values of a field with commas are split by `;`."""
    name, _, values = text.partition("=")
    if not values:
        raise ConfigError(f"{text!r} has no values; write FIELD=VALUE,VALUE")
    if name not in fields_of(config):
        override(config, {name: values})  # which says what fields there are
    with_commas = isinstance(fields_of(config)[name][1], tuple)
    return name, values.split(";" if ";" in values or with_commas else ",")
