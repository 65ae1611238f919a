"""The configuration's fields by their dotted names: listed, changed, and read from text or JSON."""

import ast
import dataclasses
import json
import operator
import re
import typing
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Literal, NamedTuple, TypeVar

from gridsum.config.paper import ConfigError
from gridsum.io.names import did_you_mean

Dataclass = TypeVar("Dataclass")
Changes = Mapping[str, Any] | None
"""What some leaf fields are to be, by their dotted paths."""

SEED_LIMIT = 2**63
"""Seeds are kept as signed 64-bit numbers."""
MOST_SEEDS = 1000


def to_json(config: Any) -> str:
    return json.dumps(dataclasses.asdict(config), indent=2)


def from_dict(cls: type[Dataclass], data: Any, where: str = "") -> Dataclass:
    """`data`, as JSON holds it, checked field by field."""
    if not isinstance(data, dict):
        raise ConfigError(f"{where or 'the configuration'} must be an object with named fields, not {data!r}")
    hints = {_path(where, item.name): hint for item, hint in _items(cls)}
    values = {}
    for key, value in data.items():
        path = _path(where, key)
        if path not in hints:
            raise ConfigError(_unknown(path, list(hints)))
        nested = dataclasses.is_dataclass(hints[path])
        values[key] = from_dict(hints[path], value, path) if nested else _checked(hints[path], value, path)
    return cls(**values)


class Leaf(NamedTuple):
    """A field that is not a section."""

    type: Any
    value: Any
    meaning: str


def fields_of(config: Any, where: str = "") -> dict[str, Leaf]:
    """Every leaf field by its dotted path."""
    leaves: dict[str, Leaf] = {}
    for item, hint in _items(type(config)):
        path, value = _path(where, item.name), getattr(config, item.name)
        leaf = Leaf(hint, value, item.metadata.get("meaning", ""))
        leaves |= fields_of(value, path) if dataclasses.is_dataclass(value) else {path: leaf}
    return leaves


def _items(cls: Any) -> list[tuple[dataclasses.Field, Any]]:
    hints = typing.get_type_hints(cls)
    return [(item, hints[item.name]) for item in dataclasses.fields(cls)]


def _path(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def override(config: Dataclass, changes: dict[str, Any]) -> Dataclass:
    """`config` with leaf fields, named by their dotted paths, replaced; strings are read as the field's type."""
    known = fields_of(config)
    data = dataclasses.asdict(typing.cast(Any, config))
    for path, value in changes.items():
        if path not in known:
            raise ConfigError(_unknown(path, list(known)))
        *parents, leaf = path.split(".")
        place = reduce(operator.getitem, parents, data)
        place[leaf] = _read(known[path].type, value) if isinstance(value, str) else value
    return from_dict(type(config), data)


def _unknown(path: str, known: list[str]) -> str:
    mend = did_you_mean(path, known, "") or f"the fields are {', '.join(known)}"
    return f"unknown field {path!r}; {mend}"


def describe_type(hint: Any) -> tuple[str, str]:
    """What help calls a field's value, and its type in a user's words."""
    arguments, number = typing.get_args(hint), ("N", "a whole number")
    if typing.get_origin(hint) is Literal:
        return "NAME", "one of " + ", ".join(arguments)
    if typing.get_origin(hint) is tuple:
        many = Ellipsis in arguments
        return ("NUMBERS", "whole numbers separated by commas") if many else ("N,N", "two whole numbers, such as 1,4")
    return {int: number, float: ("X", "a number"), bool: ("BOOL", "true or false"), str: ("NAME", "text")}[hint]


def _read(hint: Any, text: str) -> Any:
    """A field's value from the command line; what cannot be read stays text, which no other field takes."""
    if hint is str or typing.get_origin(hint) is Literal:
        return text
    if typing.get_origin(hint) is tuple:
        text = f"[{text.strip('()[] ')}]"
    try:
        return ast.literal_eval(text.strip().capitalize() if hint is bool else text.strip())
    except (ValueError, SyntaxError):
        return text


def _checked(hint: Any, value: Any, path: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        valid = value in arguments
    elif origin is tuple:
        valid = isinstance(value, list | tuple) and all(type(item) is int for item in value)
        if valid and Ellipsis not in arguments:
            valid = len(value) == len(arguments)
        value = tuple(value) if valid else value
    elif hint is float:
        valid = type(value) in (int, float)
        value = float(value) if valid else value
    else:
        valid = hint is Any or type(value) is hint
    if not valid:
        raise ConfigError(f"{path} takes {describe_type(hint)[1]}, not {value!r}")
    return value


def seeds_of(asked: "str | int | Iterable[int]") -> tuple[int, ...]:
    """A number, numbers, or text such as `3`, `0-9` or `0,2,5-7`, in the order written.

    >>> seeds_of("0,2,5-7")
    (0, 2, 5, 6, 7)
    """
    text = ",".join(map(str, asked)) if isinstance(asked, Iterable) and not isinstance(asked, str) else str(asked)
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,40})\s*(?:-\s*([0-9]{1,40})\s*)?", part)
        if match is None:
            raise ConfigError(f"{text!r} does not name seeds; write them as 3, 0-9 or 0,2,5-7")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ConfigError(f"{part.strip()!r} runs backwards; write it as {last}-{first}")
        if last >= SEED_LIMIT:
            raise ConfigError(f"seed {last} is too large; seeds are below 2^63")
        if last - first + 1 + len(seeds) > MOST_SEEDS:
            raise ConfigError(f"these are more than {MOST_SEEDS} seeds; train them in parts")
        seeds.extend(range(first, last + 1))
    return tuple(seeds)
